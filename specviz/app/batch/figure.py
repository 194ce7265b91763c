"""Speedup and acceptance against batch size, a line per shape of the draft, with intervals. Takes the view only."""

from __future__ import annotations

from collections.abc import Callable

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from specviz.app.batch.view import BatchView
from specviz.app.look.style import MARKS, SERIES, TEXT, legend_above, style
from specviz.protocol.sweeps.intervals import Estimate
from specviz.studies.batches.result import PLAIN, name_of
from specviz.theory.batches import BatchRow

HEIGHT = 520
APART = 1.03
"""shapes stand beside each other at a size, so that their intervals do not cover each other"""
Triple = tuple[float, float, float]
"""value, low, high"""


def batch_figure(view: BatchView) -> go.Figure:
    """Above the speedup with quartiles over repeats, below the acceptance with 95 % over prompts."""
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.09, row_heights=[0.6, 0.4])
    shapes = list(dict.fromkeys(row.shape for row in view.rows if row.shape != PLAIN))
    sizes = sorted({row.size for row in view.rows})
    for place, shape in enumerate(shapes):
        own = [row for row in view.rows if row.shape == shape]
        shift = APART ** (place - (len(shapes) - 1) / 2)
        for panel, value, said in ((1, _speedup, "× plain"), (2, _acceptance, "accepted")):
            figure.add_trace(_line(own, value, said, place, shift, panel == 1), row=panel, col=1)
    figure.add_trace(
        go.Scatter(x=[sizes[0] / APART**3, sizes[-1] * APART**3], y=[1, 1], mode="lines", name="plain decoding",
                   line={"color": TEXT, "width": 1.5, "dash": "dash"}, hoverinfo="skip"),
        row=1, col=1,
    )  # fmt: skip
    ticks = {"tickvals": sizes, "ticktext": [str(size) for size in sizes]}
    figure.update_xaxes(type="log", **ticks)
    style(figure, HEIGHT)
    figure.update_xaxes(title="batch size B: texts decoded together", row=2, col=1)
    figure.update_yaxes(title="× plain, same batch", rangemode="tozero", row=1, col=1)
    figure.update_yaxes(title="accepted / drafted", range=[0, 1.02], row=2, col=1)
    return legend_above(figure)


def _line(
    own: list[BatchRow], value: Callable[[BatchRow], Triple | None], said: str, place: int, shift: float, legend: bool
) -> go.Scatter:
    found = [(row, triple) for row in own if (triple := value(row)) is not None]
    colour, name = SERIES[place % len(SERIES)], name_of(own[0].shape)
    return go.Scatter(
        x=[row.size * shift for row, _ in found],
        y=[middle for _, (middle, _, _) in found],
        error_y={
            "type": "data", "symmetric": False, "thickness": 1.5, "width": 3,
            "array": [high - middle for _, (middle, _, high) in found],
            "arrayminus": [middle - low for _, (middle, low, _) in found],
        },
        mode="lines+markers", name=name, legendgroup=name, showlegend=legend,
        marker={"symbol": MARKS[place % len(MARKS)], "size": 9, "color": colour}, line={"color": colour, "width": 2},
        hovertext=[
            f"<b>{name}</b>, B = {row.size}<br>{middle:.2f} {said} ({low:.2f} to {high:.2f})"
            for row, (middle, low, high) in found
        ],
        hoverinfo="text",
    )  # fmt: skip


def _speedup(row: BatchRow) -> Triple | None:
    return None if row.speedup is None else (row.speedup.median, row.speedup.low, row.speedup.high)


def _acceptance(row: BatchRow) -> Estimate | None:
    return row.acceptance
