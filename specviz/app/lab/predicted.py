"""Predicted against measured speedup: does the arithmetic of acceptance and pass times explain the clock?

    tokens per round  = 1 + Σ_d (share of rounds that drafted to depth d) × Π_{i≤d} a_i
    predicted speedup = tokens per round ÷ ((t(rows) + drafter passes per round × t_draft) ÷ t(1))

a_i is the acceptance of depth i given the ones before, rows the mean number of rows per target pass; t and t_draft are
the step times measured when the models were loaded, not those of the runs. So the prediction knows no engine overhead
and no busy moments, and takes acceptance to be independent of how long a draft is. t_draft is the mean pass of a round
of four behind a target pass; the first of them is the dearest, so chains of one and two are predicted too fast. For a
full-length chain it is formula 1 of Leviathan et al. (2211.17192) with a rate of its own per depth. Reads sweep points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import plotly.graph_objects as go

from specviz.app.lab.by_position import Place, places
from specviz.app.lab.cases import CaseRuns, Rows, cases, paired, quantity
from specviz.app.lab.chart import LabChart
from specviz.app.lab.figure_parts import against_measured, draw_few, left_out
from specviz.app.lab.leading import leaders_first, leading
from specviz.protocol.sweeps.points import SweepPoint
from specviz.theory import formulas as theory


@dataclass(frozen=True, slots=True)
class Prediction:
    name: str
    series: str
    expected: float
    measured: float
    """all runs together"""
    explanation: tuple[str, ...]


def predictions(points: Sequence[SweepPoint]) -> list[Prediction]:
    """Every case with measured acceptance, step times and plain runs."""
    made = (_prediction(case) for case in cases(paired(points)))
    return [one for one in made if one is not None]


def unpredicted(points: Sequence[SweepPoint]) -> list[str]:
    """The measured cases that lack something a prediction needs, such as the time of a drafter's step."""
    return [case.name for case in cases(paired(points)) if case.ratio is not None and _prediction(case) is None]


def _prediction(case: CaseRuns) -> Prediction | None:
    timed = next((point for point in case.points if point.step_times), None)
    measured, rounds = case.ratio, case.own.rounds
    if timed is None or measured is None or case.plain is None:
        return None
    passes = case.own.draft_passes / rounds
    if passes and timed.draft_step_s is None:
        return None
    tokens = tokens_per_round(places(case.points), rounds)
    times, width = theory.StepTimes.of(timed.step_times), case.own.target_rows / rounds
    draft_s = passes * (timed.draft_step_s or 0.0)
    cost = (times.at(width) + draft_s) / times.at(1)
    plain_pass = case.plain.target_pass_s / case.plain.rounds
    explanation = (
        "tokens per round = 1 + Σ over depths (share that drafted to it × product of the rates up to it) "
        f"= {tokens:.2f}; measured: {case.own.tokens} ÷ {rounds} = {case.own.tokens / rounds:.2f}",
        f"cost of a round = (t({width:.3g}) + drafting) ÷ t(1) = ({_ms(times.at(width))} + {_ms(draft_s)}) ÷ "
        f"{_ms(times.at(1))} = {cost:.2f}",
        f"predicted = tokens per round ÷ cost = {tokens:.2f} ÷ {cost:.2f} = {tokens / cost:.2f}×",
        f"measured = tokens per second ÷ plain decoding's = {case.own.tokens / case.own.decode_s:.1f} ÷ "
        f"{case.plain.tokens / case.plain.decode_s:.1f} = {measured:.2f}×, {case.own.runs} runs together",
        f"t(1) was {_ms(times.at(1))} at load and {_ms(plain_pass)} in the plain runs",
    )
    return Prediction(case.name, case.series, tokens / cost, measured, explanation)


def tokens_per_round(depths: Sequence[Place], rounds: int) -> float:
    """1 + sum over depths of (share of all rounds that drafted to it) x (product of the conditional rates up to it)."""
    rates = [place.conditional or 0.0 for place in depths]
    return 1 + sum(place.drafted / rounds * prod(rates[: place.depth]) for place in depths)


def _ms(seconds: float) -> str:
    return quantity(1000 * seconds, "ms")


def rows(points: Sequence[SweepPoint]) -> Rows:
    return [
        {"case": prediction.name, "predicted_speedup": prediction.expected, "measured_speedup": prediction.measured}
        for prediction in predictions(points)
    ]


# --- the picture -----------------------------------------------------------------------------------------------------


def figure(points: Sequence[SweepPoint]) -> go.Figure | None:
    """Predicted against measured speedup: on the line the arithmetic explains the clock."""
    few = leading(points)
    found = leaders_first(predictions(points), few)
    if not found:
        return None
    drawn = draw_few(against_measured(found, "predicted = measured", "predicted speedup (×)"), few)
    left_out(drawn, unpredicted(points), "the time of a drafter's step is not known")
    return drawn


CHART = LabChart(
    "predicted",
    "Predicted against measured",
    "Do acceptance and pass times explain the clock?",
    "Predicted from the acceptance per depth and the step times measured at load; on the dashed line the "
    "prediction holds, below it the engine or the moment cost more.",
    "A prediction needs a drafter's acceptance, step times and plain runs, and these results lack one of them.",
    figure,
    rows,
    place=80,
)
