"""Time per round as stacked bars, one colour per phase."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from specviz.app.lab.figure_parts import HEIGHT, hover, label, look
from specviz.app.lab.phases import PHASES, mean_rounds
from specviz.app.parts.style import style
from specviz.protocol.sweeps.points import SweepPoint


def figure(points: Sequence[SweepPoint]) -> go.Figure | None:
    found = mean_rounds(points)
    if not found:
        return None
    drawn = go.Figure(
        [
            go.Bar(
                x=[label(one.name) for one in found],
                y=[one.milliseconds(phase) for one in found],
                name=name,
                hovertext=[hover(f"{one.name}: {name}", one.explanation(phase)) for one in found],
                hoverinfo="text",
                marker={"color": look(phase)[0]},
            )
            for phase, (name, _) in enumerate(PHASES)
        ]
    )
    drawn.update_layout(barmode="stack", bargap=0.3)
    drawn.update_yaxes(title="engine milliseconds per round", rangemode="tozero")
    return style(drawn, HEIGHT).update_layout(legend={"traceorder": "normal"})
