"""Lanes on one clock: a bar for each pass, its colour what came of it, a cross where drafted tokens were thrown away.

Takes plain data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

import plotly.graph_objects as go

from specviz.app.look.style import SERIES, legend_above, style
from specviz.protocol.lanes import Span
from specviz.studies.lanes.result import Lane, LanesChart

LINE = 34
"""pixels of height for each lane"""
MARGIN = 130
ROLL_BACK = "roll back"


def lanes_figure(chart: LanesChart) -> go.Figure:
    """Time in milliseconds to the right, the first method on top; where a lane is empty it waits."""
    figure = go.Figure()
    for name, colour, pattern, wanted in KINDS:
        bars = [(lane, span) for lane in chart.lanes for span in lane.spans if wanted(span)]
        figure.add_trace(
            go.Bar(
                y=[_label(lane) for lane, _ in bars],
                x=[1000 * (span.end_s - span.start_s) for _, span in bars],
                base=[1000 * span.start_s for _, span in bars],
                orientation="h",
                name=name,
                marker={"color": colour, "line": {"width": 0.5, "color": "rgba(0,0,0,0.35)"},
                        "pattern": {"shape": pattern, "solidity": 0.35}},
                hovertext=[_hover(lane, span) for lane, span in bars],
                hoverinfo="text",
            )
        )  # fmt: skip
    discarded = [(lane, span) for lane in chart.lanes for span in lane.spans if span.what == ROLL_BACK]
    figure.add_trace(
        go.Scatter(
            y=[_label(lane) for lane, _ in discarded],
            x=[1000 * span.start_s for _, span in discarded],
            mode="markers",
            name="drafts thrown away",
            marker={"symbol": "x-thin", "size": 7, "line": {"width": 2, "color": SERIES[1]}},
            hovertext=[f"{span.tokens} drafted tokens thrown away" for _, span in discarded],
            hoverinfo="text",
        )
    )
    labels = [_label(lane) for lane in chart.lanes]
    figure.update_yaxes(categoryorder="array", categoryarray=labels[::-1], showgrid=False)
    figure.update_xaxes(title="ms since the prompt was read", range=[0, 1000 * chart.seconds])
    style(figure, LINE * len(labels) + MARGIN)
    figure.update_layout(barmode="overlay", bargap=0.3)
    return legend_above(figure)


KINDS: Sequence[tuple[str, str, str, Callable[[Span], bool]]] = (
    ("drafting", SERIES[0], "", lambda span: span.what == "draft"),
    ("verifying, all accepted", SERIES[2], "", lambda span: span.what == "verify" and span.accepted == span.tokens),
    ("verifying, some rejected", SERIES[1], "/", lambda span: span.what == "verify" and span.accepted < span.tokens),
)


def _label(lane: Lane) -> str:
    mark = " (simulated)" if lane.source == "simulated" else ""
    return escape(f"{lane.name}{mark} · {lane.lane}")


def _hover(lane: Lane, span: Span) -> str:
    took = 1000 * (span.end_s - span.start_s)
    if span.what == "draft":
        said = f"drafts {span.tokens} token{'s' * (span.tokens != 1)}"
    else:
        said = f"verifies {span.tokens}, accepts {span.accepted}, gives {span.kept}"
    return f"<b>{_label(lane)}</b><br>{said}<br>{took:.1f} ms"
