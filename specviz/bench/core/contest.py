"""The bench's loop: several ways of decoding the same prompts, interleaved, on one clock; and who wrote another text.

Lossless drafters must write what plain decoding wrote at temperature 0 in float32, where the text is the target's most
probable one, whoever drafts. At higher temperatures lossless means the same law, not the same text: the rules draw
acceptances where plain decoding draws tokens, so equality is only counted. In other number formats a wider pass rounds
differently, and near-ties may part.

Place in the flow: contestants (SpecViz's, transformers') in, outcomes out; `rows.py` makes numbers of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from specviz.allocator import leave_alone
from specviz.errors import BenchError
from specviz.protocol.runs import Catalog, PromptCard
from specviz.protocol.sweeps.points import BASELINE
from specviz.theory.rows import RunCounts

T = TypeVar("T")


def rotated(items: Sequence[T], by: int) -> list[T]:
    """`items` starting at index `by`, wrapping round: no case always runs on the warmest or the busiest moment."""
    start = by % max(1, len(items))
    return [*items[start:], *items[:start]]


def interleaved(
    ways: Sequence[T], prompts: Sequence[PromptCard], repeats: int = 1, before: Callable[[int], None] | None = None
) -> Iterator[tuple[int, PromptCard, list[T]]]:
    """(repeat, prompt, all ways in the order in which they run there): repeat by repeat, prompt by prompt, the first
    way another one each time. `before` is called at the start of each repeat. Every timed comparison runs in it, and no
    way has to find the garbage of those before."""
    for repeat in range(repeats):
        if before is not None:
            before(repeat)
        for number, prompt in enumerate(prompts):
            leave_alone()
            yield repeat, prompt, rotated(ways, repeat + number)


@dataclass(frozen=True, slots=True)
class Measured:
    """One decoded prompt."""

    output_ids: list[int]
    wall_s: float
    """the whole call as its caller saw it: prompt, decoding, everything; the one clock all contestants share"""
    prefill_s: float
    """the part of it before the first tokens came (theirs), or spent in the target's pass over the prompt
    (SpecViz's)"""
    counts: RunCounts
    prefill_tokens: int = 0
    """output tokens that came with the prompt's pass: the first of theirs; none of SpecViz's, whose rounds begin
    after it"""
    engine_s: float | None = None
    """SpecViz's engine alone: the engine's clock, the rounds added up"""
    record_s: float = 0.0
    """SpecViz's engine alone: the part of `wall_s` spent on turning rounds into events"""

    @property
    def tokens_per_s(self) -> float:
        """Output tokens over the whole call."""
        return len(self.output_ids) / self.wall_s if self.wall_s > 0 else 0.0

    @property
    def decode_s(self) -> float:
        """The call without the prompt's pass."""
        return self.wall_s - self.prefill_s

    @property
    def decode_tokens_per_s(self) -> float:
        """Output tokens after the prompt's pass over the time after it."""
        return (len(self.output_ids) - self.prefill_tokens) / self.decode_s if self.decode_s > 0 else 0.0


class Contestant(Protocol):
    """A way of decoding."""

    @property
    def name(self) -> str:
        """Unique within a bench, e.g. `specviz: model γ=4`."""
        ...

    def decode(self, prompt: PromptCard, cancelled: Callable[[], bool], repeat: int = 0) -> Measured | None:
        """Decode one prompt, with a seed of its own in each repeat; None where it was cancelled on the way."""
        ...


@dataclass(frozen=True, slots=True)
class ContestRun:
    contestant: str
    prompt: str
    family: str
    repeat: int
    measured: Measured


@dataclass(frozen=True, slots=True)
class ContestPlan:
    """Who runs what, how often. `before_repeat` is called at the start of each repeat (the step-time curve is
    measured there, so that it meets the same machine as the runs)."""

    contestants: Sequence[Contestant]
    prompts: Sequence[PromptCard]
    repeats: int
    before_repeat: Callable[[int], None] = field(default=lambda repeat: None)
    warm_up: bool = True
    """False where no time is asked for"""

    @property
    def runs(self) -> int:
        return len(self.contestants) * len(self.prompts) * self.repeats


def contest(plan: ContestPlan, cancelled: Callable[[], bool] = lambda: False) -> Iterator[ContestRun]:
    """Warm-up (each contestant once on the first prompt, not reported) unless left out, then repeat by repeat, prompt
    by prompt, all contestants one after the other, the first one rotated each time. Ends early when cancelled."""
    for contestant in plan.contestants if plan.prompts and plan.warm_up else ():
        if cancelled() or contestant.decode(plan.prompts[0], cancelled) is None:
            return
    for repeat, prompt, order in interleaved(plan.contestants, plan.prompts, plan.repeats, plan.before_repeat):
        for contestant in order:
            measured = None if cancelled() else contestant.decode(prompt, cancelled, repeat)
            if measured is None:
                return
            yield ContestRun(contestant.name, prompt.id, prompt.family, repeat, measured)


def first_prompts(catalog: Catalog, per_family: int) -> list[PromptCard]:
    """The first `per_family` prompts of each family, in the set's order. Raises BenchError for an empty set."""
    taken: dict[str, list[PromptCard]] = {}
    for card in catalog.prompts:
        taken.setdefault(card.family, []).append(card)
    if not taken:
        raise BenchError("the prompt set is empty, so there is nothing to measure on; `specviz list prompts` shows it.")
    return [card for cards in taken.values() for card in cards[:per_family]]


ASSERTED = "float32"


def unequal(
    dtype: str, temperature: float, outcomes: Sequence[ContestRun], lossless: Iterable[str], baseline: str = BASELINE
) -> list[str]:
    """Who broke the assertion, a sentence each; nobody where equality is not asserted."""
    return different(outcomes, baseline, lossless) if dtype == ASSERTED and temperature == 0.0 else []


def different(outcomes: Sequence[ContestRun], baseline: str, lossless: Iterable[str]) -> list[str]:
    """One sentence per contestant of `lossless` that wrote another text than plain decoding; runs without a plain one
    beside them say nothing."""
    plain = {
        (contest_run.prompt, contest_run.repeat): contest_run.measured.output_ids
        for contest_run in outcomes
        if contest_run.contestant == baseline
    }
    found: dict[str, list[str]] = {}
    for contest_run in outcomes:
        expected = plain.get((contest_run.prompt, contest_run.repeat), contest_run.measured.output_ids)
        if contest_run.measured.output_ids != expected:
            found.setdefault(contest_run.contestant, []).append(contest_run.prompt)
    held = set(lossless)
    return [
        f"{name} wrote another text than plain decoding at temperature 0 on {', '.join(dict.fromkeys(prompts))}."
        for name, prompts in found.items()
        if name in held
    ]
