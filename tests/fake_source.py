"""A trace source whose every time and token is chosen by hand."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from specviz.protocol.runs import Catalog, MethodDescription, OptionCard, PromptCard, Resume, RunRequest
from specviz.trace import events, header
from specviz.trace.events import Step

MODEL = header.ModelCard("m", "LlamaForCausalLM", "table", 10, 1, 4, 8, 64, "float32", "00")
EMPTY = events.TopK([], [], 1.0)


def make_round(index: int, drafted: int, accepted: int, seconds: float) -> events.Round:
    """A chain of `drafted` nodes of which `accepted` were kept; the whole time is spent in the target pass."""
    nodes = [events.Node(0, -1, 0, 1, "root", "root", "root", None, None, None, EMPTY)]
    for i in range(1, drafted + 1):
        fate: events.Fate = "accepted" if i <= accepted else "rejected" if i == accepted + 1 else "unreached"
        nodes.append(events.Node(i, i - 1, i, 1, "point_mass", fate, "fake", 1.0, 1.0, None, EMPTY))
    origin: events.Origin = "target" if not drafted else "bonus" if accepted == drafted else "correction"
    path = list(range(1, accepted + 1))
    final = path[-1] if path else 0
    tokens = [events.CommittedToken(1, "draft", node) for node in path] + [events.CommittedToken(1, origin, None)]
    return events.Round(
        index=index,
        base_length=1,
        start_s=0.0,
        nodes=nodes,
        drafted=events.Drafted([], 0.0),
        scored=events.Scored(events.Pass(drafted + 1, 0, seconds), seconds),
        judged=events.Judged("fake", [], path, final, None, None, 1, origin, None, 0.0),
        committed=events.Committed(tokens, None, 0, 0, accepted + 1, drafted - accepted, 0.0),
    )


MODEL_DRAFTER = MethodDescription("model", "", "", True, (OptionCard("gamma", "int", 4, "depth", 1, 16),))
NO_DRAFTER = MethodDescription("none", "", "", True, ())


@dataclass
class FakeSource:
    """Answers by drafter name: plain decoding takes 1 s a token, anything else 1 s a round that commits
    `accepted + 1` tokens. Eight tokens of output, whatever the request says."""

    accepted: int = 1
    prompts: tuple[PromptCard, ...] = (
        PromptCard("one", "code", "One", "first", "a"),
        PromptCard("two", "prose", "Two", "second", "b"),
    )
    requests: list[RunRequest] = field(default_factory=list)
    output: tuple[int, ...] = (1,) * 8
    drafters: tuple[MethodDescription, ...] = ()

    def catalog(self) -> Catalog:
        return Catalog((), self.drafters, (), self.prompts)

    def status(self) -> str:
        return "models ready"

    def warm(self) -> None:
        return

    def explain(self, request: RunRequest) -> str | None:
        return None

    def run(
        self, request: RunRequest, cancelled: Callable[[], bool] = lambda: False, resume: Resume | None = None
    ) -> Iterator[Step]:
        self.requests.append(request)
        yield Step(self._started(request), {})
        gamma = request.drafter.options.get("gamma", 0)
        assert isinstance(gamma, int)
        accepted = min(gamma, self.accepted)
        rounds = 8 // (accepted + 1)
        for index in range(rounds):
            if cancelled():
                yield Step(events.Finished("cancelled", None, [1] * index, "", 0.0, float(index), 0.0), {})
                return
            yield Step(make_round(index, gamma, accepted, 1.0), {})
        yield Step(events.Finished("length", None, list(self.output), "x", 0.5, float(rounds), 0.0), {})

    @staticmethod
    def _started(request: RunRequest) -> header.Started:
        return header.Started(
            run_id="r",
            created="2026-01-01T00:00:00Z",
            producer="test",
            source="live",
            target=MODEL,
            drafter=header.MethodCard(request.drafter.name, dict(request.drafter.options), True),
            verifier=header.MethodCard("greedy", {}, True),
            sampling=header.SamplingCard(request.temperature, 0, 1.0),
            tokenizer=header.TokenizerCard("t", 8, "00", []),
            machine=header.Machine("cpu", "float32", 1, 1, "test", "3", "2", "5", "test"),
            seed=request.seed,
            max_new_tokens=request.max_new_tokens,
            eos_ids=[],
            stop=[],
            prompt_text=request.prompt,
            prompt_ids=[0],
        )
