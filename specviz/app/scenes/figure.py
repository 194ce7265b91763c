"""Acceptance per drafter as a chart: two bars each, grammar and what the picture decides, with their intervals.

Takes the rows only.
"""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from specviz.app.look.style import SERIES, legend_above, style
from specviz.protocol.sweeps.intervals import Estimate
from specviz.studies.captions.result import DRAFTERS, CaptionRow

HEIGHT = 340


def captions_figure(rows: Sequence[CaptionRow]) -> go.Figure:
    """Drafters from left to right, shares upwards."""
    figure = go.Figure()
    for name, colour, pattern, values in (
        ("grammar", SERIES[0], "", [row.grammar for row in rows]),
        ("decided by the picture", SERIES[1], "/", [row.grounded for row in rows]),
    ):
        figure.add_trace(_bars(name, colour, pattern, rows, values))
    figure.update_yaxes(title="accepted, of judged", range=[0, 1.02], tickformat=".0%")
    style(figure, HEIGHT)
    figure.update_layout(barmode="group", bargap=0.35)
    return legend_above(figure)


def _bars(
    name: str, colour: str, pattern: str, rows: Sequence[CaptionRow], values: Sequence[Estimate | None]
) -> go.Bar:
    known = [(row, value) for row, value in zip(rows, values, strict=True) if value is not None]
    return go.Bar(
        x=[DRAFTERS[row.drafter] for row, _ in known],
        y=[value.value for _, value in known],
        name=name,
        error_y={
            "type": "data",
            "array": [value.high - value.value for _, value in known],
            "arrayminus": [value.value - value.low for _, value in known],
        },
        marker={"color": colour, "pattern": {"shape": pattern, "solidity": 0.35}},
        hovertemplate=f"%{{x}}<br>{name}: %{{y:.1%}}<extra></extra>",
    )
