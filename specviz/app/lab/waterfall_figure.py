"""The speedup waterfall: per drafter five bars side by side, the middle three hanging between their levels."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from specviz.app.lab.figure_parts import HEIGHT, break_even, hover, label
from specviz.app.lab.waterfall import STEPS, waterfalls
from specviz.app.parts.style import SERIES, style
from specviz.protocol.sweeps.points import SweepPoint

COLOURS = (SERIES[0], SERIES[1], SERIES[4], SERIES[3], SERIES[2])
MOST = 8
"""drafters drawn; more would be too thin to point at"""


def figure(points: Sequence[SweepPoint]) -> go.Figure | None:
    found = waterfalls(points, MOST)
    if not found:
        return None
    drawn = go.Figure()
    for place, (name, colour) in enumerate(zip(STEPS, COLOURS, strict=True)):
        steps = [one.steps[place] for one in found]
        drawn.add_trace(
            go.Bar(
                x=[label(one.name) for one in found],
                base=[step.before for step in steps],
                y=[step.after - step.before for step in steps],
                name=name,
                hovertext=[
                    hover(f"{one.name}: {name}", [_level(step.before, step.after), *step.explanation])
                    for one, step in zip(found, steps, strict=True)
                ],
                hoverinfo="text",
                marker={"color": colour},
            )
        )
    break_even(drawn)
    drawn.update_layout(barmode="group", bargap=0.2, bargroupgap=0)
    drawn.update_yaxes(rangemode="tozero")
    return style(drawn, HEIGHT)


def _level(before: float, after: float) -> str:
    return f"{after:.2f}×" if before == 0 else f"{before:.2f}× → {after:.2f}×"
