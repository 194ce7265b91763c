"""The study of long contexts as a chart: one line a drafter, the context doubling from left to right.

Takes the view model only. Names come from the shipped file and are escaped all the same.
"""

from __future__ import annotations

from html import escape
from math import log10

import plotly.graph_objects as go

from specviz.app.look.style import MARKS, SERIES, TEXT, style
from specviz.studies.long_context.result import ACCEPTANCE, BEYOND, Line, LongContextView

HEIGHT = 440


def long_context_figure(view: LongContextView) -> go.Figure:
    """Both axes doubling where costs are drawn, so that what grows with the text is a slope and what does not is
    flat."""
    figure = go.Figure([_line(one, place) for place, one in enumerate(view.lines)])
    contexts = view.lines[0].contexts if view.lines else ()
    figure.update_xaxes(
        title="tokens of the text", type="log", tickvals=list(contexts), ticktext=[f"{one:,.0f}" for one in contexts]
    )
    figure.update_yaxes(
        title=view.number.axis, **({} if view.number in (ACCEPTANCE, BEYOND) else {"type": "log", "dtick": 1})
    )
    if view.number is BEYOND:
        figure.update_yaxes(rangemode="tozero")  # a hundredth is a hundredth
    if view.trained_context is not None:
        figure.add_vline(x=view.trained_context, line={"dash": "dot", "width": 1, "color": TEXT})
        figure.add_annotation(
            x=log10(view.trained_context), y=0, yref="paper", text="the target's context", showarrow=False,
            xanchor="left", yanchor="bottom", xshift=4, font={"color": TEXT},
        )  # fmt: skip
    style(figure, HEIGHT)
    return figure.update_layout(legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"})


def _line(line: Line, place: int) -> go.Scatter:
    name = escape(line.name)
    error = None
    if line.low:
        above = [high - value for high, value in zip(line.high, line.values, strict=True)]
        below = [value - low for low, value in zip(line.low, line.values, strict=True)]
        error = {"type": "data", "array": above, "arrayminus": below, "thickness": 1, "width": 3}
    return go.Scatter(
        x=line.contexts,
        y=line.values,
        name=name,
        mode="lines+markers",
        error_y=error,
        line={"color": SERIES[place % len(SERIES)], "width": 2},
        marker={"symbol": MARKS[place % len(MARKS)], "size": 8},
        hovertemplate=f"{name}<br>%{{x:,.0f}} tokens: %{{y:.3g}}<extra></extra>",
    )
