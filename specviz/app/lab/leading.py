"""Which series of many a chart draws before a name is pressed: those of the fastest drafters, and the fastest of all.

Place in the flow: the speedup chart and the lab's charts of a colour per series choose by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from specviz.app.lab.cases import by_series, cases
from specviz.protocol.sweeps.points import SweepPoint

SHOWN = 5
"""of more series so many are drawn, the others on a press of their names: twenty lines cannot be told apart"""
DRAWN, PRESS = f"drawn: {SHOWN} fastest drafters and fastest setting", "press a name to draw or hide it"


class Contestant(Protocol):
    """A series as far as it matters for the choice."""

    @property
    def drafter(self) -> str: ...
    @property
    def lengths(self) -> int:
        """how many were measured"""

    @property
    def best(self) -> float:
        """median speedup at the fastest of them"""


Entered = TypeVar("Entered", bound=Contestant)


def chosen(series: Sequence[Entered]) -> tuple[Sequence[Entered], Sequence[Entered]]:
    """Those that are drawn, and the others. Of few all are, in the order given; of many the series with the most
    lengths of each of the fastest drafters, and the fastest series of all, which the verdict names."""
    if len(series) <= SHOWN:
        return series, ()
    fastest = sorted(series, key=lambda line: line.best, reverse=True)
    longest: dict[str, Entered] = {}
    for one in fastest:
        if one.drafter not in longest or one.lengths > longest[one.drafter].lengths:
            longest[one.drafter] = one
    leaders = [one for one in fastest if longest[one.drafter] is one]
    drawn = [*leaders[:SHOWN], *(one for one in fastest[:1] if one not in leaders)]
    return drawn, sorted((one for one in fastest if one not in drawn), key=lambda one: one not in leaders)


@dataclass(frozen=True, slots=True)
class _Standing:
    series: str
    drafter: str
    lengths: int
    best: float


def leading(points: Sequence[SweepPoint]) -> list[str]:
    """The names of the series that are drawn at first; none where there are so few that all are."""
    standings = [
        _Standing(series, group[0].points[0].drafter, len(group), max(case.median_ratio for case in group))
        for series, group in by_series(cases(points)).items()
    ]
    drawn, others = chosen(standings)
    return [one.series for one in drawn] if others else []


class OfSeries(Protocol):
    """Whatever a chart draws in the colour of a series."""

    @property
    def series(self) -> str: ...


Found = TypeVar("Found", bound=OfSeries)


def leaders_first(found: Sequence[Found], few: Sequence[str]) -> list[Found]:
    """Those of these series in their order, then the others as they were: what is drawn at first has colours of its
    own."""
    return sorted(found, key=lambda one: few.index(one.series) if one.series in few else len(few))
