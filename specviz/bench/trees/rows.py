"""From outcomes to the rows of `specviz bench trees`, with error bars and the ranks that they allow.

A place is lost only to rows whose paired interval leaves no doubt: rows are compared on the same prompts, two by two,
with intervals that hold for all pairs of a table at once, and rows that no interval tells apart have the same rank.
Place in the flow: reads what the contest yielded for the cases of `trees/plan.py`; `trees/table.py` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from specviz.bench.core.contest import ContestRun, Measured
from specviz.bench.core.rows import Plain, RowStatistics, decode_speed, lengths, ratios, statistics
from specviz.bench.core.texts import Classes, texts, varied_prompts
from specviz.bench.trees.plan import TreeCase, plain_name
from specviz.protocol.sweeps.intervals import Estimate, Parts, differences, ratio_of_sums
from specviz.protocol.sweeps.points import Quartiles, quartiles

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
    shared = [index for index in range(len(rows[0])) if all(row[index][1] > 0.0 for row in rows)] if rows else []
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


@dataclass(frozen=True, slots=True)
class TreeRow:
    """One case over all prompts."""

    experiment: str
    temperature: float
    tree_policy: str
    shape: str
    verifier: str
    statistics: RowStatistics
    standing: Ranked
    """of its mean acceptance length among the rows of the same experiment and temperature"""
    speedup: Quartiles | None
    """decoding against plain decoding of the same prompt, interleaved; None where speed was not measured"""


def varied(cases: Sequence[TreeCase], outcomes: Sequence[ContestRun]) -> set[tuple[float, str]]:
    """(temperature, prompt) where plain decoding wrote a text that does not repeat itself. It speaks for all cases,
    which are lossless, so that they stay paired over the same prompts."""
    temperatures = dict.fromkeys(case.temperature for case in cases)
    return {(heat, prompt) for heat in temperatures for prompt in varied_prompts(texts(outcomes, plain_name(heat)))}


def classes(cases: Sequence[TreeCase], outcomes: Sequence[ContestRun]) -> Classes:
    """The outcomes, those of plain decoding among them, by the class of their prompt at their temperature; those whose
    plain run is missing (a cancelled bench) are left out."""
    temperature = {case.name: case.temperature for case in cases}
    temperature |= {plain_name(heat): heat for heat in temperature.values()}
    plain = {plain_name(heat) for heat in temperature.values()}
    known = {
        (temperature[contest_run.contestant], contest_run.prompt)
        for contest_run in outcomes
        if contest_run.contestant in plain
    }
    places, found = varied(cases, outcomes), Classes([], [])
    for contest_run in outcomes:
        where = temperature[contest_run.contestant], contest_run.prompt
        if where in known:
            (found.varied if where in places else found.repeating).append(contest_run)
    return found


def rows(cases: Sequence[TreeCase], outcomes: Sequence[ContestRun], seed: int = 0, timed: bool = True) -> list[TreeRow]:
    """One row per case that has run, in the order of the cases; `timed`: with speeds, where plain decoding ran."""
    grouped: dict[str, list[ContestRun]] = {}
    for contest_run in outcomes:
        grouped.setdefault(contest_run.contestant, []).append(contest_run)
    run = [case for case in cases if case.name in grouped]
    standings = _standings(run, grouped, seed)
    found = []
    for case in run:
        group, plain = grouped[case.name], _plain(grouped.get(plain_name(case.temperature), ()) if timed else ())
        beside = [one for one in group if (one.prompt, one.repeat) in plain]
        speeds = [ratio for found in ratios(beside, plain, decode_speed).values() for ratio in found]
        found.append(
            TreeRow(
                experiment=case.experiment,
                temperature=case.temperature,
                tree_policy=case.tree_policy,
                shape=case.shape,
                verifier=case.verifier,
                statistics=statistics(group, seed=seed),
                standing=standings[case.name],
                speedup=quartiles(speeds) if speeds else None,
            )
        )
    return found


def _plain(outcomes: Sequence[ContestRun]) -> Plain:
    return {(contest_run.prompt, contest_run.repeat): [contest_run.measured] for contest_run in outcomes}


def _standings(cases: Sequence[TreeCase], grouped: Mapping[str, Sequence[ContestRun]], seed: int) -> dict[str, Ranked]:
    """Case → its place within experiment and temperature, on the prompts that all of these have run."""
    tables: dict[tuple[str, float], list[str]] = {}
    for case in cases:
        tables.setdefault((case.experiment, case.temperature), []).append(case.name)
    found: dict[str, Ranked] = {}
    for names in tables.values():
        runs = [{one.prompt: one.measured for one in grouped[name]} for name in names]
        shared = [prompt for prompt in runs[0] if all(prompt in others for others in runs)]
        found.update(zip(names, ranked([_parts(own, shared) for own in runs], seed), strict=True))
    return found


def _parts(runs: Mapping[str, Measured], prompts: Sequence[str]) -> list[tuple[float, float]]:
    return [lengths(runs[prompt]) for prompt in prompts]
