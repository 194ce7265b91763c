"""Draft and verification on two lanes with absolute times: what each did when, for one text and several methods.

Place in the flow: `asynchronous` makes lanes, measured or simulated; the study of lanes (`specviz/studies/lanes`)
compares them and keeps those of one prompt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

DRAFT, TARGET = "drafter", "target"
"""lanes"""


@dataclass(frozen=True, slots=True)
class Span:
    """One lane busy with one thing; seconds from the moment at which the prompt was read."""

    lane: str
    """`drafter`, `target`, or one of several targets: `target 1`, `target 2`, …"""
    what: str
    """`draft`, `verify` or `roll back`, which takes no time"""
    start_s: float
    end_s: float
    tokens: int
    """drafted, or read beyond the text's end, or thrown away"""
    kept: int = 0
    """of a verification: tokens that became text"""
    accepted: int = 0
    """and how many of them had been drafted"""


def busy_share(spans: Iterable[Span], lane: str, seconds: float) -> float:
    spent = sum(span.end_s - span.start_s for span in spans if span.lane == lane)
    return spent / seconds if seconds else 0.0


@dataclass(slots=True)
class Lanes:
    """A whole text on one clock."""

    method: str
    text: list[int]
    """prompt and output"""
    seconds: float
    spans: list[Span] = field(default_factory=list)
    ready: list[int] = field(default_factory=list)
    """of SSD, at each verdict that another draft followed: tokens of that draft that were there already"""

    def busy(self, lane: str) -> float:
        """Share of the time in which a lane computes."""
        return busy_share(self.spans, lane, self.seconds)
