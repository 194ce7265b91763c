"""The latency–acceptance plane: drafters as marks, lines of equal speedup behind them."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

import plotly.graph_objects as go

from specviz.app.lab.figure_parts import HEIGHT, hover, label, left_out, look
from specviz.app.lab.plane import Contour, Plane, Spot, plane
from specviz.app.parts.style import TEXT, style
from specviz.protocol.sweeps.points import SweepPoint


def figure(points: Sequence[SweepPoint]) -> go.Figure | None:
    found = plane(points)
    if found is None:
        return None
    drawn = go.Figure([_contour(line) for line in found.contours])
    drawn.add_trace(_labels(found))
    series = list(dict.fromkeys(spot.series for spot in found.spots))
    for place, name in enumerate(series):
        drawn.add_trace(_series([spot for spot in found.spots if spot.series == name], *look(place)))
    drawn.update_xaxes(
        title="drafting per round ÷ a plain pass", type="log", range=list(map(log10, found.latency_range)),
        exponentformat="none", dtick="D2",
    )  # fmt: skip
    drawn.update_yaxes(title="tokens per target pass", range=list(found.tokens_range))
    left_out(drawn, found.without, "no measurable drafting time, so no place on an axis of powers of ten")
    return style(drawn, HEIGHT)


def _contour(line: Contour) -> go.Scatter:
    even = line.speedup == 1
    look = {"color": TEXT, "width": 2 if even else 1, "dash": "dash" if even else "dot"}
    return go.Scatter(
        x=list(line.latencies), y=list(line.tokens), mode="lines", showlegend=False, hoverinfo="skip", line=look
    )


def _labels(found: Plane) -> go.Scatter:
    """Each line's speedup at the last place where it is inside the chart."""
    places = []
    for line in found.contours:
        inside = [at for at, tokens in enumerate(line.tokens) if tokens < 0.97 * found.tokens_range[1]]
        at = min(inside[-1] if inside else 0, len(line.tokens) - 3)
        places.append((line, line.latencies[at], line.tokens[at]))
    return go.Scatter(
        x=[latency for _, latency, _ in places],
        y=[tokens for _, _, tokens in places],
        mode="text",
        text=[f"{line.speedup:g}×" for line, _, _ in places],
        textposition="top left",
        textfont={"size": 12, "color": TEXT},
        showlegend=False,
        hovertext=[
            hover(
                f"equal speedup {line.speedup:g}×",
                [
                    f"tokens per pass = {line.speedup:g} × (drafting ÷ plain pass + {found.pass_cost:.2f}); "
                    f"{found.pass_cost:.2f} is the median measured cost of the wider target pass in plain passes. "
                    "Engine overhead is left out."
                ],
            )
            for line, _, _ in places
        ],
        hoverinfo="text",
    )


def _series(spots: Sequence[Spot], colour: str, mark: str) -> go.Scatter:
    """The lengths of one drafter, joined; the longest is named, so that the line has a direction."""
    ordered = sorted(spots, key=lambda spot: spot.gamma or 0)
    return go.Scatter(
        x=[spot.latency for spot in ordered],
        y=[spot.tokens for spot in ordered],
        mode="lines+markers+text",
        name=label(ordered[0].series),
        text=[*[""] * (len(ordered) - 1), "" if ordered[-1].gamma is None else f"γ={ordered[-1].gamma}"],
        textposition="bottom center",
        textfont={"size": 11, "color": TEXT},
        hovertext=[hover(spot.name, spot.explanation) for spot in ordered],
        hoverinfo="text",
        line={"color": colour, "width": 1},
        marker={"symbol": mark, "size": 11, "color": colour},
    )
