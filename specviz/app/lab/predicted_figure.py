"""Predicted against measured speedup: on the line the arithmetic explains the clock."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from specviz.app.lab.figure_parts import HEIGHT, hover, label, left_out, look
from specviz.app.lab.predicted import Prediction, predictions, unpredicted
from specviz.app.parts.style import TEXT, style
from specviz.protocol.sweeps.points import SweepPoint


def figure(points: Sequence[SweepPoint]) -> go.Figure | None:
    found = predictions(points)
    if not found:
        return None
    top = 1.1 * max(max(one.predicted, one.measured) for one in found)
    drawn = go.Figure(
        go.Scatter(
            x=[0, top], y=[0, top], mode="lines", name="predicted = measured", hoverinfo="skip",
            line={"color": TEXT, "width": 1.5, "dash": "dash"},
        )
    )  # fmt: skip
    for place, series in enumerate(dict.fromkeys(one.series for one in found)):
        drawn.add_trace(_series([one for one in found if one.series == series], *look(place)))
    drawn.update_xaxes(title="predicted speedup (×)", range=[0, top])
    drawn.update_yaxes(title="measured speedup (×)", range=[0, top])
    left_out(drawn, unpredicted(points), "the time of a drafter's step is not known")
    return style(drawn, HEIGHT)


def _series(own: Sequence[Prediction], colour: str, mark: str) -> go.Scatter:
    return go.Scatter(
        x=[one.predicted for one in own],
        y=[one.measured for one in own],
        mode="markers",
        name=label(own[0].series),
        hovertext=[hover(one.name, one.explanation) for one in own],
        hoverinfo="text",
        marker={"symbol": mark, "size": 11, "color": colour},
    )
