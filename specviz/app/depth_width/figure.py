"""Depth against width as a chart: a line for each family, measured points beside it.

Takes the view model only. Names come from the shipped file and are escaped all the same.
"""

from __future__ import annotations

from html import escape

import plotly.graph_objects as go

from specviz.app.look.style import MARKS, SERIES, TEXT, legend_above, style
from specviz.studies.depth_width.picture import QUALITY, SHARE, THROUGHPUT, DepthWidthView, Line

HEIGHT = 420
SECOND = 2
"""marks further are those of the second set"""
ASIDE = 0.05
"""by which measured points stand beside their layers, so that their intervals do not hide the modelled ones"""


def depth_width_figure(view: DepthWidthView) -> go.Figure:
    """Layers doubling from left to right, or perplexity; plain decoding as a dotted line where throughput is drawn."""
    quality = view.number is QUALITY
    names = list(dict.fromkeys(one.family for one in view.lines))
    figure = go.Figure([_line(one, names.index(one.family), quality) for one in view.lines])
    if quality:
        figure.update_xaxes(title=view.number.across)
    else:
        layers = [point.across for point in view.lines[0].points] if view.lines else []
        figure.update_xaxes(
            title=view.number.across, type="log", tickvals=layers, ticktext=[f"{one:.0f}" for one in layers]
        )
    figure.update_yaxes(title=view.number.axis, rangemode="tozero")
    if view.number is SHARE:
        figure.update_yaxes(tickformat=".0%")
    if view.number is THROUGHPUT and any(one.measured for one in view.lines):
        figure.add_hline(
            y=view.plain.value, line={"dash": "dot", "color": TEXT, "width": 1}, annotation_text="plain, measured"
        )
    return legend_above(style(figure, HEIGHT))


def _line(line: Line, place: int, quality: bool) -> go.Scatter:
    """Filled marks on a line: modelled or replayed; hollow marks alone, a little aside: measured. A family has a
    colour; of its second set the marks are others and the line is dotted. Numbers beside marks are layers."""
    points = line.points
    error = {
        "type": "data",
        "array": [point.high - point.value for point in points],
        "arrayminus": [point.value - point.low for point in points],
        "thickness": 1,
        "width": 3,
    }
    aside = (1 - ASIDE if place % 2 else 1 + ASIDE) if line.measured else 1.0
    mark, colour = MARKS[(place + SECOND * line.second) % len(MARKS)], SERIES[place % len(SERIES)]
    return go.Scatter(
        x=[point.across * aside for point in points],
        y=[point.value for point in points],
        customdata=[[escape(point.name)] for point in points],
        text=[escape(point.name.partition("x")[0]) for point in points],
        textposition=("top center", "bottom center")[place % 2],
        name=escape(line.name),
        mode="markers+text" if quality else "markers" if line.measured else "lines+markers",
        error_y=error if any(point.high > point.low for point in points) else None,
        line={"color": colour, "width": 2, "dash": "dot" if line.second else "solid"},
        marker={
            "symbol": f"{mark}-open" if line.measured else mark,
            "size": 11 if line.measured else 8,
            "color": colour,
        },
        hovertemplate=f"{escape(line.name)}<br>%{{customdata[0]}}: %{{y:.3g}}<extra></extra>",
    )
