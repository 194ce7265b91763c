"""Ranks that are shown by the runs: a place is lost only to rows whose paired interval leaves no doubt.

Rows are compared on the same prompts, two by two, with intervals that hold for all pairs of a table at once. Rows that
no interval tells apart have the same rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specviz.protocol.sweeps.intervals import Estimate, Parts, differences, ratio_of_sums

FEWEST_PROMPTS = 10
"""resampling fewer makes intervals too short (the spread of n prompts stands for that of all), so nothing is ranked"""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A ratio over prompts and its place in a table."""

    value: Estimate | None
    """with the interval of this row alone"""
    rank: int | None
    """1 + the rows shown to be higher; None where there are too few prompts to compare on"""
    behind: Estimate | None
    """the highest value of the table - this one, paired over the prompts; None for that row itself, and where there is
    no rank"""


def ranked(rows: Sequence[Parts], seed: int) -> list[Ranked]:
    """One per row, which are over the same prompts in the same order; prompts with a denominator of 0 are left out."""
    shared = [place for place in range(len(rows[0])) if all(row[place][1] > 0.0 for row in rows)] if rows else []
    values = [ratio_of_sums(row, seed) if row else None for row in rows]
    if len(shared) < FEWEST_PROMPTS:
        return [Ranked(value, None, None) for value in values]
    table = differences([[row[place] for place in shared] for row in rows], seed)
    first = max(range(len(rows)), key=lambda row: table[row][0].value)
    return [
        Ranked(
            value,
            rank=1 + sum(table[other][row].low > 0.0 for other in range(len(rows))),
            behind=None if row == first else table[first][row],
        )
        for row, value in enumerate(values)
    ]
