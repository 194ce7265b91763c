"""Wasted candidates against target passes: one mark per case, one look per stop policy, a line along the front."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from specviz.app.lab.economy import Mark, marks
from specviz.app.lab.figure_parts import HEIGHT, hover, label, look
from specviz.app.parts.style import TEXT, style
from specviz.protocol.sweeps.points import SweepPoint


def figure(points: Sequence[SweepPoint]) -> go.Figure | None:
    found = marks(points)
    if not found:
        return None
    front = sorted((mark for mark in found if mark.on_front), key=lambda mark: mark.wasted)
    drawn = go.Figure(
        go.Scatter(
            x=[mark.wasted for mark in front], y=[mark.passes for mark in front], mode="lines", name="front",
            hoverinfo="skip", line={"color": TEXT, "width": 1.5, "dash": "dash"},
        )
    )  # fmt: skip
    for place, policy in enumerate(dict.fromkeys(mark.stopping for mark in found)):
        own = [mark for mark in found if mark.stopping == policy]
        drawn.add_trace(_policy(policy, own, *look(place)))
    drawn.update_xaxes(title="wasted candidates per output token", rangemode="tozero")
    drawn.update_yaxes(title="target passes per output token", rangemode="tozero")
    return style(drawn, HEIGHT)


def _policy(policy: str, own: Sequence[Mark], colour: str, mark: str) -> go.Scatter:
    """One look per policy; the marks on the front have their names beside them."""
    return go.Scatter(
        x=[one.wasted for one in own],
        y=[one.passes for one in own],
        mode="markers+text",
        name=f"stop policy {label(policy)}",
        text=[label(one.name) if one.on_front else "" for one in own],
        textposition="top center",
        textfont={"size": 11, "color": TEXT},
        hovertext=[hover(one.name, one.explanation) for one in own],
        hoverinfo="text",
        marker={"symbol": mark, "size": 11, "color": colour},
    )
