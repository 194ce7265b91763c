"""The rows of `specviz bench trees`, with error bars and the ranks that they allow, and their report as Markdown.

A place is lost only to rows whose paired interval leaves no doubt: rows are compared on the same prompts, two by two,
with intervals that hold for all pairs of a table at once, and rows that no interval tells apart have the same rank.
Place in the flow: reads what the contest yielded for the cases of `trees/plan.py`; last step of the command.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from specviz.bench.core.contest import ContestRun, Measured
from specviz.bench.core.report import DASH, Origin, markdown_table, spread, value_of, with_interval
from specviz.bench.core.rows import (
    NONE,
    Classes,
    Plain,
    Ranked,
    Text,
    counted,
    decode_speed,
    over_prompts,
    ranked,
    row_statistics,
    texts,
    texts_table,
    varied_prompts,
)
from specviz.bench.trees.plan import TreeCase, plain_name
from specviz.bench.trees.rules import AcceptanceRow, SameTreeRow
from specviz.protocol.sweeps.points import Quartiles
from specviz.theory.rows import MOST, RowStatistics


@dataclass(frozen=True, slots=True)
class TreeReport:
    """Everything a reader needs to judge the numbers."""

    rows: Sequence[TreeRow]
    """over prompts whose text does not repeat itself"""
    repeating: Sequence[TreeRow]
    """over the others"""
    texts: Sequence[tuple[float, Sequence[Text]]]
    """temperature → what plain decoding wrote"""
    same_trees: Sequence[SameTreeRow]
    """verifiers on the very same trees"""
    levels: Sequence[AcceptanceRow]
    level_temperature: float
    places: int
    """positions of texts behind the table"""
    origin: Origin
    prompts: int
    max_new_tokens: int
    seed: int
    complete: bool
    """False: stopped before everything had run"""


def markdown(report: TreeReport) -> str:
    """A table per experiment and temperature, the same over the texts that repeat themselves, the verifiers on the same
    trees, the acceptance of one level, each text's repetition, and their provenance."""
    parts = _tree_tables(report.rows, "") or [NONE]
    parts += [f"Temperature {temperature:g}: {counted(texts)}" for temperature, texts in report.texts]
    parts += _tree_tables(report.repeating, f", texts that repeat more than {MOST:.0%} of their 4-grams")
    for experiment, temperature in dict.fromkeys((row.experiment, row.temperature) for row in report.same_trees):
        same = [row for row in report.same_trees if (row.experiment, row.temperature) == (experiment, temperature)]
        parts += [f"**Same trees. {_title(experiment)}, temperature {temperature:g}**", _same_tree_table(same)]
    if report.levels:
        title = f"**Acceptance of one level, temperature {report.level_temperature:g}, {report.places:,} places**"
        parts += [title, _level_table(report.levels)]
    parts += ["**The texts of plain decoding**", texts_table(report.texts)]
    return "\n\n".join([*parts, _provenance(report)]) + "\n"


def _tree_tables(rows: Sequence[TreeRow], which: str) -> list[str]:
    parts = list[str]()
    for experiment, temperature in dict.fromkeys((row.experiment, row.temperature) for row in rows):
        chosen = [row for row in rows if (row.experiment, row.temperature) == (experiment, temperature)]
        parts += [f"**{_title(experiment)}, temperature {temperature:g}{which}**", _tree_table(chosen)]
    return parts


def _title(experiment: str) -> str:
    kind, _, size = experiment.partition(" ")
    return f"Fixed speculation length {size}" if kind == "length" else f"Fixed target budget: {size} candidates"


def _tree_table(rows: Sequence[TreeRow]) -> str:
    """Rank by rank, and by name where no difference is shown."""
    timed = any(row.speedup for row in rows)
    head = ["rank", "tree policy", "shape", "verifier", "mean acceptance length", "behind the highest",
            "acceptance rate", "MBSU", "candidates per pass", "target passes",
            *(["× plain, decoding"] if timed else [])]  # fmt: skip
    ordered = sorted(rows, key=lambda row: (row.standing.rank or 0, row.tree_policy, row.shape, row.verifier))
    return markdown_table(head, [_cells(row, timed) for row in ordered], words=4)


def _cells(row: TreeRow, timed: bool) -> list[str]:
    cells = [
        _rank(row.standing),
        row.tree_policy,
        row.shape or DASH,
        row.verifier,
        with_interval(row.statistics.mean_acceptance_length),
        _behind(row.standing),
        with_interval(row.statistics.acceptance_rate),
        value_of(row.statistics.mbsu),
        value_of(row.statistics.nodes_per_pass, "{:.1f}"),
        value_of(row.statistics.target_passes, "{:.1f}"),
    ]
    if timed:
        cells.append(spread(row.speedup))
    return cells


def _same_tree_table(rows: Sequence[SameTreeRow]) -> str:
    """Tree shape by tree shape; within one rank by rank."""
    head = ("tree policy", "shape", "rank", "verifier", "trees", "mean acceptance length", "behind the highest")
    ordered = sorted(rows, key=lambda row: (row.tree_policy, row.shape, row.standing.rank or 0, row.verifier))
    body = [
        [
            row.tree_policy,
            row.shape or DASH,
            _rank(row.standing),
            row.verifier,
            f"{row.rounds:,}",
            with_interval(row.standing.value),
            _behind(row.standing),
        ]
        for row in ordered
    ]
    return markdown_table(head, body, words=4)


def _rank(standing: Ranked) -> str:
    return DASH if standing.rank is None else str(standing.rank)


def _behind(standing: Ranked) -> str:
    """By how much a row is behind the highest, and where that is not shown, that it is not."""
    behind = standing.behind
    if behind is None:
        return DASH
    if behind.low <= 0.0:
        return "equal" if behind == (0.0, 0.0, 0.0) else "no difference shown"
    return with_interval(behind)


def _level_table(rows: Sequence[AcceptanceRow]) -> str:
    head = ["candidates and rule", "K", "accepted level", "computed"]
    body = [[rung.name, str(rung.candidates), with_interval(rung.acceptance, 3), rung.how] for rung in rows]
    return markdown_table(head, body)


def _provenance(report: TreeReport) -> str:
    return (
        f"{report.prompts} prompts, each to the end of its text or {report.max_new_tokens} new tokens, seed "
        f"{report.seed}"
        f"{'' if report.complete else ', stopped early'}. In brackets the central 95 % over resampled prompts; of the "
        "speed, the quartiles over the prompts; of *behind the highest*, 95 % for all pairs of a table at once, paired "
        "over the prompts. A rank is 1 + the rows shown to be higher; rows that no interval tells apart share it. "
        f"{report.origin}"
    )


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
    places, split = varied(cases, outcomes), Classes([], [])
    for contest_run in outcomes:
        where = temperature[contest_run.contestant], contest_run.prompt
        if where in known:
            (split.varied if where in places else split.repeating).append(contest_run)
    return split


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
        beside = [run_beside for run_beside in group if (run_beside.prompt, run_beside.repeat) in plain]
        found.append(
            TreeRow(
                experiment=case.experiment,
                temperature=case.temperature,
                tree_policy=case.tree_policy,
                shape=case.shape,
                verifier=case.verifier,
                statistics=row_statistics(group, seed=seed),
                standing=standings[case.name],
                speedup=over_prompts(beside, plain, decode_speed) if beside else None,
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
    standings: dict[str, Ranked] = {}
    for names in tables.values():
        runs = [{contest_run.prompt: contest_run.measured for contest_run in grouped[name]} for name in names]
        shared = [prompt for prompt in runs[0] if all(prompt in others for others in runs)]
        standings.update(zip(names, ranked([_parts(of_case, shared) for of_case in runs], seed), strict=True))
    return standings


def _parts(runs: Mapping[str, Measured], prompts: Sequence[str]) -> list[tuple[float, float]]:
    return [(runs[prompt].counts.lengths, runs[prompt].counts.steps) for prompt in prompts]
