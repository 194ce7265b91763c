"""Wasted candidates against target passes: what each way of ending drafts costs, in counts.

Longer drafts save target passes and waste candidates; a stop policy is good where it saves one without the other.
Only runs that every case has (prompt, repeat) are counted, because prompts differ more than policies do. Reads sweep
points.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import plotly.graph_objects as go

from specviz.app.lab.cases import Rows, Sums, cases, fraction
from specviz.app.lab.chart import LabChart
from specviz.app.lab.figure_parts import HEIGHT, hover, label, look
from specviz.app.look.style import TEXT, style
from specviz.protocol.sweeps.points import SweepPoint

LINE = 0.06
"""height of a line of text in the chart, as a share of the largest value of its axis"""


@dataclass(frozen=True, slots=True)
class Mark:
    """One case on the prompts that all cases have; below and to the left is better."""

    name: str
    stop_policy: str
    sums: Sums
    on_front: bool = False
    """no other mark is at least as good in both numbers and better in one"""

    @property
    def wasted(self) -> float:
        return (self.sums.drafted - self.sums.accepted) / self.sums.tokens

    @property
    def passes(self) -> float:
        return self.sums.rounds / self.sums.tokens

    @property
    def explanation(self) -> list[str]:
        wasted = self.sums.drafted - self.sums.accepted
        return [
            fraction(
                "wasted per token", "(drafted − accepted) ÷ output tokens", wasted, self.sums.tokens
            ),
            fraction("passes per token", "target passes ÷ output tokens", self.sums.rounds, self.sums.tokens),
            f"{self.sums.runs} runs, the same prompts for every mark"
            + ("; nothing here is better in both" if self.on_front else ""),
        ]  # fmt: skip


def marks(points: Sequence[SweepPoint]) -> list[Mark]:
    """One mark per case, on the runs common to all; none where they have no run in common."""
    found = cases(points)
    common = set.intersection(*({_run(point) for point in case.points} for case in found)) if found else set()
    made = [
        Mark(case.name, case.stop_policy, Sums.of([point for point in case.points if _run(point) in common]))
        for case in found
    ]
    made = [one for one in made if one.sums.tokens > 0]
    return [replace(one, on_front=not any(_dominates(other, one) for other in made)) for one in made]


def _run(point: SweepPoint) -> tuple[str, int]:
    return point.prompt, point.repeat


def _dominates(mark: Mark, other: Mark) -> bool:
    mine, theirs = (mark.wasted, mark.passes), (other.wasted, other.passes)
    return mine != theirs and mine[0] <= theirs[0] and mine[1] <= theirs[1]


def rows(points: Sequence[SweepPoint]) -> Rows:
    return [
        {
            "case": mark.name,
            "stop_policy": mark.stop_policy,
            "drafted": mark.sums.drafted,
            "accepted": mark.sums.accepted,
            "target_passes": mark.sums.rounds,
            "tokens": mark.sums.tokens,
            "wasted_per_token": mark.wasted,
            "passes_per_token": mark.passes,
            "on_front": mark.on_front,
        }
        for mark in marks(points)
    ]


# --- the picture -----------------------------------------------------------------------------------------------------


def figure(points: Sequence[SweepPoint]) -> go.Figure | None:
    """Wasted candidates against target passes: one mark per case, one look per stop policy, a line along the front."""
    found = marks(points)
    if not found:
        return None
    front = sorted((mark for mark in found if mark.on_front), key=lambda mark: mark.wasted)
    drawn = go.Figure(
        go.Scatter(
            x=[mark.wasted for mark in front], y=[mark.passes for mark in front], mode="lines", name="front",
            hoverinfo="skip", line={"color": TEXT, "width": 1.5, "dash": "dash"},
        )
    )  # fmt: skip
    named = _apart(front, found)
    for index, policy in enumerate(dict.fromkeys(mark.stop_policy for mark in found)):
        own = [mark for mark in found if mark.stop_policy == policy]
        drawn.add_trace(_policy(policy, own, named, *look(index)))
    drawn.update_xaxes(title="wasted candidates per output token", rangemode="tozero")
    drawn.update_yaxes(title="target passes per output token", rangemode="tozero")
    return style(drawn, HEIGHT)


def _apart(front: Sequence[Mark], found: Sequence[Mark]) -> set[str]:
    """Names that do not lie over one another: along the front, those a line of text below the last one named."""
    line = LINE * max(mark.passes for mark in found)
    named: list[Mark] = []
    for mark in front:
        if not named or named[-1].passes - mark.passes >= line:
            named.append(mark)
    return {mark.name for mark in named}


def _policy(policy: str, own: Sequence[Mark], named: Collection[str], colour: str, mark: str) -> go.Scatter:
    """One look per policy; marks on the front have their names beside them, where there is room."""
    return go.Scatter(
        x=[one.wasted for one in own],
        y=[one.passes for one in own],
        mode="markers+text",
        name=f"stop policy {label(policy)}",
        text=[f"  {label(one.name)}" if one.name in named else "" for one in own],
        textposition="middle right",
        textfont={"size": 11, "color": TEXT},
        hovertext=[hover(one.name, one.explanation) for one in own],
        hoverinfo="text",
        marker={"symbol": mark, "size": 11, "color": colour},
    )


CHART = LabChart(
    "economy",
    "Wasted drafts against target passes",
    "Which way of ending a draft saves target passes without wasting candidates?",
    "Left and low is better; the dashed line joins those that nothing beats in both. Counts, no times, and only "
    "prompts that every setting ran. Tick stop policies above to compare them.",
    "There is no prompt yet that every setting has run: let the sweep go on.",
    figure,
    rows,
    place=70,
)
