"""From outcomes to the rows of `specviz bench`: ratios against our plain decoding of the same prompt and repeat.

Place in the flow: reads what the contest yielded and the replays found; `speed/table.py` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from specviz.bench.core.contest import ContestRun
from specviz.bench.core.rows import (
    Plain,
    RowStatistics,
    Speed,
    beside_plain,
    decode_speed,
    ratios,
    statistics,
    whole_speed,
)
from specviz.bench.core.texts import Text, by_class, texts
from specviz.bench.speed.efficiency import Efficiency
from specviz.protocol.sweeps.points import Quartiles, quartiles


@dataclass(frozen=True, slots=True)
class BenchRow:
    """One contestant over all its prompts and repeats."""

    name: str
    tokens_per_s: float
    """median, output tokens over the whole call, prompt included"""
    ratio: Quartiles
    """tokens/s against our plain decoding, whole call, over the pairs of runs"""
    decode_ratio: Quartiles
    """the same with each side's prompt pass left out"""
    by_family: Mapping[str, float]
    """median decode ratio per prompt family"""
    efficiency: Efficiency | None
    """SpecViz's engine alone"""
    statistics: RowStatistics


@dataclass(frozen=True, slots=True)
class Part:
    """Everything at one temperature."""

    temperature: float
    rows: Sequence[BenchRow]
    """over the texts that do not repeat themselves; none where all do"""
    repeating: Sequence[BenchRow]
    """over the others"""
    texts: Sequence[Text]


def part(
    temperature: float,
    outcomes: Sequence[ContestRun],
    baseline: str,
    efficiency: Mapping[str, Efficiency] | None = None,
) -> Part:
    """One row per contestant and class of texts in the order of first appearance, the baseline first. Outcomes whose
    baseline run is missing (a cancelled bench) are left out. Raises BenchError where no pair is left."""
    paired, plain = beside_plain(outcomes, baseline)
    varied, repeating = (_rows(one, plain, baseline, efficiency or {}) for one in by_class(paired, plain))
    return Part(temperature, varied, repeating, texts(outcomes, baseline))


def _rows(
    outcomes: Sequence[ContestRun], plain: Plain, baseline: str, efficiency: Mapping[str, Efficiency]
) -> list[BenchRow]:
    groups: dict[str, list[ContestRun]] = {baseline: []}
    for contest_run in outcomes:
        groups.setdefault(contest_run.contestant, []).append(contest_run)
    return [_row(group, plain, efficiency.get(name)) for name, group in groups.items() if group]


def overhead(outcomes: Sequence[ContestRun], recorded: str) -> Quartiles | None:
    """Tracing overhead of the contestant that keeps its trace: seconds spent writing it over all its other seconds,
    both from the same run, so that a busy machine cannot hide or invent it. None where it never ran."""
    runs = [contest_run.measured for contest_run in outcomes if contest_run.contestant == recorded]
    return quartiles([run.record_s / (run.wall_s - run.record_s) for run in runs]) if runs else None


def _row(group: Sequence[ContestRun], plain: Plain, efficiency: Efficiency | None) -> BenchRow:
    families = dict.fromkeys(contest_run.family for contest_run in group)
    return BenchRow(
        name=group[0].contestant,
        tokens_per_s=median(contest_run.measured.tokens_per_s for contest_run in group),
        ratio=_over_pairs(group, plain, whole_speed),
        decode_ratio=_over_pairs(group, plain, decode_speed),
        by_family={
            family: _over_pairs(
                [contest_run for contest_run in group if contest_run.family == family], plain, decode_speed
            ).median
            for family in families
        },
        efficiency=efficiency,
        statistics=statistics(group, plain),
    )


def _over_pairs(group: Sequence[ContestRun], plain: Plain, speed: Speed) -> Quartiles:
    return quartiles([ratio for found in ratios(group, plain, speed).values() for ratio in found])
