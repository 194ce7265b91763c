"""The same texts, decoded plainly and speculatively in batches of several sizes, interleaved on one clock.

Place in the flow: `specviz bench batch` hands in models and prompts; `theory.batches` makes numbers of what comes back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specviz.batch.together import Decoded, Model, SessionOf, Turn, decode_together
from specviz.bench.core.clock import work_clock
from specviz.bench.core.contest import rotated
from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.drafters.base import DRAFTERS
from specviz.drafters.capabilities import with_model
from specviz.engine.session import Method, Session, Start
from specviz.engine.termination import Ending, Limits
from specviz.errors import OptionError
from specviz.lm.base import LanguageModel
from specviz.lm.batch import GivesBatches
from specviz.studies.batches.result import PLAIN, BatchPoint, BatchText, Shape, name_of
from specviz.verifiers.base import VERIFIERS

Tokens = Sequence[int]
Key = tuple[Shape, int]
"""a way of decoding, and the size of its batches"""


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """What is compared."""

    prompts: Sequence[tuple[str, Tokens]]
    """id and tokens; as many as fill batches of every size"""
    sizes: tuple[int, ...]
    shapes: tuple[Shape, ...]
    """beside plain decoding"""
    sampling: Sampling
    seed: int
    """of the first prompt; the next has the next, in a batch of any size"""
    limits: Limits
    repeats: int

    def __post_init__(self) -> None:
        """Raises OptionError where the texts do not fill batches of every size."""
        for size in self.sizes:
            if len(self.prompts) % size:
                raise OptionError(
                    f"{len(self.prompts)} texts do not fill batches of {size}; every size is measured on the same "
                    "texts, so give a number of texts that all sizes divide."
                )


@dataclass(frozen=True, slots=True)
class Compared:
    clock: str
    points: tuple[BatchPoint, ...]
    texts: tuple[BatchText, ...]

    def unequal(self) -> list[str]:
        """A sentence for each way and size that wrote other texts than the engine without a batch."""
        apart: dict[Key, list[str]] = {}
        for text in self.texts:
            if not text.same:
                apart.setdefault((text.shape, text.size), []).append(text.prompt)
        return [
            f"{name_of(shape)} in batches of {size} wrote another text than without a batch on {', '.join(prompts)}."
            for (shape, size), prompts in apart.items()
        ]


def compare(
    target: GivesBatches, drafter: GivesBatches, plan: BatchPlan, report: Callable[[str], None] = lambda line: None
) -> Compared:
    """Every size in every way, `repeats` times in orders that rotate, after every text was decoded alone, which warms
    everything up and is what texts are held against."""
    clock, name_of_clock = work_clock(target.device)
    ways = (PLAIN, *plan.shapes)
    alone = {shape: [_alone(target, drafter, make) for make in _sessions(plan, shape)] for shape in ways}
    report("each text alone")
    points = list[BatchPoint]()
    last: dict[Key, list[Decoded]] = {}
    apart: defaultdict[Key, set[int]] = defaultdict(set)
    for repeat in range(plan.repeats):
        for size in rotated(plan.sizes, repeat):
            found: dict[Shape, list[Decoded]] = {shape: [] for shape in ways}
            for number, start in enumerate(range(0, len(plan.prompts), size)):
                for shape in rotated(ways, repeat + number):
                    sessions = _sessions(plan, shape)[start : start + size]
                    decoded = decode_together(_model(target), _model(drafter), sessions, clock)
                    found[shape].append(decoded)
                    texts = enumerate(decoded.texts, start)
                    apart[shape, size] |= {place for place, one in texts if one.tokens != alone[shape][place]}
            points += (_point(shape, size, repeat, batches) for shape, batches in found.items())
            last |= {(shape, size): batches for shape, batches in found.items()}
            report(f"batches of {size}, repeat {repeat + 1} of {plan.repeats}")
    return Compared(name_of_clock, tuple(points), tuple(_texts(plan, last, apart)))


def _model(model: GivesBatches) -> Model:
    return Model(model, model.new_batch())


def _sessions(plan: BatchPlan, shape: Shape) -> list[SessionOf]:
    return [_session(plan, shape, number) for number in range(len(plan.prompts))]


def _session(plan: BatchPlan, shape: Shape, number: int) -> SessionOf:
    def make(target: LanguageModel, drafter: LanguageModel) -> Session:
        options = {} if shape == PLAIN else {"branching": shape}
        own = with_model(DRAFTERS.get("none" if shape == PLAIN else "model").of(options), drafter)
        verifier = VERIFIERS.get("greedy" if plan.sampling.greedy else "sequential").of({})  # as `auto` chooses
        method = Method(own, verifier, plan.sampling, SeededRandom(plan.seed + number))
        return Session(target, method, Start(plan.prompts[number][1]), Ending(plan.limits, lambda token: b""))

    return make


def _alone(target: LanguageModel, drafter: LanguageModel, make: SessionOf) -> list[int]:
    """What the engine writes without a batch."""
    session = make(target, drafter)
    start = len(session.tokens)
    session.begin()
    while session.finished is None:
        session.round()
    return session.tokens[start:]


def _point(shape: Shape, size: int, repeat: int, batches: Sequence[Decoded]) -> BatchPoint:
    return BatchPoint(
        shape, size, repeat,
        seconds=sum(one.seconds for one in batches),
        pass_s=sum(one.pass_s for one in batches),
        tokens=sum(len(text.tokens) for one in batches for text in one.texts),
        target_passes=sum(one.passes[Turn.TARGET] for one in batches),
        shares=sum(one.shares for one in batches),
        drafter_passes=sum(one.passes[Turn.DRAFTER] for one in batches),
    )  # fmt: skip


def _texts(plan: BatchPlan, last: dict[Key, list[Decoded]], apart: dict[Key, set[int]]) -> list[BatchText]:
    return [
        BatchText(
            shape, size, plan.prompts[place][0], text.drafts, text.drafted, text.accepted,
            place not in apart[shape, size],
        )
        for (shape, size), batches in last.items()
        for place, text in enumerate(text for one in batches for text in one.texts)
    ]  # fmt: skip
