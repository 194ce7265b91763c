"""Charts of studies, drawn from data: lines and bars, and the lanes of several methods on one clock.

Names come from shipped files and are escaped all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import singledispatch
from html import escape
from itertools import zip_longest
from math import log10
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from specviz.app.look.style import MARKS, SERIES, TEXT, legend_above, style
from specviz.protocol.lanes import Span
from specviz.studies.chart import Axis, Bars, Chart, Note, Series
from specviz.studies.lanes.result import Lane, LanesChart

LEGEND_LINE = 22
"""pixels by which a chart grows for each name above it"""


@singledispatch
def draw(chart: Any) -> go.Figure:
    """The figure of a chart; for data of another kind `draw.register` has a function of its own."""
    raise TypeError(f"nothing draws {type(chart).__name__}; register a function with `draw.register`.")


@draw.register
def _(chart: Chart) -> go.Figure:
    several = len(chart.panels) > 1
    figure = _panels(chart) if several else go.Figure()
    rows = [{"row": number, "col": 1} if several else {} for number in range(1, len(chart.panels) + 1)]
    for side_by_side in zip_longest(*(panel.series for panel in chart.panels)):  # the legend is in this order
        for series, where in zip(side_by_side, rows, strict=True):
            if series is not None:
                figure.add_trace(_bars(series) if isinstance(series, Bars) else _series(series), **where)
    for panel, where in zip(chart.panels, rows, strict=True):
        for note in panel.notes:
            figure.add_annotation(_note(note), **where)
    _lines(figure, chart)
    figure.update_xaxes(_axis(chart.x))
    names = [series for panel in chart.panels for series in panel.series]
    grown = LEGEND_LINE * sum(not getattr(series, "grey", False) for series in names)
    style(figure, chart.height + (grown if chart.legend == "grown" else 0))
    if any(isinstance(series, Bars) for series in names):
        figure.update_layout(barmode="group", bargap=0.35)
    if chart.x.title:
        figure.update_xaxes(title=escape(chart.x.title, quote=False), **rows[-1])
    for panel, where in zip(chart.panels, rows, strict=True):
        figure.update_yaxes(_axis(panel.y) | {"title": escape(panel.y.title, quote=False)}, **where)
    if chart.legend == "below":
        return figure
    if chart.legend == "above":
        return legend_above(figure)
    return figure.update_layout(legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"})


def _panels(chart: Chart) -> go.Figure:
    shares = [panel.share for panel in chart.panels]
    return make_subplots(rows=len(shares), cols=1, shared_xaxes=True, vertical_spacing=chart.gap, row_heights=shares)


def _axis(axis: Axis) -> dict[str, Any]:
    """All but the title, which of a shared axis the lowest panel has."""
    found: dict[str, Any] = {}
    if axis.log:
        found["type"] = "log"
    if axis.spacing is not None:
        found["dtick"] = axis.spacing
    if axis.ticks:
        labels = ["<br>".join(map(escape, label.split("\n"))) for _, label in axis.ticks]
        found |= {"tickvals": [at for at, _ in axis.ticks], "ticktext": labels}
    if axis.categories:
        found |= {"categoryorder": "array", "categoryarray": list(map(escape, axis.categories))}
    if axis.angle is not None:
        found["tickangle"] = axis.angle
    if axis.from_zero:
        found["rangemode"] = "tozero"
    if axis.range is not None:
        found["range"] = list(axis.range)
    if axis.form:
        found["tickformat"] = axis.form
    return found


def _lines(figure: go.Figure, chart: Chart) -> None:
    for upright in chart.uprights:
        figure.add_vline(x=upright.x, line={"dash": "dot", "width": 1, "color": TEXT})
        figure.add_annotation(
            x=log10(upright.x) if chart.x.log else upright.x,
            y=0,
            yref="paper",
            text=escape(upright.text, quote=False),
            showarrow=False,
            xanchor="left",
            yanchor="bottom",
            xshift=4,
            font={"color": TEXT},
        )
    for level in chart.levels:
        figure.add_hline(y=level.y, line={"dash": "dot", "color": TEXT, "width": 1}, annotation_text=escape(level.text))


def _note(note: Note) -> dict[str, Any]:
    turned = {"textangle": -90, "yanchor": "bottom"} if note.upright else {}
    return {"x": note.x, "y": note.y, "text": escape(note.text), "showarrow": False} | turned


def _intervals(series: Series | Bars) -> dict[str, Any]:
    return {
        "type": "data",
        "array": [high - value for high, value in zip(series.high, series.y, strict=True)],
        "arrayminus": [value - low for low, value in zip(series.low, series.y, strict=True)],
    }


def _series(series: Series) -> go.Scatter:
    name, colour = escape(series.name), TEXT if series.grey else SERIES[series.index % len(SERIES)]
    found: dict[str, Any] = {
        "x": [escape(value) if isinstance(value, str) else value for value in series.x],
        "y": list(series.y),
        "mode": series.mode,
        "name": name,
    }
    if "lines" in series.mode:
        found["line"] = {"color": colour, "width": series.width} | ({"dash": series.dash} if series.dash else {})
    if "markers" in series.mode:
        mark = MARKS[(series.index if series.mark is None else series.mark) % len(MARKS)]
        found["marker"] = {"symbol": f"{mark}-open" if series.hollow else mark, "size": series.size, "color": colour}
    if series.texts:
        found |= {"text": list(map(escape, series.texts))}
        found |= {"textposition": "bottom center" if series.text_below else "top center"}
    if series.low:
        found["error_y"] = _intervals(series) | {"thickness": series.error_width, "width": 3}
    if series.group:
        found["legendgroup"] = name
    if series.legend is not None:
        found["showlegend"] = series.legend
    return go.Scatter(found | _hover(series))


def _hover(series: Series) -> dict[str, Any]:
    if series.told:
        return {"hovertext": [_said(*texts) for texts in series.told], "hoverinfo": "text"}
    if not series.hover:
        return {"hoverinfo": "skip"}
    extra = {"customdata": _escaped(series.extra)} if series.extra else {}
    pattern = escape(series.hover) if series.hover_alone else f"{escape(series.name)}{series.hover}"
    return extra | {"hovertemplate": f"{pattern}<extra></extra>"}


def _escaped(values: Sequence[Any]) -> list[Any]:
    return [
        _escaped(value) if isinstance(value, list | tuple) else escape(value) if isinstance(value, str) else value
        for value in values
    ]


def _said(strong: str, after: str, below: str) -> str:
    lines = "<br>".join(map(escape, below.split("\n")))
    return f"<b>{escape(strong)}</b>{escape(after)}<br>{lines}"


def _bars(bars: Bars) -> go.Bar:
    return go.Bar(
        x=list(map(escape, bars.x)),
        y=list(bars.y),
        name=escape(bars.name),
        error_y=_intervals(bars),
        marker={"color": SERIES[bars.index % len(SERIES)], "pattern": {"shape": bars.pattern, "solidity": 0.35}},
        hovertemplate=f"{bars.hover}<extra></extra>",
    )


LANE_HEIGHT = 34
"""pixels of height for each lane"""
LANES_MARGIN = 130
ROLL_BACK = "roll back"


@draw.register
def lanes_figure(chart: LanesChart) -> go.Figure:
    """Time in milliseconds to the right, the first method on top; where a lane is empty it waits."""
    figure = go.Figure()
    for name, colour, pattern, wanted in KINDS:
        bars = [(lane, span) for lane in chart.lanes for span in lane.spans if wanted(span)]
        figure.add_trace(
            go.Bar(
                y=[_lane_label(lane) for lane, _ in bars],
                x=[1000 * (span.end_s - span.start_s) for _, span in bars],
                base=[1000 * span.start_s for _, span in bars],
                orientation="h",
                name=name,
                marker={
                    "color": colour,
                    "line": {"width": 0.5, "color": "rgba(0,0,0,0.35)"},
                    "pattern": {"shape": pattern, "solidity": 0.35},
                },
                hovertext=[_lane_hover(lane, span) for lane, span in bars],
                hoverinfo="text",
            )
        )
    discarded = [(lane, span) for lane in chart.lanes for span in lane.spans if span.what == ROLL_BACK]
    figure.add_trace(
        go.Scatter(
            y=[_lane_label(lane) for lane, _ in discarded],
            x=[1000 * span.start_s for _, span in discarded],
            mode="markers",
            name="drafts thrown away",
            marker={"symbol": "x-thin", "size": 7, "line": {"width": 2, "color": SERIES[1]}},
            hovertext=[f"{span.tokens} drafted tokens thrown away" for _, span in discarded],
            hoverinfo="text",
        )
    )
    labels = [_lane_label(lane) for lane in chart.lanes]
    figure.update_yaxes(categoryorder="array", categoryarray=labels[::-1], showgrid=False)
    figure.update_xaxes(title="ms since the prompt was read", range=[0, 1000 * chart.seconds])
    style(figure, LANE_HEIGHT * len(labels) + LANES_MARGIN)
    figure.update_layout(barmode="overlay", bargap=0.3)
    return legend_above(figure)


KINDS: Sequence[tuple[str, str, str, Callable[[Span], bool]]] = (
    ("drafting", SERIES[0], "", lambda span: span.what == "draft"),
    ("verifying, all accepted", SERIES[2], "", lambda span: span.what == "verify" and span.accepted == span.tokens),
    ("verifying, some rejected", SERIES[1], "/", lambda span: span.what == "verify" and span.accepted < span.tokens),
)


def _lane_label(lane: Lane) -> str:
    mark = " (simulated)" if lane.source == "simulated" else ""
    return escape(f"{lane.name}{mark} · {lane.lane}")


def _lane_hover(lane: Lane, span: Span) -> str:
    took = 1000 * (span.end_s - span.start_s)
    if span.what == "draft":
        said = f"drafts {span.tokens} token{'s' * (span.tokens != 1)}"
    else:
        said = f"verifies {span.tokens}, accepts {span.accepted}, gives {span.kept}"
    return f"<b>{_lane_label(lane)}</b><br>{said}<br>{took:.1f} ms"
