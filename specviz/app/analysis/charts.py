"""The tab's charts: acceptance by whatever a candidate is counted by, agreement by rank, the reliability diagram.

Each takes one `Analysis`; where it holds nothing to draw, the chart says why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from specviz.app.analysis.tables import interval, share
from specviz.app.look.style import SERIES, TEXT, hover, label, sentence, style
from specviz.theory.analysis.analyse import Analysis
from specviz.theory.analysis.rates import Row

HEIGHT = 400
OLD = "These traces are older than format 1.1 and do not say it. Record the runs again to have it."
UNKNOWN = "The drafter's own probabilities are not in these traces: it drafts without a model, or nothing was drawn."


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart of the tab's chooser."""

    name: str
    title: str
    reading: str
    """how it is read, in a sentence"""
    draw: Callable[[Analysis], go.Figure]


def rows_figure(rows: Sequence[Row], axis: str, value: str, empty: str) -> go.Figure:
    """A bar per row with its 95 % interval; the counts stand over it."""
    if not rows:
        return sentence(empty)
    rates = [row.rate for row in rows]
    heights = [rate.value or 0.0 for rate in rates]
    figure = go.Figure(
        go.Bar(
            x=[label(row.label) for row in rows],
            y=heights,
            error_y={
                "type": "data",
                "symmetric": False,
                "color": TEXT,
                "thickness": 1.5,
                "array": [(rate.high or 0.0) - height for rate, height in zip(rates, heights, strict=True)],
                "arrayminus": [height - (rate.low or 0.0) for rate, height in zip(rates, heights, strict=True)],
            },
            text=[f"n = {rate.of}" for rate in rates],
            textposition="inside",
            insidetextanchor="start",
            insidetextfont={"color": "white"},
            hovertext=[hover(row.label, [f"{share(row.rate)}: {interval(row.rate)}"]) for row in rows],
            hoverinfo="text",
            marker={"color": SERIES[0]},
        )
    )
    figure.update_xaxes(title=axis, type="category")
    figure.update_yaxes(title=value, range=[0, 1.05], tickformat=".0%")
    return style(figure, HEIGHT)


def reliability_figure(analysis: Analysis) -> go.Figure:
    """Mean p over mean q of candidates that the drafter gave about the same probability."""
    if analysis.calibration is None:
        return sentence(UNKNOWN)
    bins = analysis.calibration.bins
    most = max(bin_.count for bin_ in bins)
    figure = go.Figure(
        go.Scatter(
            x=[0, 1],
            y=[0, 1],
            mode="lines",
            name="as sure as it is right",
            hoverinfo="skip",
            line={"color": TEXT, "width": 1.5, "dash": "dash"},
        )
    )
    figure.add_trace(
        go.Scatter(
            x=[bin_.mean_draft for bin_ in bins],
            y=[bin_.mean_target for bin_ in bins],
            mode="lines+markers",
            name=label(analysis.drafter),
            line={"color": SERIES[0]},
            marker={"color": SERIES[0], "size": [8 + 16 * (bin_.count / most) ** 0.5 for bin_ in bins]},
            hovertext=[
                hover(
                    f"q {bin_.label}",
                    [
                        f"mean q {bin_.mean_draft:.2f}, mean p {bin_.mean_target:.2f}, {bin_.count} candidates",
                        f"accepted of those tested: {share(bin_.accepted)} ({interval(bin_.accepted)})",
                    ],
                )
                for bin_ in bins
            ],
            hoverinfo="text",
        )
    )
    figure.update_xaxes(title="q: what the drafter gave its candidate", range=[0, 1.02])
    figure.update_yaxes(title="p: what the target gave it", range=[0, 1.02])
    return style(figure, HEIGHT)


def _accepted(
    name: str, title: str, reading: str, axis: str, rows: Callable[[Analysis], Sequence[Row]], empty: str = OLD
) -> Chart:
    value = "accepted of those tested"
    return Chart(name, title, reading, lambda analysis: rows_figure(rows(analysis), axis, value, empty))


NOTHING = "Nothing was tested, so there is no acceptance to count."
CHARTS: tuple[Chart, ...] = (
    _accepted(
        "depth", "by depth", "How far a draft holds: a candidate at depth 2 was tested because depth 1 was accepted.",
        "depth in the draft", lambda analysis: analysis.by_depth, NOTHING,
    ),
    _accepted(
        "class", "by token class", "What sort of text the drafted token is, from its characters alone.",
        "class of the drafted token", lambda analysis: analysis.by_token_class, NOTHING,
    ),
    _accepted(
        "copied", "copied or new", "Copied: the token stood before in the text, after the same two tokens.",
        "the drafted token", lambda analysis: analysis.by_copied, NOTHING,
    ),
    _accepted(
        "position", "by position", "Where in the output the candidate would stand.",
        "output token", lambda analysis: analysis.by_position, NOTHING,
    ),
    _accepted(
        "entropy", "by the target's entropy", "How open the text is there: at few bits there is one way to go on.",
        "entropy of the target", lambda analysis: analysis.by_target_entropy,
    ),
    _accepted(
        "target-rank", "by rank in the target", "Which of the target's choices the drafted token is; 1: its favourite.",
        "rank in the target", lambda analysis: analysis.by_target_rank,
    ),
    _accepted(
        "draft-rank", "by rank in the draft", "Which of the drafter's choices the candidate is, as far as recorded.",
        "rank in the drafter", lambda analysis: analysis.by_draft_rank, UNKNOWN,
    ),
    Chart(
        "agreement", "agreement by rank",
        "How often the drafter's first, second, … choice is the target's favourite, whether it was tested or not.",
        lambda analysis: rows_figure(analysis.agreement, "rank in the drafter", "is the target's favourite", OLD),
    ),
    Chart(
        "calibration", "reliability",
        "On the dashed line the drafter is as sure as it is right; below, it is too sure. Large: many candidates.",
        reliability_figure,
    ),
    _accepted(
        "overlap", "by Σ min(p, q)",
        "Where both models believe the same, Σ min(p, q) is 1; the first candidate of a place is accepted that often.",
        "Σ min(p, q) of the models' own beliefs",
        lambda analysis: () if analysis.distances is None else analysis.distances.by_overlap, OLD,
    ),
)  # fmt: skip


def chart(name: str) -> Chart:
    """The chart of that name; the first for one that is not there."""
    return next((known for known in CHARTS if known.name == name), CHARTS[0])
