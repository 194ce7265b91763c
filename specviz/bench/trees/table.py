"""The report of `specviz bench trees` as Markdown and as plain data for JSON.

Place in the flow: last step of the command.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specviz.bench.core.provenance import Origin
from specviz.bench.core.report import DASH, markdown_table, spread, value_of, with_interval
from specviz.bench.core.texts import NONE, Text, counted, texts_table
from specviz.bench.trees.level_acceptance import AcceptanceRow
from specviz.bench.trees.rows import Ranked, TreeRow
from specviz.bench.trees.same_trees import SameTreeRow
from specviz.theory.repetition import MOST


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
    parts += [f"Temperature {temperature:g}: {counted(found)}" for temperature, found in report.texts]
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
