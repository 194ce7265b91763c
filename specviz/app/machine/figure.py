"""t(n) of a machine: marks with whiskers are measured, the dotted line is the roofline, knee and ridge stand upright.

Both axes are logarithmic. The uprights are lines of their own, since annotations sit wrongly on logarithmic axes. Takes
the view model only; what is text in HTML is escaped.
"""

from __future__ import annotations

from html import escape
from math import ceil, floor, log10

import plotly.graph_objects as go

from specviz.app.look.style import SERIES, TEXT, style
from specviz.app.machine.view import MachineView
from specviz.theory.roofline import SLACK

HEIGHT = 440
HEAD = (
    ("n", "new rows of the pass: the root and the nodes of a tree"),
    ("t(n), ms", "measured: median and quartiles"),
    ("× t(1)", "measured: median / median of the narrowest pass"),
    ("roofline, ms", "modelled: max(reading, arithmetic) + t0"),
    ("repeats", "times this width was timed"),
)


def machine_figure(view: MachineView) -> go.Figure:
    figure = go.Figure()
    times = [pass_.median_ms for pass_ in view.passes]
    spread = [pass_.low_ms for pass_ in view.passes] + [pass_.high_ms for pass_ in view.passes]
    low, high = min([*spread, *view.line.ms]) / 1.25, max([*spread, *view.line.ms]) * 1.25
    figure.add_trace(_measured(view))
    figure.add_trace(
        go.Scatter(
            x=list(view.line.widths), y=list(view.line.ms), mode="lines", name="roofline, modelled",
            text=list(view.line.explanations),
            hovertemplate="n = %{x:.3g}: %{y:.3g} ms modelled<br>%{text}<extra></extra>",
            line={"color": SERIES[1], "width": 1.5, "dash": "dot"},
        )
    )  # fmt: skip
    limit = times[0] * (1 + SLACK)
    knee = f"knee n = {view.knee}: up to here t ≤ {1 + SLACK:.2f} × {times[0]:.3g} ms = {limit:.3g} ms"
    figure.add_trace(_upright(view.knee, low, high, f"knee: n = {view.knee}", knee, SERIES[2], "solid"))
    first, last = view.passes[0].n, view.passes[-1].n
    if first <= view.ridge <= last:
        ridge = f"ridge n = {view.ridge:.1f}: multiplying takes as long as reading"
        figure.add_trace(_upright(view.ridge, low, high, f"ridge: n = {view.ridge:.1f}", ridge, TEXT, "dash"))
    widths = [2**i for i in range(17) if first <= 2**i <= last] or [first]
    edge = 0.06 * max(log10(last / first), 1.0)
    figure.update_xaxes(
        title="n, rows of one target pass", type="log", tickvals=widths, ticktext=[str(n) for n in widths],
        range=[log10(first) - edge, log10(last) + edge],
    )  # fmt: skip
    marks = _decades(low, high)
    figure.update_yaxes(
        title="t(n), ms", type="log", tickvals=marks, ticktext=[f"{mark:g}" for mark in marks],
        range=[log10(low), log10(high)],
    )  # fmt: skip
    return style(figure, HEIGHT)


def _decades(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, … between the two; Plotly's own labels would leave the zeros out."""
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    return [value for power in powers for digit in (1, 2, 5) if low <= (value := digit * 10.0**power) <= high]


def _measured(view: MachineView) -> go.Scatter:
    return go.Scatter(
        x=[pass_.n for pass_ in view.passes],
        y=[pass_.median_ms for pass_ in view.passes],
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [pass_.high_ms - pass_.median_ms for pass_ in view.passes],
            "arrayminus": [pass_.median_ms - pass_.low_ms for pass_ in view.passes],
            "thickness": 1.5,
            "width": 4,
        },
        mode="lines+markers",
        name="t(n), measured",
        text=[pass_.explanation for pass_ in view.passes],
        hovertemplate="n = %{x}: %{y:.3g} ms measured<br>%{text}<extra></extra>",
        line={"color": SERIES[0], "width": 2},
        marker={"symbol": "circle", "size": 8, "color": SERIES[0]},
    )


def _upright(x: float, low: float, high: float, name: str, text: str, colour: str, dash: str) -> go.Scatter:
    return go.Scatter(
        x=[x, x], y=[low, high], mode="lines", name=name, hovertemplate=f"{text}<extra></extra>",
        line={"color": colour, "width": 1.5, "dash": dash},
    )  # fmt: skip


def machine_table(view: MachineView) -> str:
    """Every width; the knee's row is marked."""
    head = "".join(f'<th scope="col" title="{escape(title, quote=True)}">{escape(name)}</th>' for name, title in HEAD)
    body = []
    for pass_ in view.passes:
        cells = (
            f"{pass_.n} (knee)" if pass_.n == view.knee else str(pass_.n),
            f"{pass_.median_ms:.3g} ({pass_.low_ms:.3g} to {pass_.high_ms:.3g})",
            f"{pass_.ratio:.2f}",
            f"{pass_.roofline_ms:.3g}",
            str(pass_.repeats),
        )
        body.append(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>")
    caption = f"<caption>{escape(view.name)}, {escape(view.setting)}. All but the roofline is measured.</caption>"
    table = f'<table class="sv-table">{caption}<thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table>'
    return f'<div class="sv-table-scroll">{table}</div>'


def provenance(view: MachineView) -> str:
    """Where the numbers come from."""
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in view.facts)
    return f'<dl class="sv-facts">{facts}</dl>'
