"""Why a drafter wins here: tokens per target pass against the repetition of the text, one mark per prompt.

Drafters that copy rise to the right, whatever their method; a mark that stands high on the left was earned by
foresight. Reads sweep points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import plotly.graph_objects as go

from specviz.app.lab.cases import CaseRuns, Rows, Sums, cases, fastest, fraction, median_ratio
from specviz.app.lab.chart import LabChart
from specviz.app.look.style import HEIGHT, SHOWN, TEXT, hover, label, left_out, legend_below, look, style
from specviz.protocol.sweeps.points import SweepPoint
from specviz.theory.rows import MOST as BOUND
from specviz.theory.rows import NGRAM, repeats

MOST = 8
"""series drawn: more marks than these hide each other"""


@dataclass(frozen=True, slots=True)
class Mark:
    """One case on one prompt, its repeats together."""

    case: str
    series: str
    prompt: str
    family: str
    temperature: float
    repetition: float
    """median over the repeats of the share of repeated 4-grams of the output"""
    ratio: float
    """median over the repeats of the measured speedup"""
    sums: Sums

    @property
    def tokens_per_pass(self) -> float:
        return self.sums.tokens / self.sums.rounds

    @property
    def explanation(self) -> list[str]:
        formula = "output tokens ÷ target passes"
        return [
            f"{self.prompt} ({self.family}), temperature {self.temperature:g}, {self.sums.runs} runs",
            fraction("tokens per pass", formula, self.sums.tokens, self.sums.rounds),
            f"repetition = {NGRAM}-grams that came before in the same text ÷ all = {self.repetition:.2f}"
            + (f"; above {BOUND:g}: in no headline" if repeats(self.repetition) else ""),
            f"speedup = {self.ratio:.2f}×",
        ]


def marks(points: Sequence[SweepPoint]) -> list[Mark]:
    """Every case on every prompt whose repetition was counted."""
    return [mark for case in cases(points) for mark in _marks(case)]


def _marks(case: CaseRuns) -> list[Mark]:
    by_prompt: dict[str, list[SweepPoint]] = {}
    for point in case.points:
        if point.repetition is not None and point.rounds > 0:
            by_prompt.setdefault(point.prompt, []).append(point)
    return [
        Mark(
            case.name,
            case.series,
            prompt,
            runs[0].family,
            runs[0].temperature,
            median(run.repetition for run in runs if run.repetition is not None),
            median_ratio(runs),
            Sums.of(runs),
        )
        for prompt, runs in by_prompt.items()
    ]


def rows(points: Sequence[SweepPoint]) -> Rows:
    """Every case, not only those drawn."""
    return [
        {
            "case": mark.case,
            "prompt": mark.prompt,
            "family": mark.family,
            "temperature": mark.temperature,
            "repetition": mark.repetition,
            "repeats_itself": repeats(mark.repetition),
            "tokens": mark.sums.tokens,
            "target_passes": mark.sums.rounds,
            "tokens_per_pass": mark.tokens_per_pass,
            "speedup": mark.ratio,
        }
        for mark in marks(points)
    ]


# --- the picture -----------------------------------------------------------------------------------------------------


def figure(points: Sequence[SweepPoint]) -> go.Figure | None:
    """One look per series, each at its fastest setting, the fastest of them; a line where the other class of texts
    begins."""
    series = [(case, marks_of) for case in fastest(cases(points)) if (marks_of := _marks(case))]
    if not series:
        return None
    drawn = go.Figure(
        [_trace(case.name, marks_of, *look(index)) for index, (case, marks_of) in enumerate(series[:MOST])]
    )
    drawn.add_vline(
        x=BOUND,
        line={"color": TEXT, "width": 1.5, "dash": "dash"},
        annotation={"text": "repeats itself →", "font": {"color": TEXT, "size": 12}},
        annotation_position="bottom right",
    )
    drawn.update_layout(showlegend=True)
    drawn.update_xaxes(title="repetition: share of repeated 4-grams", rangemode="tozero")
    drawn.update_yaxes(title="output tokens per target pass", rangemode="tozero")
    style(drawn, HEIGHT)
    if len(series) > SHOWN:
        legend_below(drawn, "", min(MOST, len(series)))
    left_out(drawn, [case.name for case, _ in series[MOST:]], "slower; the CSV has them")
    return drawn


def _trace(name: str, marks: Sequence[Mark], colour: str, mark: str) -> go.Scatter:
    return go.Scatter(
        x=[spot.repetition for spot in marks],
        y=[spot.tokens_per_pass for spot in marks],
        mode="markers",
        name=label(name),
        hovertext=[hover(name, spot.explanation) for spot in marks],
        hoverinfo="text",
        marker={"symbol": mark, "size": 9, "color": colour, "opacity": 0.8},
    )


CHART = LabChart(
    "why",
    "Why this drafter wins here",
    "Does a drafter win by foresight, or because the text repeats itself?",
    "One mark per prompt: to the right the text repeats more of its 4-grams, which anyone can copy; upwards a "
    "target pass brings more tokens. Texts right of the dashed line are reported apart and are in no other chart. "
    f"Each drafter at its fastest setting, the {MOST} fastest of them.",
    "These results do not say how much each text repeats itself: run the sweep again.",
    figure,
    rows,
    place=65,
    every_text=True,
)
