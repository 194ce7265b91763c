"""Acceptance by position as lines: solid over all drafts, dotted given the depths before."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from specviz.app.lab.by_position import Line, lines
from specviz.app.lab.figure_parts import HEIGHT, hover, label, look
from specviz.app.parts.style import style
from specviz.protocol.sweeps.points import SweepPoint


def figure(points: Sequence[SweepPoint]) -> go.Figure | None:
    found = lines(points)
    if not found:
        return None
    drawn = go.Figure()
    for place, line in enumerate(found):
        drawn.add_traces(_traces(line, *look(place)))
    drawn.update_xaxes(title="depth in the draft", dtick=1)
    drawn.update_yaxes(title="share accepted", range=[0, 1.04])
    return style(drawn, HEIGHT)


def _traces(line: Line, colour: str, mark: str) -> list[go.Scatter]:
    depths = [place.depth for place in line.places]
    texts = [hover(line.series, place.explanation) for place in line.places]
    shared = {"x": depths, "hovertext": texts, "hoverinfo": "text", "legendgroup": label(line.series)}
    marker = {"symbol": mark, "size": 9, "color": colour}
    return [
        go.Scatter(
            **shared, y=[place.rate for place in line.places], mode="lines+markers", name=label(line.series),
            line={"color": colour, "width": 2}, marker=marker,
        ),
        go.Scatter(
            **shared, y=[place.conditional for place in line.places], mode="lines", showlegend=False,
            line={"color": colour, "width": 1.5, "dash": "dot"},
        ),
    ]  # fmt: skip
