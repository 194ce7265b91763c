"""The What-if tab's charts: modelled speedup against γ, and over acceptance and γ together. Lines are dotted: theory.

Takes the view model only. Classic trace types, so that the plotly.js inside Gradio draws them too.
"""

from __future__ import annotations

from html import escape
from math import log2

import plotly.graph_objects as go

from specviz.app.look.style import GRID, SERIES, TEXT, style
from specviz.app.what_if.view import HEAT_ALPHAS, LONGEST, Number, SpeedupLine, WhatIfView, draft_text
from specviz.theory.what_if import ChainPoint

HEIGHT = 420
FORMULA = "tokens per round ÷ (round / t(1)) = %{customdata[0]:.3f} ÷ %{customdata[1]:.3f}"
HOVER = f"γ = %{{x}}: %{{y:.2f}}× modelled<br>{FORMULA}"
REACH = 2.0
"""doublings up and down that the heat map's colours tell apart"""


def speedup_by_gamma(view: WhatIfView) -> go.Figure:
    """The chosen acceptance in colour, others faint, the fastest chain and the chosen draft marked."""
    figure = go.Figure()
    for line in view.others:
        figure.add_trace(_line(line, GRID, 1.5, False))
        figure.add_annotation(
            x=LONGEST, y=line.points[-1].speedup, text=line.label, showarrow=False, xanchor="left", font={"size": 13}
        )
    figure.add_trace(_line(view.chosen, SERIES[0], 2.5, True))
    figure.add_trace(_mark(view.best, view.chosen.points[view.best], f"fastest chain: γ = {view.best}", "star", 0))
    if view.shape.is_chain:
        name = f"chosen: {draft_text(view.shape)}"
        figure.add_trace(_mark(view.shape.depth, view.point, name, "circle-open", 1))
    else:
        figure.add_trace(_level(view))
    figure.add_hline(y=1.0, line={"color": TEXT, "width": 1.5, "dash": "dash"})
    figure.update_xaxes(title="speculation length γ (0: plain decoding)", dtick=2, range=[-0.4, LONGEST + 1.6])
    figure.update_yaxes(title="modelled, × plain decoding (dashed: 1)", rangemode="tozero")
    style(figure, HEIGHT)
    return figure.update_layout(legend={"y": -0.32}, margin={"b": 120})


def _line(line: SpeedupLine, colour: str, width: float, legend: bool) -> go.Scatter:
    return go.Scatter(
        x=list(range(len(line.points))),
        y=[point.speedup for point in line.points],
        customdata=[[point.tokens, point.cost] for point in line.points],
        mode="lines",
        name=f"{line.label}, modelled",
        hovertemplate=f"{HOVER}<br>{escape(line.label)}<extra></extra>",
        line={"color": colour, "width": width, "dash": "dot"},
        showlegend=legend,
    )


def _mark(gamma: int, point: ChainPoint, name: str, symbol: str, colour: int) -> go.Scatter:
    return go.Scatter(
        x=[gamma], y=[point.speedup], customdata=[[point.tokens, point.cost]], mode="markers", name=name,
        hovertemplate=f"{HOVER}<extra></extra>",
        marker={"symbol": symbol, "size": 13, "color": SERIES[colour], "line": {"width": 2.5, "color": SERIES[colour]}},
    )  # fmt: skip


def _level(view: WhatIfView) -> go.Scatter:
    """A tree has no γ of its own: it stands as a level line over the whole axis."""
    return go.Scatter(
        x=[0, LONGEST], y=[view.point.speedup] * 2, customdata=[[view.point.tokens, view.point.cost]] * 2,
        mode="lines", name=f"{draft_text(view.shape)}, modelled",
        hovertemplate=f"%{{y:.2f}}× modelled<br>{FORMULA}<extra></extra>",
        line={"color": SERIES[1], "width": 2, "dash": "longdash"},
    )  # fmt: skip


def speedup_by_alpha_and_gamma(view: WhatIfView) -> go.Figure:
    """Heat in doublings: red is slower than plain decoding, blue faster, the line between them break-even."""
    grid = {"x": list(HEAT_ALPHAS), "y": list(range(1, LONGEST + 1))}
    doublings = [[log2(point.speedup) for point in row] for row in view.heat]
    ticks = [-2, -1, 0, 1, 2]
    heat = go.Heatmap(
        **grid, z=doublings, colorscale="RdBu", zmin=-REACH, zmax=REACH,
        customdata=[[[point.tokens, point.cost, point.speedup] for point in row] for row in view.heat],
        colorbar={"thickness": 12, "tickvals": ticks, "ticktext": [f"{2.0**tick:g}×" for tick in ticks]},
        hovertemplate=f"α = %{{x}}, γ = %{{y}}: %{{customdata[2]:.2f}}× modelled<br>{FORMULA}<extra></extra>",
    )  # fmt: skip
    tie = go.Contour(
        **grid, z=doublings, contours={"start": 0.0, "end": 0.0, "size": 1.0, "coloring": "none"}, showscale=False,
        line={"color": TEXT, "width": 2}, hoverinfo="skip", name="break-even",
    )  # fmt: skip
    figure = go.Figure([heat, tie])
    figure.update_xaxes(title="acceptance α", dtick=0.2)
    figure.update_yaxes(title="speculation length γ", dtick=2)
    return style(figure, HEIGHT)


def number_list(numbers: tuple[Number, ...]) -> str:
    """The numbers with their arithmetic under them, as HTML; the same on hover."""
    return f'<dl class="sv-numbers" aria-label="modelled numbers">{"".join(map(_number, numbers))}</dl>'


def _number(number: Number) -> str:
    arithmetic = escape(number.arithmetic, quote=True)
    return (
        f'<div title="{arithmetic}"><dt>{escape(number.name)}</dt><dd>{escape(number.value)}</dd>'
        f'<dd class="sv-arithmetic">{arithmetic}</dd></div>'
    )
