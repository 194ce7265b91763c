"""How deep drafts were accepted, a line per run; an engine that tells no histogram has none. Takes plain data only."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import plotly.graph_objects as go

from specviz.app.acceptance.view import label
from specviz.app.look.style import MARKS, SERIES, style
from specviz.protocol.acceptance.counts import AcceptanceRun

HEIGHT = 380
LEGEND_LINE = 22


def acceptance_figure(runs: Sequence[AcceptanceRun]) -> go.Figure:
    """x: depth d; y: share of the steps that accepted at least d candidates."""
    figure = go.Figure()
    for place, run in enumerate(runs):
        reached = run.total.reached
        if not reached:
            continue
        name = escape(label(run))
        figure.add_trace(
            go.Scatter(
                x=list(range(1, len(reached) + 1)), y=list(reached), mode="lines+markers", name=name,
                line={"color": SERIES[place % len(SERIES)], "dash": "solid" if run.traced else "dot"},
                marker={"symbol": MARKS[place % len(MARKS)], "size": 9},
                hovertemplate=f"{name}<br>at least %{{x}} accepted: %{{y:.1%}} of the steps<extra></extra>",
            )
        )  # fmt: skip
    figure.update_xaxes(title="accepted candidates d", dtick=1)
    figure.update_yaxes(title="steps that accepted ≥ d", range=[0, 1.04], tickformat=".0%")
    style(figure, HEIGHT + LEGEND_LINE * len(figure.data))
    figure.update_layout(legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"})
    return figure
