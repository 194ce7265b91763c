"""Who wins: every drafter at its fastest setting, the fastest first, with the interval of its median; and each
drafter's median speedup per prompt family, with the fastest there.

Of a drafter with several speculation lengths a family shows the one that is fastest in this family. Reads sweep points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

import plotly.graph_objects as go

from specviz.app.lab.cases import PLAIN, CaseRuns, Rows, by_series, cases, fastest, median_ratio
from specviz.app.lab.chart import NO_DRAFTS, LabChart
from specviz.app.look.style import AT_FOOT, HEIGHT, LOSS_GAIN, SERIES, TEXT, hover, in_rows, label, style
from specviz.protocol.sweeps.points import SweepPoint
from specviz.theory.rows import summarise


@dataclass(frozen=True, slots=True)
class Ranked:
    """One drafter at the setting with the highest median speedup."""

    name: str
    """with its speculation length"""
    ratio: float
    low: float
    high: float
    """95 % interval of the median over resampled prompts; equal to it where there is one prompt"""
    prompts: int

    @property
    def verdict(self) -> str:
        """Whether the interval leaves it open which of the two is faster; from one prompt follows none."""
        if self.prompts == 1 or self.low <= 1 <= self.high:
            return UNDECIDED
        return FASTER if self.low > 1 else SLOWER


FASTER, UNDECIDED, SLOWER = "faster than plain decoding", "undecided", "slower than plain decoding"
LOOKS = {FASTER: (SERIES[0], "circle"), UNDECIDED: (TEXT, "diamond"), SLOWER: (SERIES[1], "x")}


def ranking(points: Sequence[SweepPoint]) -> list[Ranked]:
    """The fastest drafter first."""
    return [_ranked(case) for case in fastest(cases(points))]


def _ranked(case: CaseRuns) -> Ranked:
    (row,) = summarise(case.points)
    return Ranked(case.name, row.ratio.value, row.ratio.low, row.ratio.high, row.statistics.prompts)


def ranking_rows(points: Sequence[SweepPoint]) -> Rows:
    return [
        {
            "case": ranked.name,
            "median_speedup": ranked.ratio,
            "low": ranked.low,
            "high": ranked.high,
            "prompts": ranked.prompts,
        }
        for ranked in ranking(points)
    ]


# --- the picture -----------------------------------------------------------------------------------------------------


def ranking_figure(points: Sequence[SweepPoint]) -> go.Figure | None:
    """A mark with whiskers per drafter, one below the other, and the line of plain decoding."""
    ranks = ranking(points)
    if not ranks:
        return None
    drawn = go.Figure()
    for verdict, (colour, mark) in LOOKS.items():
        same = [ranked for ranked in ranks if ranked.verdict == verdict]
        if same:
            drawn.add_trace(_marks(same, verdict, colour, mark))
    drawn.add_vline(x=1.0, line={"color": TEXT, "width": 1.5, "dash": "dash"})
    in_rows(style(drawn, HEIGHT), len(ranks))
    drawn.update_xaxes(title="× plain decoding (dashed: 1)", rangemode="tozero")
    drawn.update_yaxes(categoryorder="array", categoryarray=[label(ranked.name) for ranked in reversed(ranks)])
    return drawn.update_layout(showlegend=True, legend=AT_FOOT)


def _marks(ranks: Sequence[Ranked], verdict: str, colour: str, mark: str) -> go.Scatter:
    return go.Scatter(
        x=[ranked.ratio for ranked in ranks],
        y=[label(ranked.name) for ranked in ranks],
        mode="markers",
        name=verdict,
        marker={"symbol": mark, "size": 9, "color": colour},
        error_x={
            "type": "data",
            "symmetric": False,
            "thickness": 1.5,
            "width": 4,
            "color": colour,
            "array": [ranked.high - ranked.ratio for ranked in ranks],
            "arrayminus": [ranked.ratio - ranked.low for ranked in ranks],
        },
        hovertext=[hover(ranked.name, _explained(ranked)) for ranked in ranks],
        hoverinfo="text",
    )


def _explained(ranked: Ranked) -> list[str]:
    formula = "median over the prompts of tokens per second ÷ plain decoding's"
    sure = (
        f"95 % interval {ranked.low:.2f} to {ranked.high:.2f}" if ranked.prompts > 1 else "one prompt, so no interval"
    )
    return [f"speedup = {formula} = {ranked.ratio:.2f}", f"{ranked.prompts} prompts; {sure}"]


RANKING = LabChart(
    "ranking",
    "Every drafter at its best",
    "Which drafter is the fastest on these prompts?",
    "The median speedup of each drafter at its fastest setting, chosen from these same runs, with the central 95 % of "
    "resampled prompts: where two intervals overlap, the order may be chance.",
    NO_DRAFTS,
    ranking_figure,
    ranking_rows,
    place=5,
)


# --- by prompt family ------------------------------------------------------------------------------------------------


TOLD = 8
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
    measured = cases(points)
    names = tuple(dict.fromkeys(point.family for case in measured for point in case.points))
    if not names:
        return None
    columns = [_column(family, measured) for family in names]
    return Families(names, (PLAIN, *by_series(measured)), tuple(cell for column in columns for cell in column))


def _column(family: str, measured_cases: Sequence[CaseRuns]) -> list[Cell]:
    """Plain decoding, then every drafter that ran here; the first of the fastest wins."""
    measured = []
    for series, group in by_series(measured_cases).items():
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
    shown = ", ".join(each[:TOLD]) + (f" and {len(each) - TOLD} more" if len(each) > TOLD else "")
    formula = "median over the prompts of tokens per second ÷ plain decoding's"
    return (chosen, f"speedup = {formula} = {median_ratio(runs):.2f}", shown)


def family_rows(points: Sequence[SweepPoint]) -> Rows:
    view = families(points)
    return [
        {
            "family": cell.family,
            "drafter": cell.series,
            "case": cell.name,
            "median_speedup": cell.ratio,
            "runs": cell.runs,
            "winner": cell.winner,
        }
        for cell in (view.cells if view else ())
    ]


# --- the picture -----------------------------------------------------------------------------------------------------


def family_figure(points: Sequence[SweepPoint]) -> go.Figure | None:
    """A table of colours: blue is faster than plain decoding, orange slower, ★ the fastest of the family."""
    view = families(points)
    if view is None:
        return None
    cells = {(cell.series, cell.family): cell for cell in view.cells}
    table = [[cells.get((series, family)) for family in view.families] for series in view.series]
    strength = [[None if cell is None else log2(max(cell.ratio, 1e-3)) for cell in row] for row in table]
    widest = max([0.5, *(abs(value) for row in strength for value in row if value is not None)])
    drawn = go.Figure(
        go.Heatmap(
            x=list(map(label, view.families)),
            y=list(map(label, view.series)),
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
    in_rows(style(drawn, HEIGHT), len(view.series))
    return drawn.update_layout(margin={"t": 40, "b": 16})


def _text(cell: Cell | None) -> str:
    return "–" if cell is None else f"{'★ ' if cell.winner else ''}{cell.ratio:.2f}"


def _hover(cell: Cell) -> str:
    return hover(f"{cell.series} on {cell.family}", cell.explanation)


FAMILIES = LabChart(
    "families",
    "Winners by prompt family",
    "Which drafter is the fastest for which kind of text?",
    "Median speedup per family, in × plain decoding, ★ the fastest there; of several speculation lengths the fastest "
    "in that family.",
    NO_DRAFTS,
    family_figure,
    family_rows,
    place=60,
)
