"""The report of `specviz bench trees` as Markdown and as plain data for JSON.

Place in the flow: last step of the command. Knows nothing about how anything was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from specviz.bench.core.table import markdown_table, plain_data
from specviz.bench.trees.level_acceptance import Rung
from specviz.bench.trees.rows import TreeRow
from specviz.bench.trees.same_trees import SameTreeRow
from specviz.protocol.sweeps.intervals import Estimate
from specviz.trace.events import Machine, ModelCard

DASH = "–"


@dataclass(frozen=True, slots=True)
class TreeReport:
    """Everything a reader needs to judge the numbers."""

    rows: Sequence[TreeRow]
    same_trees: Sequence[SameTreeRow]
    """verifiers on the very same trees"""
    ladder: Sequence[Rung]
    ladder_temperature: float
    places: int
    """positions of texts behind the ladder"""
    target: ModelCard
    drafter: ModelCard
    machine: Machine
    created: str
    prompts: int
    max_new_tokens: int
    seed: int
    complete: bool
    """False: stopped before everything had run"""


def to_data(report: TreeReport) -> dict[str, Any]:
    """Plain dicts; an estimate as `value`, `low`, `high`."""
    return dict(plain_data(asdict(report)))


def markdown(report: TreeReport) -> str:
    """A table per experiment and temperature, the verifiers on the same trees, the ladder, and their provenance."""
    parts = list[str]()
    for experiment, temperature in dict.fromkeys((row.experiment, row.temperature) for row in report.rows):
        chosen = [row for row in report.rows if (row.experiment, row.temperature) == (experiment, temperature)]
        parts += [f"**{_title(experiment)}, temperature {temperature:g}**", _tree_table(chosen)]
    for experiment, temperature in dict.fromkeys((row.experiment, row.temperature) for row in report.same_trees):
        same = [row for row in report.same_trees if (row.experiment, row.temperature) == (experiment, temperature)]
        parts += [f"**Same trees. {_title(experiment)}, temperature {temperature:g}**", _same_tree_table(same)]
    if report.ladder:
        title = f"**Gain ladder: one level, temperature {report.ladder_temperature:g}, {report.places:,} places**"
        parts += [title, _ladder_table(report.ladder)]
    return "\n\n".join([*parts, _provenance(report)]) + "\n"


def _title(experiment: str) -> str:
    kind, _, size = experiment.partition(" ")
    return f"Fixed draft length {size}" if kind == "length" else f"Fixed target budget: {size} candidates"


def _tree_table(rows: Sequence[TreeRow]) -> str:
    """Rank by rank, and by name where no difference is shown."""
    timed = any(row.speedup for row in rows)
    head = ["rank", "tree policy", "shape", "verifier", "mean acceptance length", "behind the highest",
            "acceptance rate", "candidates per pass", "target passes",
            *(["× plain, decoding"] if timed else [])]  # fmt: skip
    ordered = sorted(rows, key=lambda row: (row.rank or 0, row.growth, row.shape, row.verifier))
    return markdown_table(head, [_cells(row, timed) for row in ordered], words=4)


def _cells(row: TreeRow, timed: bool) -> list[str]:
    cells = [
        DASH if row.rank is None else str(row.rank),
        row.growth,
        row.shape or DASH,
        row.verifier,
        _with_interval(row.mean_acceptance_length),
        _behind(row.rank, row.behind),
        _with_interval(row.acceptance_rate),
        _value(row.nodes_per_pass),
        _value(row.target_passes),
    ]
    if timed:
        speed = row.speedup
        cells.append(DASH if speed is None else f"{speed.median:.2f} [{speed.low:.2f}–{speed.high:.2f}]")
    return cells


def _same_tree_table(rows: Sequence[SameTreeRow]) -> str:
    """Tree shape by tree shape; within one rank by rank."""
    head = ("tree policy", "shape", "rank", "verifier", "trees", "mean acceptance length", "behind the highest")
    ordered = sorted(rows, key=lambda row: (row.growth, row.shape, row.standing.rank or 0, row.verifier))
    body = [
        [
            row.growth,
            row.shape or DASH,
            DASH if row.standing.rank is None else str(row.standing.rank),
            row.verifier,
            f"{row.rounds:,}",
            _with_interval(row.standing.value),
            _behind(row.standing.rank, row.standing.behind),
        ]
        for row in ordered
    ]
    return markdown_table(head, body, words=4)


def _behind(rank: int | None, behind: Estimate | None) -> str:
    """By how much a row is behind the highest, and where that is not shown, that it is not."""
    if rank is None or behind is None:
        return DASH
    if behind.low <= 0.0:
        return "equal" if behind == (0.0, 0.0, 0.0) else "no difference shown"
    return _with_interval(behind)


def _ladder_table(rungs: Sequence[Rung]) -> str:
    head = ["candidates and rule", "K", "accepted level", "computed"]
    body = [[rung.name, str(rung.candidates), _with_interval(rung.acceptance, 3), rung.how] for rung in rungs]
    return markdown_table(head, body)


def _with_interval(estimate: Estimate | None, digits: int = 2) -> str:
    if estimate is None:
        return DASH
    return f"{estimate.value:.{digits}f} [{estimate.low:.{digits}f}–{estimate.high:.{digits}f}]"


def _value(estimate: Estimate | None) -> str:
    return DASH if estimate is None else f"{estimate.value:.1f}"


def _provenance(report: TreeReport) -> str:
    target, drafter, machine = report.target, report.drafter, report.machine
    return (
        f"{report.prompts} prompts, {report.max_new_tokens} new tokens each, seed {report.seed}"
        f"{'' if report.complete else ', stopped early'}. In brackets the central 95 % over resampled prompts; of the "
        "speed, the quartiles over the prompts; of *behind the highest*, 95 % for all pairs of a table at once, paired "
        "over the prompts. A rank is 1 + the rows shown to be higher; rows that no interval tells apart share it. "
        f"{machine.processor}, {machine.cores} cores, {machine.threads} thread{'s' * (machine.threads != 1)}, "
        f"{machine.device}, {target.dtype}, torch {machine.torch}. {report.created}. "
        f"target {target.name} (sha256 {target.weights_sha256[:12]}), "
        f"drafter {drafter.name} (sha256 {drafter.weights_sha256[:12]})."
    )
