"""Ranking: every drafter at its fastest setting, the fastest first, with the interval of its median.

Reads sweep points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from specviz.app.lab.cases import CaseRuns, Rows, cases, fastest
from specviz.app.lab.chart import NO_DRAFTS, LabChart
from specviz.app.lab.figure_parts import HEIGHT, hover, in_rows, label
from specviz.app.look.style import AT_FOOT, SERIES, TEXT, style
from specviz.protocol.sweeps.points import SweepPoint, summarise


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
    return Ranked(case.name, row.ratio_median, row.ratio_low, row.ratio_high, row.prompts)


def rows(points: Sequence[SweepPoint]) -> Rows:
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


def figure(points: Sequence[SweepPoint]) -> go.Figure | None:
    """A mark with whiskers per drafter, one below the other, and the line of plain decoding."""
    found = ranking(points)
    if not found:
        return None
    drawn = go.Figure()
    for verdict, (colour, mark) in LOOKS.items():
        own = [ranked for ranked in found if ranked.verdict == verdict]
        if own:
            drawn.add_trace(_marks(own, verdict, colour, mark))
    drawn.add_vline(x=1.0, line={"color": TEXT, "width": 1.5, "dash": "dash"})
    in_rows(style(drawn, HEIGHT), len(found))
    drawn.update_xaxes(title="× plain decoding (dashed: 1)", rangemode="tozero")
    drawn.update_yaxes(categoryorder="array", categoryarray=[label(ranked.name) for ranked in reversed(found)])
    return drawn.update_layout(showlegend=True, legend=AT_FOOT)


def _marks(own: Sequence[Ranked], verdict: str, colour: str, mark: str) -> go.Scatter:
    return go.Scatter(
        x=[ranked.ratio for ranked in own],
        y=[label(ranked.name) for ranked in own],
        mode="markers",
        name=verdict,
        marker={"symbol": mark, "size": 9, "color": colour},
        error_x={
            "type": "data", "symmetric": False, "thickness": 1.5, "width": 4, "color": colour,
            "array": [ranked.high - ranked.ratio for ranked in own],
            "arrayminus": [ranked.ratio - ranked.low for ranked in own],
        },
        hovertext=[hover(ranked.name, _told(ranked)) for ranked in own],
        hoverinfo="text",
    )  # fmt: skip


def _told(ranked: Ranked) -> list[str]:
    formula = "median over the prompts of tokens per second ÷ plain decoding's"
    sure = (
        f"95 % interval {ranked.low:.2f} to {ranked.high:.2f}" if ranked.prompts > 1 else "one prompt, so no interval"
    )
    return [f"speedup = {formula} = {ranked.ratio:.2f}", f"{ranked.prompts} prompts; {sure}"]


CHART = LabChart(
    "ranking",
    "Every drafter at its best",
    "Which drafter is the fastest on these prompts?",
    "The median speedup of each drafter at its fastest setting, chosen from these same runs, with the central 95 % of "
    "resampled prompts: where two intervals overlap, the order may be chance.",
    NO_DRAFTS,
    figure,
    rows,
    place=5,
)
