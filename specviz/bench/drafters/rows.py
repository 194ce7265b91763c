"""From outcomes to the rows of `specviz bench drafters`: each drafter overall and on every prompt family.

Place in the flow: reads what the contest yielded for the entrants of `drafters/plan.py`; `drafters/table.py` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from specviz.bench.core.texts import Text, by_class, texts
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
    prompts_run: int = 0
    """prompts of the family that it has run, those of the other class of texts included"""
    winner: bool = False
    """the fastest of its section"""


@dataclass(frozen=True, slots=True)
class Section:
    family: str
    """empty: all prompts together"""
    rows: tuple[DrafterRow, ...]
    """none where the family has no text of this class"""


@dataclass(frozen=True, slots=True)
class Part:
    """Everything at one temperature."""

    temperature: float
    sections: tuple[Section, ...]
    """of the texts that do not repeat themselves: all prompts together first, then each family"""
    repeating: Section
    """the others together"""
    texts: tuple[Text, ...]
    """of plain decoding"""


def part(temperature: float, entrants: Sequence[Entrant], outcomes: Sequence[ContestRun]) -> Part:
    """The rows of both classes of texts, families in the order of the outcomes.

    Runs whose plain run is missing (a cancelled bench) are left out. Raises BenchError where none is left.
    """
    paired, plain = beside_plain(outcomes, BASELINE)
    varied, repeating = by_class(paired, plain)
    found = []
    for family in ("", *dict.fromkeys(one.family for one in paired)):
        here, run = _of(family, varied), _prompts_run(_of(family, paired))
        found.append(Section(family, _rows(entrants, here, plain, run)))
    apart = Section("", _rows(entrants, repeating, plain, _prompts_run(paired)))
    return Part(temperature, tuple(found), apart, texts(outcomes, BASELINE))


def _of(family: str, outcomes: Sequence[ContestRun]) -> list[ContestRun]:
    return [contest_run for contest_run in outcomes if family in ("", contest_run.family)]


def _prompts_run(paired: Sequence[ContestRun]) -> Mapping[str, int]:
    """Contestant → how many prompts it has run, whatever came out."""
    prompts: dict[str, set[str]] = {}
    for contest_run in paired:
        prompts.setdefault(contest_run.contestant, set()).add(contest_run.prompt)
    return {name: len(prompt) for name, prompt in prompts.items()}


def _rows(
    entrants: Sequence[Entrant], outcomes: Sequence[ContestRun], plain: Plain, prompts_run: Mapping[str, int]
) -> tuple[DrafterRow, ...]:
    found = []
    for entrant in entrants:
        name = entrant.contestant.name
        group = [contest_run for contest_run in outcomes if contest_run.contestant == name]
        if group:
            found.append(replace(_row(entrant, group, plain), prompts_run=prompts_run[name]))
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
    return quartiles([median(ratio) for ratio in ratios(group, plain, speed).values()])


def marked(rows: Sequence[DrafterRow]) -> tuple[DrafterRow, ...]:
    """Marks the fastest of those that have run all the prompts that any has run: others have an easier set."""
    most = max((row.prompts_run for row in rows), default=0)
    best = max((row for row in rows if row.prompts_run == most), key=lambda row: row.speedup.median, default=None)
    return tuple(replace(row, winner=row is best) for row in rows)
