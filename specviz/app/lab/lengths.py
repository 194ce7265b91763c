"""Accepted-length histogram: in what share of its drafting rounds a drafter kept exactly j tokens.

Reads sweep points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from specviz.app.lab.cases import CaseRuns, Rows, cases, fastest, fraction
from specviz.app.lab.chart import NO_DRAFTS, LabChart
from specviz.app.lab.figure_parts import HEIGHT, draw_few, hover, label, look
from specviz.app.lab.leading import leaders_first, leading
from specviz.app.look.style import style
from specviz.protocol.sweeps.points import SweepPoint


@dataclass(frozen=True, slots=True)
class Histogram:
    name: str
    series: str
    counts: tuple[int, ...]
    """[j] = rounds that drafted and accepted exactly j candidates"""

    @property
    def rounds(self) -> int:
        return sum(self.counts)

    @property
    def shares(self) -> list[float]:
        return [count / self.rounds for count in self.counts]

    def explanation(self, accepted: int) -> list[str]:
        formula = f"rounds that accepted {accepted} ÷ rounds that drafted"
        kept = sum(length * count for length, count in enumerate(self.counts))
        return [
            fraction("share", formula, self.counts[accepted], self.rounds),
            fraction("mean accepted", "accepted ÷ rounds that drafted", kept, self.rounds)
            + "; with the round's own token one more",
        ]


def histograms(points: Sequence[SweepPoint]) -> list[Histogram]:
    """Each drafter at its fastest speculation length, the fastest drafter first."""
    return _filled(fastest(cases(points)))


def _filled(found: Sequence[CaseRuns]) -> list[Histogram]:
    made = [Histogram(case.name, case.series, _counts(case)) for case in found]
    return [histogram for histogram in made if histogram.rounds]


def _counts(case: CaseRuns) -> tuple[int, ...]:
    lengths = [point.accepted_lengths for point in case.points]
    return tuple(
        sum(run[length] for run in lengths if length < len(run)) for length in range(max(map(len, lengths), default=0))
    )


def rows(points: Sequence[SweepPoint]) -> Rows:
    """Every case, not only those drawn."""
    return [
        {
            "case": one.name,
            "accepted": accepted,
            "rounds": count,
            "rounds_that_drafted": one.rounds,
            "share": count / one.rounds,
        }
        for one in _filled(cases(points))
        for accepted, count in enumerate(one.counts)
    ]


# --- the picture -----------------------------------------------------------------------------------------------------


def figure(points: Sequence[SweepPoint]) -> go.Figure | None:
    """The accepted-length histogram as grouped bars."""
    few = leading(points)
    found = leaders_first(histograms(points), few)
    if not found:
        return None
    drawn = go.Figure(
        [
            go.Bar(
                x=list(range(len(one.counts))),
                y=one.shares,
                name=label(one.name),
                legendgroup=label(one.series),
                hovertext=[hover(one.name, one.explanation(length)) for length in range(len(one.counts))],
                hoverinfo="text",
                marker={"color": look(index)[0]},
            )
            for index, one in enumerate(found)
        ]
    )
    drawn.update_layout(barmode="group", bargap=0.25, showlegend=True)
    drawn.update_xaxes(title="accepted tokens in a round that drafted", dtick=1)
    drawn.update_yaxes(title="share of these rounds", rangemode="tozero")
    return draw_few(style(drawn, HEIGHT), few)


CHART = LabChart(
    "lengths",
    "Accepted lengths",
    "How many drafted tokens does a round keep?",
    "The share of the rounds that drafted by how many tokens they accepted, the round's own last token not "
    "counted. Each drafter at its fastest setting.",
    NO_DRAFTS,
    figure,
    rows,
    place=40,
)
