"""What the charts of the lab share: the look of a series, text for hovers, and a chart that says why it is empty.

Names and options may come from anywhere, and Plotly reads markup in text: all of it goes through `html.escape` here.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape as escape_html
from textwrap import wrap
from typing import Protocol

import plotly.graph_objects as go

from specviz.app.lab.leading import DRAWN, PRESS
from specviz.app.look.style import MARKS, SERIES, TEXT, legend_below, style

HEIGHT = 460
HOVER_WIDTH = 46
"""characters per line: a hover must fit a phone"""
NAMED = 3
"""of more settings without a place their number is told, and their names under the pointer"""
ROW, FRAME = 20, 150
"""pixels: a name in a line of its own, and all that is not lines"""


def escape(text: str) -> str:
    """Plotly knows tags and character entities; a quotation mark means nothing to it."""
    return escape_html(text, quote=False)


def look(place: int) -> tuple[str, str]:
    """Colour and mark of the series at `place`; no two of the first 36 agree in both."""
    return SERIES[place % len(SERIES)], MARKS[(place + place // len(SERIES)) % len(MARKS)]


def label(text: str) -> str:
    """A name for a legend or an axis."""
    return escape(text)


def hover(name: str, lines: Sequence[str]) -> str:
    """A heading and sentences, wrapped."""
    wrapped = [part for line in lines for part in wrap(line, HOVER_WIDTH, subsequent_indent="  ") or [""]]
    return "<br>".join([f"<b>{escape(name)}</b>", *map(escape, wrapped)])


def sentence(text: str) -> go.Figure:
    """No axes, only why there is nothing to see."""
    figure = go.Figure()
    figure.add_annotation(
        text="<br>".join(map(escape, wrap(text, 48))), showarrow=False, x=0.5, y=0.5, xref="paper", yref="paper",
        font={"size": 14, "color": TEXT},
    )  # fmt: skip
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    return style(figure, HEIGHT)


def left_out(figure: go.Figure, names: Sequence[str], reason: str) -> None:
    """Say above the chart what it has no place for; nothing where it has a place for all."""
    if not names:
        return
    told = ", ".join(names) if len(names) <= NAMED else f"{len(names)} settings"
    lines = wrap(f"not drawn: {told} ({reason})", HOVER_WIDTH)
    figure.add_annotation(
        text="<br>".join(map(escape, lines)), hovertext=hover("not drawn", [", ".join(names)]),
        showarrow=False, align="left", x=0, y=1, xref="paper", yref="paper", xanchor="left", yanchor="bottom",
        font={"size": 12, "color": TEXT},
    )  # fmt: skip
    figure.update_layout(margin={"t": 12 + 16 * len(lines)})


def draw_few(figure: go.Figure, few: Sequence[str]) -> go.Figure:
    """Draw these series alone, all where none is named; a press of its name draws another. Of a series are the traces
    whose legend group is its label."""
    if not few:
        return figure
    shown = set(map(label, few))
    for trace in figure.data:
        if trace.legendgroup and trace.legendgroup not in shown:
            trace.visible = "legendonly"
    return legend_below(figure, f"{DRAWN}<br>{PRESS}", sum(trace.showlegend is not False for trace in figure.data))


def in_rows(figure: go.Figure, rows: int) -> go.Figure:
    """Names one below the other, none of them left out: the figure grows with them."""
    figure.update_yaxes(dtick=1, tickfont={"size": 12})
    return figure.update_layout(height=max(HEIGHT, FRAME + ROW * rows))


def break_even(figure: go.Figure) -> None:
    """The line of plain decoding in a chart whose vertical axis is a speedup; its words are the axis title's, because
    bars leave no room for them."""
    figure.add_hline(y=1.0, line={"color": TEXT, "width": 1.5, "dash": "dash"})
    figure.update_yaxes(title="× plain decoding (dashed: 1)")


class Expected(Protocol):
    """A case with the speedup that some arithmetic gives it, and the one that was measured."""

    @property
    def name(self) -> str: ...
    @property
    def series(self) -> str: ...
    @property
    def expected(self) -> float: ...
    @property
    def measured(self) -> float: ...
    @property
    def explanation(self) -> tuple[str, ...]: ...


def against_measured(found: Sequence[Expected], word: str, title: str) -> go.Figure:
    """Measured speedup over the expected one, whose word stands at the line of "both are equal"."""
    top = 1.1 * max(max(expected.expected, expected.measured) for expected in found)
    drawn = go.Figure(
        go.Scatter(
            x=[0, top], y=[0, top], mode="lines", name=word, hoverinfo="skip",
            line={"color": TEXT, "width": 1.5, "dash": "dash"},
        )
    )  # fmt: skip
    for index, series in enumerate(dict.fromkeys(expected.series for expected in found)):
        own, (colour, mark) = [expected for expected in found if expected.series == series], look(index)
        drawn.add_trace(
            go.Scatter(
                x=[one.expected for one in own],
                y=[one.measured for one in own],
                mode="markers",
                name=label(series),
                legendgroup=label(series),
                hovertext=[hover(one.name, one.explanation) for one in own],
                hoverinfo="text",
                marker={"symbol": mark, "size": 11, "color": colour},
            )
        )
    drawn.update_xaxes(title=title, range=[0, top])
    drawn.update_yaxes(title="measured speedup (×)", range=[0, top])
    return style(drawn, HEIGHT)
