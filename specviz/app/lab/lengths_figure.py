"""The accepted-length histogram as grouped bars."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from specviz.app.lab.figure_parts import HEIGHT, hover, label, look
from specviz.app.lab.lengths import histograms
from specviz.app.parts.style import style
from specviz.protocol.sweeps.points import SweepPoint


def figure(points: Sequence[SweepPoint]) -> go.Figure | None:
    found = histograms(points)
    if not found:
        return None
    drawn = go.Figure(
        [
            go.Bar(
                x=list(range(len(one.counts))),
                y=one.shares,
                name=label(one.name),
                hovertext=[hover(one.name, one.explanation(length)) for length in range(len(one.counts))],
                hoverinfo="text",
                marker={"color": look(place)[0]},
            )
            for place, one in enumerate(found)
        ]
    )
    drawn.update_layout(barmode="group", bargap=0.25, showlegend=True)
    drawn.update_xaxes(title="accepted tokens in a round that drafted", dtick=1)
    drawn.update_yaxes(title="share of these rounds", rangemode="tozero")
    return style(drawn, HEIGHT)
