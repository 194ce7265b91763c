"""From outcomes to the rows of `specviz bench drafters`: each drafter overall and on every prompt family.

Place in the flow: reads what the contest yielded for the entrants of `drafters/plan.py`; `drafters/table.py` writes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from specviz.bench.core.contest import ContestRun
from specviz.bench.core.rows import (
    Plain,
    RowStatistics,
    Speed,
    beside_plain,
    engine_speed,
    ratios,
    statistics,
    whole_speed,
)
from specviz.bench.drafters.plan import Entrant
from specviz.protocol.sweeps.points import BASELINE, Quartiles, quartiles


@dataclass(frozen=True, slots=True)
class DrafterRow:
    """One drafter over some prompts. Quartiles are over the prompts, each with the median of its repeats."""

    drafter: str
    memory: str
    """`cold` or `warm`; empty for a drafter that remembers nothing"""
    lossless: bool
    speedup: Quartiles
    """output tokens per second of all rounds (the engine's clock) ÷ the median of plain decoding's on the same
    prompt in the same repeat"""
    whole_call: Quartiles
    """the same from call to return: the prompt, and what the drafter makes of it and of its memory, included"""
    statistics: RowStatistics
    winner: bool = False
    """the fastest of its section"""


@dataclass(frozen=True, slots=True)
class Section:
    family: str
    """empty: all prompts together"""
    rows: tuple[DrafterRow, ...]


def sections(entrants: Sequence[Entrant], outcomes: Sequence[ContestRun]) -> tuple[Section, ...]:
    """All prompts together first, then each family in the order of the outcomes.

    Runs whose plain run is missing (a cancelled bench) are left out. Raises BenchError where none is left.
    """
    paired, plain = beside_plain(outcomes, BASELINE)
    families = dict.fromkeys(one.family for one in paired)
    parts = [("", paired), *((family, [one for one in paired if one.family == family]) for family in families)]
    return tuple(Section(family, _rows(entrants, part, plain)) for family, part in parts)


def _rows(entrants: Sequence[Entrant], outcomes: Sequence[ContestRun], plain: Plain) -> tuple[DrafterRow, ...]:
    found = []
    for entrant in entrants:
        group = [one for one in outcomes if one.contestant == entrant.contestant.name]
        if group:
            found.append(_row(entrant, group, plain))
    return marked(found)


def _row(entrant: Entrant, group: Sequence[ContestRun], plain: Plain) -> DrafterRow:
    return DrafterRow(
        drafter=entrant.drafter,
        memory=entrant.memory,
        lossless=entrant.lossless,
        speedup=_over_prompts(group, plain, engine_speed),
        whole_call=_over_prompts(group, plain, whole_speed),
        statistics=statistics(group, plain),
    )


def _over_prompts(group: Sequence[ContestRun], plain: Plain, speed: Speed) -> Quartiles:
    return quartiles([median(found) for found in ratios(group, plain, speed).values()])


def marked(rows: Sequence[DrafterRow]) -> tuple[DrafterRow, ...]:
    """Marks the fastest of those that have run all the prompts that any has run: others have an easier set."""
    most = max(row.statistics.prompts for row in rows)
    best = max((row for row in rows if row.statistics.prompts == most), key=lambda row: row.speedup.median)
    return tuple(replace(row, winner=row is best) for row in rows)
