"""Who takes part in `specviz bench drafters`: every registered drafter, cold, and warm where it remembers.

Place in the flow: the command asks here for first runs, then for entrants, and hands their contestants to the contest.
Drafters come from the source's catalogue; none is named here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from specviz.bench.core.contest import Contestant, Measured
from specviz.bench.core.run import FirstRun, SourceContestant, first_run, on
from specviz.errors import BenchError, OptionError
from specviz.protocol.runs import Catalog, MethodDescription, PromptCard, RunRequest, TraceSource
from specviz.protocol.sweeps.points import BASELINE

COLD, WARM = "cold", "warm"
GROUP = 5
"""contestants between two runs of plain decoding"""


@dataclass(frozen=True, slots=True)
class Named:
    """A drafter under the name of its rows; one that needs a model may stand there twice, with two."""

    name: str
    method: MethodDescription
    drafter_model: str = ""
    """other weights than the request's; empty: the request's"""

    def of(self, template: RunRequest) -> RunRequest:
        """The request for this drafter."""
        model = self.drafter_model or template.drafter_model
        return replace(template, drafter=replace(template.drafter, name=self.method.name), drafter_model=model)


@dataclass(frozen=True, slots=True)
class Entrant:
    """One row of the tables."""

    drafter: str
    memory: str
    """what it began with: `cold` or `warm`; empty for a drafter that remembers nothing"""
    lossless: bool
    contestant: Contestant


@dataclass(frozen=True, slots=True)
class WarmContestant:
    """A drafter that goes on with what it learnt from other prompts. They are run anew, unmeasured, before every
    measured run, so that none knows its own prompt or what an earlier repeat left."""

    cold: SourceContestant
    warm_up_prompts: Mapping[str, Sequence[PromptCard]]
    """prompt id → the prompts it runs before that one"""

    @property
    def name(self) -> str:
        return f"{self.cold.name} {WARM}"

    def decode(self, prompt: PromptCard, cancelled: Callable[[], bool], repeat: int = 0) -> Measured | None:
        memory = "reset"
        for prompt_before in self.warm_up_prompts[prompt.id]:
            if self._beginning(memory).decode(prompt_before, cancelled, repeat) is None:
                return None
            memory = "warm"
        return self._beginning("warm").decode(prompt, cancelled, repeat)

    def _beginning(self, memory: str) -> SourceContestant:
        return replace(self.cold, request=replace(self.cold.request, memory=memory))


def chosen(catalog: Catalog, names: Sequence[str]) -> list[MethodDescription]:
    """Plain decoding first, then the drafters called `names`, all of them where none is named.

    Raises OptionError for a name that no drafter has.
    """
    known = {method.name: method for method in catalog.drafters}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise OptionError(f"there is no drafter called '{unknown[0]}'; known: {', '.join(known)}.")
    wanted = dict.fromkeys([BASELINE, *(names or known)])
    return [known[name] for name in wanted]


def with_models(methods: Sequence[MethodDescription], also: str) -> list[Named]:
    """The drafters, and the one that a request names by default once more with the weights `also`, where it is among
    them and `also` is not empty: so that a good and a poor model can be compared."""
    named = list[Named]()
    for method in methods:
        named.append(Named(method.name, method))
        if also and method.name == RunRequest("").drafter.name:
            named.append(Named(f"{method.name}, {also}", method, also))
    return named


def first_runs(
    source: TraceSource, drafters: Sequence[Named], template: RunRequest, prompt: PromptCard
) -> Iterator[tuple[Named, FirstRun]]:
    """One unmeasured run per drafter, with its default options. Raises BenchError where plain decoding cannot run."""
    for drafter in drafters:
        first = first_run(source, [on(prompt, drafter.of(template))])
        assert first is not None, "nobody cancels a warm-up."
        if drafter.name == BASELINE and first.started is None:
            raise BenchError(f"plain decoding, which all drafters are compared with, cannot run: {first.reason}")
        yield drafter, first


def entrants(
    source: TraceSource,
    met: Sequence[tuple[Named, FirstRun]],
    template: RunRequest,
    warm_up_prompts: Mapping[str, Sequence[PromptCard]],
) -> list[Entrant]:
    """Every drafter that can run, and once more with a memory where it remembers and every prompt has some."""
    entered = []
    for drafter, first in met:
        if first.started is None:
            continue
        method, cold = drafter.method, SourceContestant(drafter.name, source, drafter.of(template))
        entered.append(Entrant(drafter.name, COLD if method.remembers else "", method.lossless, cold))
        if method.remembers and all(warm_up_prompts.values()):
            entered.append(Entrant(drafter.name, WARM, method.lossless, WarmContestant(cold, warm_up_prompts)))
    return entered


def lossless(entrants: Sequence[Entrant]) -> list[str]:
    """Names of the contestants whose texts must be the target's."""
    return [entrant.contestant.name for entrant in entrants if entrant.lossless]


def lineup(entrants: Sequence[Entrant]) -> list[Contestant]:
    """Everyone, with plain decoding, which comes first, once more before every fifth of the others: all ratios hang on
    it, and a single run may meet a slow moment of the machine."""
    plain, *others = (entrant.contestant for entrant in entrants)
    if not others:
        return [plain]
    groups = [others[index : index + GROUP] for index in range(0, len(others), GROUP)]
    return [contestant for group in groups for contestant in (plain, *group)]


def warm_up_prompts(catalog: Catalog, prompts: Sequence[PromptCard], most: int) -> dict[str, list[PromptCard]]:
    """Prompt id → at most `most` other prompts of its family, in the set's order, for a memory to be made from."""
    return {
        prompt.id: [card for card in catalog.prompts if card.family == prompt.family and card.id != prompt.id][:most]
        for prompt in prompts
    }
