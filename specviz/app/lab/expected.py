"""Expected against measured speedup: what arithmetic says that a drafter gains, and what the clock says.

Predicted: does the arithmetic of acceptance and pass times explain the clock?

    tokens per round  = 1 + Σ_d (share of rounds that drafted to depth d) × Π_{i≤d} a_i
    predicted speedup = tokens per round ÷ ((t(rows) + drafter passes per round × t_draft) ÷ t(1))

a_i is the acceptance of depth i given the ones before, rows the mean number of rows per target pass; t and t_draft are
the step times measured when the models were loaded, not those of the runs. So the prediction knows no engine overhead
and no busy moments, and takes acceptance to be independent of how long a draft is. t_draft is the mean pass of a round
of four behind a target pass; the first of them is the dearest, so chains of one and two are predicted too fast. For a
full-length chain it is formula 1 of Leviathan et al. (2211.17192) with a rate of its own per depth.

Memory-bound: what would be gained if reading weights were all that costs.

    MBSU = τ × c ÷ (γ + c),  τ = N ÷ R, γ = drafter passes ÷ R, c = target bytes ÷ drafter bytes per pass

The papers on small drafters compare by it (Goel et al. 2403.00858, VocabTrim 2506.22694). It leaves out the width of
the target's pass, the cache and every overhead, so on a CPU the two disagree. Reads sweep points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import plotly.graph_objects as go

from specviz.app.lab.cases import CaseRuns, Rows, cases, fraction, leaders_first, leading, paired
from specviz.app.lab.chart import LabChart
from specviz.app.lab.depths import Place, places
from specviz.app.look.style import HEIGHT, TEXT, draw_few, hover, label, left_out, look, quantity, style
from specviz.protocol.sweeps.points import SweepPoint
from specviz.theory import formulas as theory
from specviz.theory.formulas import memory_bound_speedup
from specviz.theory.rows import memory_ratio_of


@dataclass(frozen=True, slots=True)
class Expected:
    """A case with the speedup that some arithmetic gives it, and the one that was measured."""

    name: str
    series: str
    expected: float
    measured: float
    """all runs together"""
    explanation: tuple[str, ...]
    memory_ratio: float | None = None
    """c of MBSU; None where the drafter makes no passes, and in a prediction, which needs none"""


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """What gives a case its expected speedup, and how its chart speaks of that."""

    of: Callable[[CaseRuns], Expected | None]
    """None where the case lacks a number that it needs"""
    equality: str
    """what holds on the dashed line"""
    axis: str
    lack: str
    """why a measured case has no place in the chart"""

    def cases(self, points: Sequence[SweepPoint]) -> list[Expected]:
        """Every case with plain runs and all that is needed."""
        return [made for made in map(self.of, cases(paired(points))) if made is not None]

    def without(self, points: Sequence[SweepPoint]) -> list[str]:
        """The measured cases that lack something."""
        return [case.name for case in cases(paired(points)) if case.ratio is not None and self.of(case) is None]

    def figure(self, points: Sequence[SweepPoint]) -> go.Figure | None:
        """Measured speedup over the expected one, and the line where both are equal."""
        few = leading(points)
        placed = leaders_first(self.cases(points), few)
        if not placed:
            return None
        top = 1.1 * max(max(case.expected, case.measured) for case in placed)
        line = {"color": TEXT, "width": 1.5, "dash": "dash"}
        drawn = go.Figure(
            go.Scatter(x=[0, top], y=[0, top], mode="lines", name=self.equality, hoverinfo="skip", line=line)
        )
        for index, series in enumerate(dict.fromkeys(case.series for case in placed)):
            same, (colour, mark) = [case for case in placed if case.series == series], look(index)
            drawn.add_trace(
                go.Scatter(
                    x=[case.expected for case in same],
                    y=[case.measured for case in same],
                    mode="markers",
                    name=label(series),
                    legendgroup=label(series),
                    hovertext=[hover(case.name, case.explanation) for case in same],
                    hoverinfo="text",
                    marker={"symbol": mark, "size": 11, "color": colour},
                )
            )
        drawn.update_xaxes(title=self.axis, range=[0, top])
        drawn.update_yaxes(title="measured speedup (×)", range=[0, top])
        draw_few(style(drawn, HEIGHT), few)
        left_out(drawn, self.without(points), self.lack)
        return drawn


# --- predicted -------------------------------------------------------------------------------------------------------


def _prediction(case: CaseRuns) -> Expected | None:
    timed = next((point for point in case.points if point.step_times), None)
    measured, rounds = case.ratio, case.sums.rounds
    if timed is None or measured is None or case.plain is None:
        return None
    passes = case.sums.draft_passes / rounds
    if passes and timed.draft_step_s is None:
        return None
    tokens = tokens_per_round(places(case.points), rounds)
    times, width = theory.StepTimes.of(timed.step_times), case.sums.target_rows / rounds
    draft_s = passes * (timed.draft_step_s or 0.0)
    cost = (times.at(width) + draft_s) / times.at(1)
    plain_pass = case.plain.target_pass_s / case.plain.rounds
    explanation = (
        "tokens per round = 1 + Σ over depths (share that drafted to it × product of the rates up to it) "
        f"= {tokens:.2f}; measured: {case.sums.tokens} ÷ {rounds} = {case.sums.tokens / rounds:.2f}",
        f"cost of a round = (t({width:.3g}) + drafting) ÷ t(1) = ({_ms(times.at(width))} + {_ms(draft_s)}) ÷ "
        f"{_ms(times.at(1))} = {cost:.2f}",
        f"predicted = tokens per round ÷ cost = {tokens:.2f} ÷ {cost:.2f} = {tokens / cost:.2f}×",
        f"measured = tokens per second ÷ plain decoding's = {case.sums.tokens / case.sums.decode_s:.1f} ÷ "
        f"{case.plain.tokens / case.plain.decode_s:.1f} = {measured:.2f}×, {case.sums.runs} runs together",
        f"t(1) was {_ms(times.at(1))} at load and {_ms(plain_pass)} in the plain runs",
    )
    return Expected(case.name, case.series, tokens / cost, measured, explanation)


def tokens_per_round(depths: Sequence[Place], rounds: int) -> float:
    """1 + sum over depths of (share of all rounds that drafted to it) x (product of the conditional rates up to it)."""
    rates = [depth.conditional or 0.0 for depth in depths]
    return 1 + sum(depth.drafted / rounds * prod(rates[: depth.depth]) for depth in depths)


def _ms(seconds: float) -> str:
    return quantity(1000 * seconds, "ms")


PREDICTION = Arithmetic(
    _prediction,
    "predicted = measured",
    "predicted speedup (×)",
    "the time of a drafter's step is not known",
)


def predicted_rows(points: Sequence[SweepPoint]) -> Rows:
    return [
        {"case": case.name, "predicted_speedup": case.expected, "measured_speedup": case.measured}
        for case in PREDICTION.cases(points)
    ]


PREDICTED = LabChart(
    "predicted",
    "Predicted against measured",
    "Do acceptance and pass times explain the clock?",
    "Predicted from the acceptance per depth and the step times measured at load; on the dashed line the "
    "prediction holds, below it the engine or the moment cost more.",
    "A prediction needs a drafter's acceptance, step times and plain runs, and these results lack one of them.",
    PREDICTION.figure,
    predicted_rows,
    place=80,
)


# --- memory-bound ----------------------------------------------------------------------------------------------------


def _memory_bound(case: CaseRuns) -> Expected | None:
    sums, measured, ratio = case.sums, case.ratio, memory_ratio_of(case.points)
    known = all(point.mbsu is not None for point in case.points)
    if measured is None or case.plain is None or not known:
        return None
    tau, passes, reads = sums.tokens / sums.rounds, sums.draft_passes / sums.rounds, case.points[0].pass_reads
    lines = [fraction("τ", "output tokens ÷ target passes", sums.tokens, sums.rounds)]
    if sums.draft_passes == 0 or ratio is None:
        value = tau
        lines.append("MBSU = τ by definition: its drafts read no weights")
    else:
        value = memory_bound_speedup(tau, passes, ratio)
        lines += [
            fraction("γ", "drafter passes ÷ target passes", sums.draft_passes, sums.rounds),
            f"MBSU = τ × c ÷ (γ + c) = {tau:.2f} × {ratio:.2f} ÷ ({passes:.2f} + {ratio:.2f}) = {value:.2f}×, "
            "c = target bytes ÷ drafter bytes" + (f"; a drafter pass reads {reads}" if reads else ""),
        ]
    lines.append(f"measured = tokens per second ÷ plain decoding's = {measured:.2f}×, {sums.runs} runs together")
    return Expected(case.name, case.series, value, measured, tuple(lines), ratio)


MBSU = Arithmetic(
    _memory_bound,
    "measured = MBSU",
    "MBSU, speedup by weights read (×)",
    "the weights that their drafter reads were not counted",
)


def memory_bound_rows(points: Sequence[SweepPoint]) -> Rows:
    return [
        {"case": case.name, "mbsu": case.expected, "memory_ratio": case.memory_ratio, "measured_speedup": case.measured}
        for case in MBSU.cases(points)
    ]


MEMORY_BOUND = LabChart(
    "mbsu",
    "Memory-bound against measured",
    "How much of the memory-bound speedup does this machine reach?",
    "MBSU counts the bytes of weights that passes read, and nothing else. On the dashed line the machine reaches it; "
    "far below, small passes cost more than their bytes, as they do on a CPU.",
    "These results do not say how many weights their drafters read: measure the sweep again with this release.",
    MBSU.figure,
    memory_bound_rows,
    place=85,
)
