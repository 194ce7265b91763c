"""The alignment study as a chart: a mark per alignment, a dashed line where its drafter began.

Takes the view model only. Names come from the shipped file and are escaped all the same.
"""

from __future__ import annotations

from html import escape

import plotly.graph_objects as go

from specviz.app.alignment.view import AlignmentRow, AlignmentView
from specviz.app.look.style import MARKS, SERIES, TEXT, style

HEIGHT = 460
LEGEND_LINE = 22


def alignment_figure(view: AlignmentView) -> go.Figure:
    """Losses from left to right, one series per drafter, texts and domain."""
    figure = go.Figure()
    losses = list(dict.fromkeys(escape(row.loss) for row in view.rows if row.loss))
    for row in (row for row in view.rows if not row.loss):
        figure.add_trace(
            go.Scatter(
                x=[losses[0], losses[-1]] if losses else [], y=[row.value, row.value] if losses else [], mode="lines",
                name=f"{escape(row.start)} before", line={"color": TEXT, "width": 1.5, "dash": "dash"},
                hovertemplate=f"{escape(row.start)} before: %{{y:.3f}}<extra></extra>",
            )
        )  # fmt: skip
    groups = dict.fromkeys(_group(row) for row in view.rows if row.loss)
    for place, group in enumerate(groups):
        figure.add_trace(_series(group, [row for row in view.rows if row.loss and _group(row) == group], place))
    figure.update_xaxes(title="loss", categoryorder="array", categoryarray=losses, tickangle=-40)
    figure.update_yaxes(title=f"{view.number.title}, T = {view.temperature}")
    style(figure, HEIGHT + LEGEND_LINE * len(groups))
    figure.update_layout(legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"})
    return figure


def _group(row: AlignmentRow) -> str:
    domain = "" if row.aligned_on == "both" else f", {row.aligned_on} alone"
    return f"{row.start} on {row.texts} text{domain}"


def _series(name: str, rows: list[AlignmentRow], place: int) -> go.Scatter:
    return go.Scatter(
        x=[escape(row.loss) for row in rows],
        y=[row.value for row in rows],
        mode="markers",
        name=escape(name),
        customdata=[row.change for row in rows],
        hovertemplate=f"{escape(name)}<br>%{{x}}: %{{y:.3f}} (%{{customdata:+.3f}})<extra></extra>",
        marker={"symbol": MARKS[place % len(MARKS)], "size": 9, "color": SERIES[place % len(SERIES)]},
    )
