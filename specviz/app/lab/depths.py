"""How deep drafts hold: how often depth d of a draft is accepted, and in what share of its drafting rounds a drafter
kept exactly j tokens.

By position all speculation lengths of a drafter are counted together, because a position does not know how long the
draft goes on. Reads sweep points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from specviz.app.lab.cases import CaseRuns, Rows, by_series, cases, fastest, fraction, leaders_first, leading
from specviz.app.lab.chart import NO_DRAFTS, LabChart
from specviz.app.look.style import HEIGHT, draw_few, hover, label, look, style
from specviz.protocol.sweeps.points import SweepPoint
from specviz.theory.rows import added


@dataclass(frozen=True, slots=True)
class Place:
    """One depth, 1 being the first drafted token."""

    depth: int
    drafted: int
    accepted: int
    tested: int
    """rounds that accepted depth d-1 and had drafted something below it"""
    passed: int
    """of these, rounds that accepted depth d"""

    @property
    def rate(self) -> float:
        """accepted / drafted, as vLLM counts per position"""
        return self.accepted / self.drafted

    @property
    def conditional(self) -> float | None:
        """passed / tested: the probability of this token given the ones before; None where it was never tested"""
        return self.passed / self.tested if self.tested else None

    @property
    def explanation(self) -> list[str]:
        lines = [
            fraction(
                f"acceptance at depth {self.depth}",
                "rounds that accepted it ÷ rounds that drafted to it",
                self.accepted,
                self.drafted,
            )
        ]
        if self.tested:
            lines.append(
                fraction(
                    "given the depths before",
                    "rounds that accepted it ÷ rounds that tested it",
                    self.passed,
                    self.tested,
                )
            )
        return lines


@dataclass(frozen=True, slots=True)
class PositionLine:
    series: str
    places: tuple[Place, ...]


def lines(points: Sequence[SweepPoint]) -> list[PositionLine]:
    """One line per drafter and policies; those that drafted nothing are left out."""
    drawn = []
    for series, group in by_series(cases(points)).items():
        depths = places([point for case in group for point in case.points])
        if depths:
            drawn.append(PositionLine(series, tuple(depths)))
    return drawn


def places(runs: Sequence[SweepPoint]) -> list[Place]:
    """Depth by depth what all these runs drafted, tested and accepted."""
    drafted = added(run.by_depth for run in runs)
    tested = added(run.levels for run in runs)
    tested += [(0, 0)] * (len(drafted) - len(tested))
    both = enumerate(zip(drafted, tested, strict=False), start=1)
    return [Place(depth, *counted, *tests) for depth, (counted, tests) in both if counted[0]]


def position_rows(points: Sequence[SweepPoint]) -> Rows:
    return [
        {
            "drafter": line.series,
            "depth": depth.depth,
            "drafted": depth.drafted,
            "accepted": depth.accepted,
            "acceptance": depth.rate,
            "tested": depth.tested,
            "accepted_when_tested": depth.passed,
            "acceptance_given_the_depths_before": depth.conditional,
        }
        for line in lines(points)
        for depth in line.places
    ]


# --- the picture -----------------------------------------------------------------------------------------------------


def position_figure(points: Sequence[SweepPoint]) -> go.Figure | None:
    """Acceptance by position as lines: solid over all drafts, dotted given the depths before."""
    few = leading(points)
    series = leaders_first(lines(points), few)
    if not series:
        return None
    drawn = go.Figure()
    for index, line in enumerate(series):
        drawn.add_traces(_traces(line, *look(index)))
    drawn.update_xaxes(title="depth in the draft", dtick=1)
    drawn.update_yaxes(title="share accepted", range=[0, 1.04])
    return draw_few(style(drawn, HEIGHT), few)


def _traces(line: PositionLine, colour: str, mark: str) -> list[go.Scatter]:
    depths = [depth.depth for depth in line.places]
    texts = [hover(line.series, depth.explanation) for depth in line.places]
    shared = {"x": depths, "hovertext": texts, "hoverinfo": "text", "legendgroup": label(line.series)}
    marker = {"symbol": mark, "size": 9, "color": colour}
    return [
        go.Scatter(
            **shared,
            y=[depth.rate for depth in line.places],
            mode="lines+markers",
            name=label(line.series),
            line={"color": colour, "width": 2},
            marker=marker,
        ),
        go.Scatter(
            **shared,
            y=[depth.conditional for depth in line.places],
            mode="lines",
            showlegend=False,
            line={"color": colour, "width": 1.5, "dash": "dot"},
        ),
    ]


POSITION = LabChart(
    "position",
    "Acceptance by position",
    "How deep do the guesses hold?",
    "Solid: of the rounds that drafted this deep, the share that accepted this depth. Dotted: the same given that "
    "the depths before were accepted. All speculation lengths of a drafter together.",
    NO_DRAFTS,
    position_figure,
    position_rows,
    place=30,
)


# --- accepted lengths ------------------------------------------------------------------------------------------------


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


def _filled(measured: Sequence[CaseRuns]) -> list[Histogram]:
    made = [Histogram(case.name, case.series, _counts(case)) for case in measured]
    return [histogram for histogram in made if histogram.rounds]


def _counts(case: CaseRuns) -> tuple[int, ...]:
    lengths = [point.accepted_lengths for point in case.points]
    return tuple(
        sum(run[length] for run in lengths if length < len(run)) for length in range(max(map(len, lengths), default=0))
    )


def length_rows(points: Sequence[SweepPoint]) -> Rows:
    """Every case, not only those drawn."""
    return [
        {
            "case": histogram.name,
            "accepted": accepted,
            "rounds": count,
            "rounds_that_drafted": histogram.rounds,
            "share": count / histogram.rounds,
        }
        for histogram in _filled(cases(points))
        for accepted, count in enumerate(histogram.counts)
    ]


# --- the picture -----------------------------------------------------------------------------------------------------


def length_figure(points: Sequence[SweepPoint]) -> go.Figure | None:
    """The accepted-length histogram as grouped bars."""
    few = leading(points)
    series = leaders_first(histograms(points), few)
    if not series:
        return None
    drawn = go.Figure(
        [
            go.Bar(
                x=list(range(len(histogram.counts))),
                y=histogram.shares,
                name=label(histogram.name),
                legendgroup=label(histogram.series),
                hovertext=[
                    hover(histogram.name, histogram.explanation(length)) for length in range(len(histogram.counts))
                ],
                hoverinfo="text",
                marker={"color": look(index)[0]},
            )
            for index, histogram in enumerate(series)
        ]
    )
    drawn.update_layout(barmode="group", bargap=0.25, showlegend=True)
    drawn.update_xaxes(title="accepted tokens in a round that drafted", dtick=1)
    drawn.update_yaxes(title="share of these rounds", rangemode="tozero")
    return draw_few(style(drawn, HEIGHT), few)


LENGTHS = LabChart(
    "lengths",
    "Accepted lengths",
    "How many drafted tokens does a round keep?",
    "Rounds that drafted, by how many tokens they accepted; the round's own last token is not "
    "counted. Each drafter at its fastest setting.",
    NO_DRAFTS,
    length_figure,
    length_rows,
    place=40,
)
