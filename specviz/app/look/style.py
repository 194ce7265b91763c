"""One look for every Plotly figure: transparent, mid-grey text, fixed height, readable in light and dark.

The page does not tell a chart whether it is dark (Gradio's plot gives no such event), so every colour here must stand
on both.
"""

from __future__ import annotations

import plotly.graph_objects as go

TEXT = "rgb(125, 130, 140)"
GRID = "rgba(128, 128, 128, 0.25)"
HOVER = "rgb(44, 52, 64)"
"""behind the white text of every hover: the colour of what is pointed at may be too pale for it"""
SERIES = ("#1a84bd", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#7f7f7f")
"""Okabe-Ito hues, tuned to keep 3:1 contrast on white and on near-black; one per drafter, in the order shown"""
MARKS = ("circle", "square", "diamond", "triangle-up", "cross", "x")
"""colour is never the only sign: each series has its own mark too"""

LEGEND_LINE = 14
"""pixels that a figure grows by for each name in a legend at its foot, of which two stand in a line on a phone"""
AT_FOOT = {"yref": "container", "y": 0.0, "yanchor": "bottom"}
"""a legend at the lower edge of the figure, however tall the chart is"""
LOSS_GAIN = ("rgba(213, 94, 0, 0.75)", "rgba(128, 128, 128, 0.12)", "rgba(26, 132, 189, 0.75)")
"""slower than the baseline, equal, faster: the second and the first of the series, with nothing between"""


def legend_above(figure: go.Figure) -> go.Figure:
    """For a chart with names below its axis: on a phone they stand upright, and a legend there would lie over them."""
    return figure.update_layout(legend={"x": 0, "y": 1.02, "yanchor": "bottom"}, margin={"t": 8, "b": 48})


def legend_below(figure: go.Figure, title: str, names: int) -> go.Figure:
    """For a legend of many names: at the foot, so that it moves the chart out of no screen; the figure grows by it."""
    legend = {"title": {"text": title, "side": "top", "font": {"size": 13}}, **AT_FOOT}
    return figure.update_layout(legend=legend, margin={"t": 8}, height=figure.layout.height + LEGEND_LINE * names)


def style(figure: go.Figure, height: int = 420) -> go.Figure:
    """Apply the common look in place and return the figure. `height` in pixels, fixed so that nothing jumps."""
    axis = {"gridcolor": GRID, "zerolinecolor": GRID, "linecolor": GRID, "automargin": True}
    figure.update_layout(
        template="none",
        height=height,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": TEXT, "size": 13, "family": "IBM Plex Sans, ui-sans-serif, system-ui, sans-serif"},
        margin={"l": 56, "r": 16, "t": 16, "b": 96},
        legend={"orientation": "h", "x": 0, "y": -0.24, "yanchor": "top", "bgcolor": "rgba(0,0,0,0)"},
        hoverlabel={"font": {"size": 13}, "bgcolor": HOVER},
    )
    figure.update_xaxes(**axis)
    figure.update_yaxes(**axis)
    return figure
