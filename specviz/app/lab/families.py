"""Winners by prompt family: each drafter's median speedup per family, and who is the fastest there.

Of a drafter with several speculation lengths a family shows the one that is fastest in this family. Reads sweep points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

import plotly.graph_objects as go

from specviz.app.lab.cases import PLAIN, CaseRuns, Rows, by_series, cases, median_ratio
from specviz.app.lab.chart import NO_DRAFTS, LabChart
from specviz.app.lab.figure_parts import HEIGHT, hover, in_rows, label
from specviz.app.look.style import LOSS_GAIN, TEXT, style
from specviz.protocol.sweeps.points import SweepPoint

SHOWN = 8
"""runs whose division a cell tells in full"""


@dataclass(frozen=True, slots=True)
class Cell:
    """One drafter in one family."""

    series: str
    family: str
    name: str
    """the case: with the length that is fastest here"""
    ratio: float
    """median over the family's prompts"""
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


def _column(family: str, found: Sequence[CaseRuns]) -> list[Cell]:
    """Plain decoding, then every drafter that ran here; the first of the fastest wins."""
    measured = []
    for series, group in by_series(found).items():
        here = {case.name: [run for run in case.points if run.family == family] for case in group}
        here = {name: runs for name, runs in here.items() if runs}
        if here:
            name = max(here, key=lambda name: median_ratio(here[name]))
            measured.append((series, name, here[name], len(here)))
    best = max([1.0, *(median_ratio(runs) for _, _, runs, _ in measured)])
    cells = [Cell(PLAIN, family, PLAIN, 1.0, 0, best == 1.0, ("the baseline: 1 by definition",))]
    won = cells[0].winner
    for series, name, runs, lengths in measured:
        ratio = median_ratio(runs)
        winner = not won and ratio == best
        cells.append(Cell(series, family, name, ratio, len(runs), winner, _told(name, runs, lengths)))
        won = won or winner
    return cells


def _told(name: str, runs: Sequence[SweepPoint], lengths: int) -> tuple[str, ...]:
    chosen = f"{name}, the fastest of {lengths} lengths in this family" if lengths > 1 else name
    each = [f"{run.prompt}: {run.tokens_per_s:.1f} ÷ {run.baseline_tokens_per_s:.1f}" for run in runs]
    shown = ", ".join(each[:SHOWN]) + (f" and {len(each) - SHOWN} more" if len(each) > SHOWN else "")
    formula = "median over the prompts of tokens per second ÷ plain decoding's"
    return (chosen, f"speedup = {formula} = {median_ratio(runs):.2f}", shown)


def rows(points: Sequence[SweepPoint]) -> Rows:
    found = families(points)
    return [
        {"family": cell.family, "drafter": cell.series, "case": cell.name, "median_speedup": cell.ratio,
         "runs": cell.runs, "winner": cell.winner}
        for cell in (found.cells if found else ())
    ]  # fmt: skip


# --- the picture -----------------------------------------------------------------------------------------------------


def figure(points: Sequence[SweepPoint]) -> go.Figure | None:
    """A table of colours: blue is faster than plain decoding, orange slower, ★ the fastest of the family."""
    found = families(points)
    if found is None:
        return None
    cells = {(cell.series, cell.family): cell for cell in found.cells}
    table = [[cells.get((series, family)) for family in found.families] for series in found.series]
    strength = [[None if cell is None else log2(max(cell.ratio, 1e-3)) for cell in row] for row in table]
    widest = max([0.5, *(abs(value) for row in strength for value in row if value is not None)])
    drawn = go.Figure(
        go.Heatmap(
            x=list(map(label, found.families)),
            y=list(map(label, found.series)),
            z=strength,
            zmin=-widest,
            zmax=widest,
            colorscale=[(index / 2, colour) for index, colour in enumerate(LOSS_GAIN)],
            showscale=False,
            xgap=2,
            ygap=2,
            text=[[_text(cell) for cell in row] for row in table],
            texttemplate="%{text}",
            textfont={"color": TEXT},
            hovertext=[["" if cell is None else _hover(cell) for cell in row] for row in table],
            hoverinfo="text",
        )
    )
    drawn.update_yaxes(autorange="reversed", showgrid=False)
    drawn.update_xaxes(showgrid=False, side="top")
    in_rows(style(drawn, HEIGHT), len(found.series))
    return drawn.update_layout(margin={"t": 40, "b": 16})


def _text(cell: Cell | None) -> str:
    return "–" if cell is None else f"{'★ ' if cell.winner else ''}{cell.ratio:.2f}"


def _hover(cell: Cell) -> str:
    return hover(f"{cell.series} on {cell.family}", cell.explanation)


CHART = LabChart(
    "families",
    "Winners by prompt family",
    "Which drafter is the fastest for which kind of text?",
    "Median speedup per family, in × plain decoding, ★ the fastest there; of several speculation lengths the fastest "
    "in that family.",
    NO_DRAFTS,
    figure,
    rows,
    place=60,
)
