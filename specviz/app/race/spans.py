"""When a runner of a race did what: the phases of its rounds on its engine clock, and a drafter's own lane beside them.

Rounds stand end to end from the moment the prompt was read. A drafter that works beside the target says itself when it
drafted; what its rounds spend before the target's pass is then the target waiting for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from specviz.trace.events import Round
from specviz.trace.summary import drafts_beside

PHASES = ("draft", "target", "judge", "commit")
"""the parts of a round, in the order of time"""


@dataclass(frozen=True, slots=True)
class Segment:
    """One stretch of work on the runner's engine clock."""

    start_s: float
    end_s: float
    phase: str
    round: int


@dataclass(frozen=True, slots=True)
class Beside:
    """What a drafter did on its own lane, on the same clock."""

    start_s: float
    end_s: float
    phase: str
    """`draft` or `roll back`, which takes no time"""
    round: int
    """that reported it"""
    tokens: int
    """drafted, or thrown away"""


def segments(rounds: Sequence[Round]) -> tuple[Segment, ...]:
    """The phases of all rounds; those that took no time are left out, and where the drafter has a lane of its own the
    first phase, in which the target waits for it."""
    work = PHASES[1:] if drafts_beside(rounds) else PHASES
    return tuple(
        Segment(start, end, phase, this.index)
        for this, ends in zip(rounds, edges(rounds), strict=True)
        for phase, (start, end) in zip(PHASES, pairwise(ends), strict=True)
        if end > start and phase in work
    )


def edges(rounds: Sequence[Round]) -> list[tuple[float, ...]]:
    """When each round began and each of its phases ended: rounds end to end from 0, or where the drafter has a lane of
    its own at the times that they say, which are on its clock."""
    apart, found, now = drafts_beside(rounds), list[tuple[float, ...]](), 0.0
    for this in rounds:
        spent = (this.drafted.seconds, this.scored.seconds, this.judged.seconds, this.committed.seconds)
        found.append(tuple(accumulate(spent, initial=this.start_s if apart else now)))
        now = found[-1][-1]
    return found


def lanes(rounds: Sequence[Round]) -> tuple[Beside, ...]:
    """What the drafter did beside the target, in the order in which it was reported."""
    return tuple(
        Beside(one.start_s, one.end_s, one.what, this.index, one.tokens)
        for this in rounds
        for one in this.drafted.lanes
    )


def lane(found: Sequence[Segment] | Sequence[Beside], longest_s: float, columns: int) -> list[str]:
    """A lane's time in equal columns, each with what took most of it; empty where nothing is done: once the runner has
    finished, and while one of the two waits for the other."""
    marks = [longest_s * place / columns for place in range(columns + 1)]
    return [_most(found, start, end) for start, end in pairwise(marks)]


def _most(found: Sequence[Segment] | Sequence[Beside], start: float, end: float) -> str:
    spent: dict[str, float] = {}
    for one in found:
        common = min(end, one.end_s) - max(start, one.start_s)
        if common > 0:
            spent[one.phase] = spent.get(one.phase, 0.0) + common
    return max(spent, key=lambda phase: spent[phase]) if spent else ""
