"""A small sweep whose every number can be worked out by hand.

Plain decoding: 12 tokens in 12 rounds of 10 ms: 9 ms target (8 in the pass), 0.25 judging, 0.75 committing. The
drafter `model` at γ=2: 12 tokens in 6 rounds of 15 ms: 4 ms drafting (3 of them in passes), 10 ms target (9 in the
pass), 0.2 ms judging and 0.8 committing; two passes a round of a model a quarter of the target's weight. Of its rounds
6 reach depth 1, 4 keep it, and 4 test depth 2, which 2 keep.
"""

from dataclasses import replace

from specviz.protocol.choice import Choice
from specviz.protocol.sweeps.definition import DrafterEntry, SweepDefinition, fingerprint
from specviz.protocol.sweeps.points import Policies, RunCost, SweepPoint, title
from specviz.protocol.sweeps.result import KIND, VERSION, Provenance, SweepResult, with_points
from specviz.trace.header import Machine, ModelCard, StepTime

TARGET = ModelCard("target", "LlamaForCausalLM", "table", 10, 1, 4, 8, 64, "float32", "aa")
DRAFTER = ModelCard("drafter", "LlamaForCausalLM", "table", 5, 1, 4, 8, 64, "float32", "dd")
MACHINE = Machine("cpu", "float32", 1, 2, "Recorder", "3", "2", "5", "Linux")
FLAT = (StepTime(1, 100, 0.008, 0.008, 0.008), StepTime(3, 100, 0.012, 0.012, 0.012))


def plain(prompt: str = "a", family: str = "code", repeat: int = 0) -> SweepPoint:
    return SweepPoint(
        drafter="none", label="none", gamma=None, options={}, prompt=prompt, family=family, repeat=repeat,
        output_tokens=12, rounds=12, decode_s=0.12, tokens_per_s=100.0, baseline_tokens_per_s=100.0, ratio=1.0,
        same_output=True, drafted=0, accepted=0, acceptance_rate=None, mean_acceptance_length=None, alpha=None,
        step_times=FLAT, draft_step_s=None, temperature=0.0, accepted_lengths=(), by_depth=(), levels=(),
        cost=RunCost(0.0, 0.108, 0.003, 0.009, 0, 0.0, 12, 0.096), repetition=0.1, plain_repetition=0.1,
    )  # fmt: skip


def drafted(**changes: object) -> SweepPoint:
    """`model` γ=2 on prompt a: 12 tokens in 90 ms beside 120 ms, a ratio of 4/3."""
    point = SweepPoint(
        drafter="model", label="model", gamma=2, options={"gamma": 2}, prompt="a", family="code", repeat=0,
        output_tokens=12, rounds=6, decode_s=0.09, tokens_per_s=12 / 0.09, baseline_tokens_per_s=100.0, ratio=4 / 3,
        same_output=True, drafted=12, accepted=6, acceptance_rate=0.5, mean_acceptance_length=2.0, alpha=0.6,
        step_times=FLAT, draft_step_s=0.001, temperature=0.0, accepted_lengths=(2, 2, 2),
        by_depth=((6, 4), (6, 2)), levels=((6, 4), (4, 2)),
        cost=RunCost(0.024, 0.06, 0.0012, 0.0048, 12, 0.018, 18, 0.054), repetition=0.1, plain_repetition=0.1,
        mbsu=4 / 3, memory_ratio=4.0,
    )  # fmt: skip
    return replace(point, **changes)


def hasty(**changes: object) -> SweepPoint:
    """The same drafter ending its drafts early: half the candidates, two more target passes."""
    return drafted(
        policies=Policies(stop_policy=Choice("hasty")), drafted=6, accepted=4, rounds=8, ratio=1.2, **changes
    )


def sweep_result(*points: SweepPoint) -> SweepResult:
    """A whole result; `model`, whatever its policies, has a model of its own, and so has `pearl`."""
    definition = SweepDefinition(
        drafters=(DrafterEntry("model"),),
        gammas=(2,),
        prompts=tuple(dict.fromkeys(point.prompt for point in points)),
        max_new_tokens=12,
    )
    cards = {title(point): DRAFTER for point in points if point.drafter in ("model", "pearl")}
    about = Provenance("specviz", "specviz bench sweep", "2026-01-02T03:04:05Z", (), MACHINE, TARGET, cards, "tt", "pp")
    empty = SweepResult(KIND, VERSION, definition, fingerprint(definition), about, (), len(points), (), ())
    return with_points(empty, points)
