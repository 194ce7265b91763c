"""Time per round by phase: engine milliseconds of drafting, target pass, judging and committing, plain decoding beside.

Reads sweep points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from specviz.app.lab.cases import PLAIN, Rows, Sums, cases, fastest, fraction, plain_runs
from specviz.app.lab.chart import LabChart
from specviz.app.lab.figure_parts import HEIGHT, hover, in_rows, label, look
from specviz.app.look.style import legend_above, style
from specviz.protocol.sweeps.points import SweepPoint

PHASES: tuple[tuple[str, Callable[[Sums], float]], ...] = (
    ("drafter's passes", lambda sums: sums.draft_pass_s),
    ("drafting besides", lambda sums: sums.draft_s - sums.draft_pass_s),
    ("target's pass", lambda sums: sums.target_pass_s),
    ("scoring besides", lambda sums: sums.target_s - sums.target_pass_s),
    ("judging", lambda sums: sums.judge_s),
    ("committing", lambda sums: sums.commit_s),
)
"""in the order of a round; `besides` is what the engine does around the forward passes. They add up to the round."""


@dataclass(frozen=True, slots=True)
class Round:
    """The mean round of one case."""

    name: str
    sums: Sums

    def milliseconds(self, phase: int) -> float:
        return 1000 * PHASES[phase][1](self.sums) / self.sums.rounds

    def explanation(self, phase: int) -> list[str]:
        name, seconds = PHASES[phase]
        spent, units = seconds(self.sums), ("s", "s")
        whole = sum(part(self.sums) for _, part in PHASES)
        lines = [fraction(name, "seconds ÷ rounds", spent, self.sums.rounds, ("s", "rounds"), "ms")]
        return [*lines, fraction("share of the round", "its seconds ÷ all phases' seconds", spent, whole, units)]


def mean_rounds(points: Sequence[SweepPoint]) -> list[Round]:
    """Plain decoding first, then each drafter at its fastest speculation length."""
    made = [Round(PLAIN, plain_runs(points)), *(Round(case.name, case.own) for case in fastest(cases(points)))]
    return [one for one in made if one.sums.timed]


def rows(points: Sequence[SweepPoint]) -> Rows:
    """Every case, not only those drawn."""
    made = [Round(PLAIN, plain_runs(points)), *(Round(case.name, case.own) for case in cases(points))]
    return [
        {
            "case": one.name,
            "phase": name,
            "seconds": seconds(one.sums),
            "rounds": one.sums.rounds,
            "milliseconds_per_round": one.milliseconds(index),
        }
        for one in made
        if one.sums.timed
        for index, (name, seconds) in enumerate(PHASES)
    ]


# --- the picture -----------------------------------------------------------------------------------------------------


def figure(points: Sequence[SweepPoint]) -> go.Figure | None:
    """Time per round as stacked bars, one colour per phase."""
    found = mean_rounds(points)
    if not found:
        return None
    drawn = go.Figure(
        [
            go.Bar(
                x=[one.milliseconds(phase) for one in found],
                y=[label(one.name) for one in found],
                orientation="h",
                name=name,
                hovertext=[hover(f"{one.name}: {name}", one.explanation(phase)) for one in found],
                hoverinfo="text",
                marker={"color": look(phase)[0]},
            )
            for phase, (name, _) in enumerate(PHASES)
        ]
    )
    drawn.update_layout(barmode="stack", bargap=0.3)
    drawn.update_xaxes(title="engine milliseconds per round", rangemode="tozero")
    drawn.update_yaxes(autorange="reversed")
    in_rows(legend_above(style(drawn, HEIGHT)), len(found))
    return drawn.update_layout(legend={"traceorder": "normal"})


CHART = LabChart(
    "phases",
    "Time per round",
    "What does a round spend its time on?",
    "Mean engine time of a round, stacked by phase, beside a round of plain decoding, which brings one token. "
    "Each drafter at its fastest setting.",
    "These results have no times for a round.",
    figure,
    rows,
    place=50,
)
