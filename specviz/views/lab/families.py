"""Winners by prompt family: each drafter's median speedup per family, and who is the fastest there.

Of a drafter with several speculation lengths a family shows the one that is fastest in this family. Reads sweep points;
knows nothing about plotly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from specviz.bench.points import SweepPoint
from specviz.views.lab.cases import PLAIN, Case, Rows, by_series, cases


@dataclass(frozen=True, slots=True)
class Cell:
    """One drafter in one family."""

    series: str
    family: str
    name: str
    """the case: with the length that is fastest here"""
    ratio: float
    """median of the runs' own ratios"""
    runs: int
    winner: bool
    """the fastest of the family, plain decoding included"""
    explanation: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Families:
    families: tuple[str, ...]
    series: tuple[str, ...]
    """plain decoding first"""
    cells: tuple[Cell, ...]


def families(points: Sequence[SweepPoint]) -> Families | None:
    """Everything measured, by family; None before a drafter was."""
    found = cases(points)
    names = tuple(dict.fromkeys(point.family for case in found for point in case.points))
    if not names:
        return None
    columns = [_column(family, found) for family in names]
    return Families(names, (PLAIN, *by_series(found)), tuple(cell for column in columns for cell in column))


def _column(family: str, found: Sequence[Case]) -> list[Cell]:
    """Plain decoding, then every drafter that ran here; the first of the fastest wins."""
    measured = []
    for series, group in by_series(found).items():
        ratios = {case.name: [run.ratio for run in case.points if run.family == family] for case in group}
        ratios = {name: values for name, values in ratios.items() if values}
        if ratios:
            name = max(ratios, key=lambda name: median(ratios[name]))
            measured.append((series, name, ratios[name], len(ratios)))
    best = max([1.0, *(median(values) for _, _, values, _ in measured)])
    plain = Cell(PLAIN, family, PLAIN, 1.0, 0, best == 1.0, ("the baseline: 1 by definition",))
    cells = [plain]
    won = plain.winner
    for series, name, values, lengths in measured:
        ratio = median(values)
        cells.append(
            Cell(series, family, name, ratio, len(values), not won and ratio == best, _told(name, values, lengths))
        )
        won = won or cells[-1].winner
    return cells


def _told(name: str, values: Sequence[float], lengths: int) -> tuple[str, ...]:
    shown = ", ".join(f"{value:.2f}" for value in sorted(values)[:12]) + ("…" if len(values) > 12 else "")
    chosen = f"{name}, the fastest of {lengths} lengths in this family" if lengths > 1 else name
    formula = "median of the runs' (tokens per second ÷ plain decoding's of the same prompt)"
    return (chosen, f"speedup = {formula} = median of {shown} = {median(values):.2f}")


def rows(points: Sequence[SweepPoint]) -> Rows:
    found = families(points)
    return [
        {"family": cell.family, "drafter": cell.series, "case": cell.name, "median_speedup": cell.ratio,
         "runs": cell.runs, "winner": cell.winner}
        for cell in (found.cells if found else ())
    ]  # fmt: skip
