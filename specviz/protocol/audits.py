"""What a recomputation of a trace from its checkpoints found, as plain data, and who can be asked for one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from specviz.trace.events import Trace

KINDS = (
    TARGET_HEADS := "p: target heads",
    DRAFT_HEADS := "q: draft heads",
    AGREEMENT := "ranks, entropies, KL and overlap",
    TRIALS := "p, Q and thresholds of trials",
    VERDICTS := "verdicts",
    RESIDUALS := "residuals",
    LAST_TOKENS := "last tokens",
    TEXT := "text",
    HEADER := "header",
)
"""kinds of recorded values, in the order in which they are shown"""
MOST_DIFFERENCES = 50
"""so many are kept with both values; the others are counted"""


@dataclass(frozen=True, slots=True)
class Difference:
    """One recorded value that the checkpoints do not give."""

    place: str
    """where in the trace, e.g. `rounds[3].nodes[5].target.probs[0]`"""
    recorded: str
    recomputed: str

    def __str__(self) -> str:
        return f"{self.place} is {self.recorded}, but the checkpoints give {self.recomputed}."


@dataclass(frozen=True, slots=True)
class Count:
    """Recorded values of one kind."""

    compared: int = 0
    wrong: int = 0


@dataclass(frozen=True, slots=True)
class Audit:
    """How far a recomputation is, and what it found so far."""

    done: int
    """rounds recomputed"""
    rounds: int
    counts: Mapping[str, Count]
    """one of `KINDS` → what was compared"""
    differences: tuple[Difference, ...]
    """the first `MOST_DIFFERENCES`"""
    not_recomputed: tuple[str, ...]
    """each a clause: what, and why"""
    how: tuple[str, ...]
    """each a sentence: with what it was recomputed, and how close counts as equal"""

    @property
    def compared(self) -> int:
        return sum(count.compared for count in self.counts.values())

    @property
    def wrong(self) -> int:
        return sum(count.wrong for count in self.counts.values())

    @property
    def complete(self) -> bool:
        """Every round was reached."""
        return self.done == self.rounds


@runtime_checkable
class Audits(Protocol):
    """A trace source that has the checkpoints at hand; recordings and simulations have none."""

    def audit(
        self, trace: Trace, cancelled: Callable[[], bool] = lambda: False, places: Mapping[str, str] | None = None
    ) -> Iterator[Audit]:
        """Recompute a trace round by round, telling progress; stops with what it has where cancelled.

        `places`: a model's name in the header → bundled name, folder or hub id to take it from, where that is another.
        Raises SpecVizError where it cannot be recomputed: no such checkpoint, other weights, a simulated run.
        """
        ...
