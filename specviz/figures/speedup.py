"""Speedup against speculation length: marks with whiskers are measured, dotted lines are theory, 1 is break-even.

Takes the view model only. Classic trace types and attributes, so that the plotly.js inside Gradio draws them too.
"""

from __future__ import annotations

import plotly.graph_objects as go

from specviz.figures.style import MARKS, SERIES, TEXT, style
from specviz.views.speedup import Curve, Level, Series, SpeedupView

HEIGHT = 440


def speedup_figure(view: SpeedupView) -> go.Figure:
    """The chart of a sweep; axes and break-even line only while nothing is measured yet."""
    figure = go.Figure()
    for place, series in enumerate(view.series):
        colour, mark = SERIES[place % len(SERIES)], MARKS[place % len(MARKS)]
        figure.add_trace(_measured(series, colour, mark))
        if series.theory is not None:
            figure.add_trace(_theory(series.label, series.theory, colour))
    for place, level in enumerate(view.levels, start=len(view.series)):
        figure.add_trace(_level(level, _lengths(view), SERIES[place % len(SERIES)]))
    figure.add_hline(
        y=1.0,
        line={"color": TEXT, "width": 1.5, "dash": "dash"},
        annotation={"text": "plain decoding = 1", "font": {"color": TEXT, "size": 12}},
        annotation_position="top right",
    )
    figure.update_xaxes(title="speculation length γ", dtick=1, range=[0.5, max(_lengths(view)) + 0.5])
    figure.update_yaxes(title="speedup over plain decoding (×)", rangemode="tozero", range=_range(view))
    return style(figure, HEIGHT)


def _lengths(view: SpeedupView) -> list[int]:
    return sorted({point.gamma for series in view.series for point in series.points}) or [1, 8]


def _range(view: SpeedupView) -> list[float]:
    tops = [point.high for series in view.series for point in series.points]
    tops += [level.high for level in view.levels]
    tops += [speedup for series in view.series if series.theory for speedup in series.theory.speedups]
    return [0.0, max([1.25, *tops]) * 1.08]


def _measured(series: Series, colour: str, mark: str) -> go.Scatter:
    return go.Scatter(
        x=[point.gamma for point in series.points],
        y=[point.median for point in series.points],
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [point.high - point.median for point in series.points],
            "arrayminus": [point.median - point.low for point in series.points],
            "thickness": 1.5,
            "width": 5,
        },
        mode="lines+markers",
        name=f"{series.label}, measured",
        text=[point.explanation for point in series.points],
        hovertemplate="γ = %{x}: %{y:.2f}× measured<br>%{text}<extra></extra>",
        line={"color": colour, "width": 2},
        marker={"symbol": mark, "size": 9, "color": colour},
    )


def _theory(label: str, curve: Curve, colour: str) -> go.Scatter:
    return go.Scatter(
        x=list(curve.gammas),
        y=list(curve.speedups),
        mode="lines",
        name=f"{label}, theory",
        hovertemplate=f"γ = %{{x}}: %{{y:.2f}}× in theory<br>{curve.explanation}<extra></extra>",
        line={"color": colour, "width": 1.5, "dash": "dot"},
    )


def _level(level: Level, lengths: list[int], colour: str) -> go.Scatter:
    """A tree has no γ of its own: its median stands as a level line over the whole axis."""
    spread = f"quartiles {level.low:.2f} to {level.high:.2f}"
    return go.Scatter(
        x=[lengths[0] - 0.4, lengths[-1] + 0.4],
        y=[level.median, level.median],
        mode="lines",
        name=f"{level.label}, measured",
        hovertemplate=f"%{{y:.2f}}× measured ({spread})<br>{level.explanation}<extra></extra>",
        line={"color": colour, "width": 2, "dash": "longdash"},
    )
