"""The fastest case of every prompt family.

Place in the flow: read by the sweep's report; which points count is the caller's choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specviz.protocol.sweeps.points import SweepPoint, SweepRow, summarise


@dataclass(frozen=True, slots=True)
class Best:
    """The fastest case of a family at one temperature, plain decoding included."""

    family: str
    temperature: float
    case: SweepRow


def best_by_family(points: Sequence[SweepPoint]) -> list[Best]:
    """In the order of the points; cases that have not run all of the family's prompts are left out."""
    groups: dict[tuple[str, float], list[SweepPoint]] = {}
    for point in points:
        groups.setdefault((point.family, point.temperature), []).append(point)
    found = []
    for (family, temperature), group in groups.items():
        rows = summarise(group)
        most = max(row.prompts for row in rows)
        best = max((row for row in rows if row.prompts == most), key=lambda row: row.ratio_median)
        found.append(Best(family, temperature, best))
    return found
