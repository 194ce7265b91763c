"""The two curves of a training: its loss, and how likely held-out tokens are accepted at each depth of a draft.

Both are measured while it trains. Takes the view model only.
"""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from specviz.app.look.style import MARKS, SERIES, TEXT, style
from specviz.protocol.trainings import HeldOut, Training

HEIGHT = 340


def acceptance_figure(training: Training) -> go.Figure:
    """One line per depth over seconds of training; dotted: the shipped module, where there is one."""
    figure = go.Figure()
    marks = training.held_out
    for depth in range(len(marks[0].acceptance) if marks else 0):
        colour = SERIES[depth % len(SERIES)]
        figure.add_trace(
            go.Scatter(
                x=[one.seconds for one in marks], y=[one.acceptance[depth] for one in marks], mode="lines+markers",
                name=f"depth {depth + 1}", line={"color": colour, "width": 2},
                marker={"symbol": MARKS[depth % len(MARKS)], "size": 7},
                text=[_explained(one, depth) for one in marks], hovertemplate="%{text}<extra></extra>",
            )
        )  # fmt: skip
        shipped = training.shipped_held_out
        if shipped and depth < len(shipped.acceptance):
            figure.add_hline(shipped.acceptance[depth], line={"color": colour, "width": 1, "dash": "dot"})
    figure.update_yaxes(title="acceptance probability", range=[0, 1])
    return _timed(figure)


def _explained(mark: HeldOut, depth: int) -> str:
    return (
        f"after {mark.seconds:.0f} s, {mark.tokens:,} tokens<br>depth {depth + 1}: accepted with probability "
        f"{mark.acceptance[depth]:.2f} if those before it were<br>its most probable token is the target's at "
        f"{mark.agreement[depth]:.0%} of the places"
    )


def loss_figure(training: Training) -> go.Figure:
    """The terms that training minimises, in nats, and their sum where there are several."""
    figure, marks = go.Figure(), training.losses
    names = list(marks[-1].terms) if marks else []
    for place, name in enumerate(names):
        _line(figure, [one.seconds for one in marks], [one.terms.get(name) for one in marks], name, SERIES[place % 6])
    if len(names) > 1:
        _line(figure, [one.seconds for one in marks], [one.total for one in marks], "sum", TEXT)
    figure.update_yaxes(title="loss", rangemode="tozero")
    return _timed(figure)


def _line(figure: go.Figure, x: Sequence[float], y: Sequence[float | None], name: str, colour: str) -> None:
    figure.add_trace(
        go.Scatter(x=list(x), y=list(y), mode="lines", name=name, line={"color": colour, "width": 2},
                   hovertemplate=f"{name} %{{y:.3f}} after %{{x:.0f}} s<extra></extra>")
    )  # fmt: skip


def _timed(figure: go.Figure) -> go.Figure:
    figure.update_xaxes(title="seconds of training", rangemode="tozero")
    style(figure, HEIGHT)
    # the legend below the axis' title, at this height; above, room for the name that Gradio writes over the plot
    figure.update_layout(showlegend=True, legend={"y": -0.36}, margin={"t": 36})
    return figure
