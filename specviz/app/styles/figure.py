"""What a right answer costs and how often candidates are accepted, by style, a mark per drafter. Takes a view."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from specviz.app.look.style import MARKS, SERIES, legend_above, style
from specviz.app.styles.view import StylesView
from specviz.protocol.styles import DIRECT, PLAIN, TITLES
from specviz.studies.styles.numbers import NO_ANSWER, StyleRow

HEIGHT = 540
WIDTH = 0.5
"""over which the drafters of one style stand beside each other; styles are 1 apart"""
End = tuple[float, float, float]
"""value, low, high"""


def styles_figure(view: StylesView) -> go.Figure:
    """Above seconds per correct answer, below α; both with intervals."""
    group = view.group
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.07, row_heights=[0.6, 0.4])
    for place, drafter in enumerate(group.drafters):
        own = [(spot, one) for spot, name in enumerate(group.styles) if (one := group.row(name, drafter)) is not None]
        shift = WIDTH * (place / max(1, len(group.drafters) - 1) - 0.5)
        for panel, value, unit in ((1, _cost, "s per correct answer"), (2, _alpha, "accepted")):
            figure.add_trace(_marks(own, value, unit, place, shift, panel == 1), row=panel, col=1)
    plain = [(spot, row) for spot, name in enumerate(group.styles) if (row := group.row(name, PLAIN)) is not None]
    for spot, row in plain:
        if row.cost is None:
            figure.add_annotation(x=spot, y=0, text=NO_ANSWER, textangle=-90, yanchor="bottom", showarrow=False,
                                  row=1, col=1)  # fmt: skip
    figure.update_xaxes(tickvals=[spot for spot, _ in plain], ticktext=[_label(row) for _, row in plain],
                        range=[-0.6, len(group.styles) - 0.4])  # fmt: skip
    style(figure, HEIGHT)
    figure.update_yaxes(title="s per correct answer", rangemode="tozero", row=1, col=1)
    figure.update_yaxes(title="α", range=[0, 1.02], row=2, col=1)
    return legend_above(figure)


def _label(row: StyleRow) -> str:
    """The style, and below it how many texts have its form."""
    return TITLES[row.style] + ("<br> " if row.style == DIRECT else f"<br>{row.followed.hits}/{row.followed.of}")


def _marks(
    own: list[tuple[int, StyleRow]], value: Callable[[StyleRow], End | None], unit: str, place: int, shift: float,
    legend: bool,
) -> go.Scatter:  # fmt: skip
    found = [(spot, row, end) for spot, row in own if (end := value(row)) is not None]
    colour, name = SERIES[place % len(SERIES)], escape(own[0][1].drafter)
    return go.Scatter(
        x=[spot + shift for spot, _, _ in found],
        y=[middle for _, _, (middle, _, _) in found],
        error_y={
            "type": "data", "symmetric": False, "thickness": 1.5, "width": 3,
            "array": [high - middle for _, _, (middle, _, high) in found],
            "arrayminus": [middle - low for _, _, (middle, low, _) in found],
        },
        mode="markers", name="plain decoding" if name == PLAIN else name, legendgroup=name, showlegend=legend,
        marker={"symbol": MARKS[place % len(MARKS)], "size": 9, "color": colour},
        hovertext=[
            f"<b>{TITLES[row.style]}, {name}</b><br>{middle:.2f} {unit}<br>{row.tokens.value:.0f} tokens, "
            f"{row.accuracy.hits} of {row.accuracy.of} right"
            for _, row, (middle, _, _) in found
        ],
        hoverinfo="text",
    )  # fmt: skip


def _cost(row: StyleRow) -> End | None:
    """An interval without an upper end is drawn downwards alone: the table says that it is open."""
    if row.cost is None:
        return None
    return row.cost.value, row.cost.low, row.cost.value if row.cost.high is None else row.cost.high


def _alpha(row: StyleRow) -> End | None:
    return row.alpha
