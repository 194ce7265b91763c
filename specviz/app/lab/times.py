"""Where the time goes: engine milliseconds of drafting, target pass, judging and committing in a round, plain decoding
beside; and the speedup waterfall, from tokens per target pass to the measured ratio, one cost after the other.

For the waterfall, with N tokens, R rounds, S decode seconds, D drafting seconds and V seconds inside the target's
passes, and the same letters with 0 for the plain runs of the same prompts:

    tokens per pass       τ = (N/R) ÷ (N0/R0)
    after drafting        τ · (V0/R0) ÷ (V0/R0 + D/R)
    after the wider pass  τ · (V0/R0) ÷ (V/R + D/R)
    measured              τ · (S0/R0) ÷ (S/R)  =  (N/S) ÷ (N0/S0)

so the last step is everything outside drafting and target passes, against what plain decoding spends there itself; it
may well be a gain. The factors multiply to the measured ratio exactly. Reads sweep points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from specviz.app.lab.cases import PLAIN, CaseRuns, Rows, Sums, cases, fastest, fraction, paired, plain_runs
from specviz.app.lab.chart import NO_PLAIN, LabChart
from specviz.app.look.style import (
    HEIGHT,
    SERIES,
    break_even,
    hover,
    in_rows,
    label,
    legend_above,
    look,
    quantity,
    style,
)
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
    made = [Round(PLAIN, plain_runs(points)), *(Round(case.name, case.sums) for case in fastest(cases(points)))]
    return [mean for mean in made if mean.sums.timed]


def phase_rows(points: Sequence[SweepPoint]) -> Rows:
    """Every case, not only those drawn."""
    made = [Round(PLAIN, plain_runs(points)), *(Round(case.name, case.sums) for case in cases(points))]
    return [
        {
            "case": mean.name,
            "phase": name,
            "seconds": seconds(mean.sums),
            "rounds": mean.sums.rounds,
            "milliseconds_per_round": mean.milliseconds(index),
        }
        for mean in made
        if mean.sums.timed
        for index, (name, seconds) in enumerate(PHASES)
    ]


# --- the picture -----------------------------------------------------------------------------------------------------


def phase_figure(points: Sequence[SweepPoint]) -> go.Figure | None:
    """Time per round as stacked bars, one colour per phase."""
    means = mean_rounds(points)
    if not means:
        return None
    drawn = go.Figure(
        [
            go.Bar(
                x=[mean.milliseconds(phase) for mean in means],
                y=[label(mean.name) for mean in means],
                orientation="h",
                name=name,
                hovertext=[hover(f"{mean.name}: {name}", mean.explanation(phase)) for mean in means],
                hoverinfo="text",
                marker={"color": look(phase)[0]},
            )
            for phase, (name, _) in enumerate(PHASES)
        ]
    )
    drawn.update_layout(barmode="stack", bargap=0.3)
    drawn.update_xaxes(title="engine milliseconds per round", rangemode="tozero")
    drawn.update_yaxes(autorange="reversed")
    in_rows(legend_above(style(drawn, HEIGHT)), len(means))
    return drawn.update_layout(legend={"traceorder": "normal"})


PHASES_CHART = LabChart(
    "phases",
    "Time per round",
    "What does a round spend its time on?",
    "Mean engine time of a round, stacked by phase, beside a round of plain decoding, which brings one token. "
    "Each drafter at its fastest setting.",
    "These results have no times for a round.",
    phase_figure,
    phase_rows,
    place=50,
)


# --- the waterfall ---------------------------------------------------------------------------------------------------


STEPS = ("tokens per target pass", "cost of drafting", "cost of the wider pass", "engine overhead", "measured speedup")


@dataclass(frozen=True, slots=True)
class Step:
    """One bar: it reaches from `before` to `after`. The first begins at 0, the last is the whole measured ratio."""

    name: str
    before: float
    after: float
    explanation: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Waterfall:
    name: str
    steps: tuple[Step, ...]


def waterfalls(points: Sequence[SweepPoint], most: int = 8) -> list[Waterfall]:
    """Each drafter at its fastest speculation length, the fastest first, at most `most` of them."""
    return _timed(fastest(cases(paired(points))))[:most]


def _timed(measured: Sequence[CaseRuns]) -> list[Waterfall]:
    return [
        _waterfall(case, case.plain, case.ratio)
        for case in measured
        if case.plain is not None and case.ratio is not None
    ]


def _waterfall(case: CaseRuns, plain: Sums, measured: float) -> Waterfall:
    sums = case.sums
    tau = (sums.tokens / sums.rounds) / (plain.tokens / plain.rounds)
    plain_pass, plain_round = plain.target_pass_s / plain.rounds, plain.decode_s / plain.rounds
    draft, wide, whole = sums.draft_s / sums.rounds, sums.target_pass_s / sums.rounds, sums.decode_s / sums.rounds
    drafted = tau * plain_pass / (plain_pass + draft)
    widened = tau * plain_pass / (wide + draft)
    per_round = ("s", "rounds")
    first = fraction("tokens per target pass", "tokens ÷ target passes", sums.tokens, sums.rounds)
    plain_line = fraction(
        "plain pass", "seconds in plain passes ÷ plain rounds", plain.target_pass_s, plain.rounds, per_round, "ms"
    )
    draft_line = fraction("drafting per round", "drafting seconds ÷ rounds", sums.draft_s, sums.rounds, per_round, "ms")
    wide_line = fraction(
        "wider pass", "seconds in target passes ÷ rounds", sums.target_pass_s, sums.rounds, per_round, "ms"
    )
    around = (
        f"outside drafting and passes, plain decoding: {_ms(plain_round)} a round ÷ {_ms(plain_pass)} = "
        f"{plain_round / plain_pass:.2f}; here: {_ms(whole)} ÷ {_ms(draft + wide)} = {whole / (draft + wide):.2f}"
    )
    speed = (
        f"speedup = tokens per second ÷ plain decoding's = ({sums.tokens} ÷ {quantity(sums.decode_s, 's')}) ÷ "
        f"({plain.tokens} ÷ {quantity(plain.decode_s, 's')}) = {measured:.2f}, {sums.runs} runs together"
    )
    median = f"median over the prompts, as in the table: {case.median_ratio:.2f}"
    levels = (0.0, tau, drafted, widened, measured)
    texts = (
        (f"{first} (plain decoding: {plain.tokens / plain.rounds:.2f})",),
        (_times("plain pass ÷ (plain pass + drafting)", drafted / tau), plain_line, draft_line),
        (
            _times("(plain pass + drafting) ÷ (wider pass + drafting)", widened / drafted),
            wide_line,
            plain_line,
            draft_line,
        ),
        (_times("plain decoding's overhead ÷ this one's", measured / widened), around),
    )
    steps = [
        Step(name, before, after, text)
        for name, before, after, text in zip(STEPS[:4], levels[:4], levels[1:], texts, strict=True)
    ]
    return Waterfall(case.name, (*steps, Step(STEPS[4], 0.0, measured, (speed, median))))


def _ms(seconds: float) -> str:
    return quantity(1000 * seconds, "ms")


def _times(formula: str, factor: float) -> str:
    return f"factor = {formula} = {factor:.3f}"


def waterfall_rows(points: Sequence[SweepPoint]) -> Rows:
    """Every case, not only those drawn."""
    return [
        {"case": waterfall.name, "step": step.name, "before": step.before, "after": step.after}
        for waterfall in _timed(cases(paired(points)))
        for step in waterfall.steps
    ]


# --- the picture -----------------------------------------------------------------------------------------------------


COLOURS = (SERIES[0], SERIES[1], SERIES[4], SERIES[3], SERIES[2])
MOST = 8
"""drafters drawn; more would be too thin to point at"""
FLAT, UPRIGHT = 5, 40
"""more names than that stand upright on a phone, and take that much for each, in pixels, from the bars"""


def waterfall_figure(points: Sequence[SweepPoint]) -> go.Figure | None:
    """The speedup waterfall: per drafter five bars side by side, the middle three hanging between their levels."""
    all_drawn = waterfalls(points, MOST)
    if not all_drawn:
        return None
    drawn = go.Figure()
    for index, (name, colour) in enumerate(zip(STEPS, COLOURS, strict=True)):
        steps = [waterfall.steps[index] for waterfall in all_drawn]
        drawn.add_trace(
            go.Bar(
                x=[label(waterfall.name) for waterfall in all_drawn],
                base=[step.before for step in steps],
                y=[step.after - step.before for step in steps],
                name=name,
                hovertext=[
                    hover(f"{waterfall.name}: {name}", [_level(step.before, step.after), *step.explanation])
                    for waterfall, step in zip(all_drawn, steps, strict=True)
                ],
                hoverinfo="text",
                marker={"color": colour},
            )
        )
    break_even(drawn)
    drawn.update_layout(barmode="group", bargap=0.2, bargroupgap=0)
    drawn.update_yaxes(rangemode="tozero")
    return legend_above(style(drawn, HEIGHT + UPRIGHT * max(0, len(all_drawn) - FLAT)))


def _level(before: float, after: float) -> str:
    return f"{after:.2f}×" if before == 0 else f"{before:.2f}× → {after:.2f}×"


WATERFALL = LabChart(
    "waterfall",
    "Speedup waterfall",
    "What becomes of the tokens per target pass on the clock?",
    "Each drafter starts at its tokens per target pass and loses to drafting, to the wider target pass and to the "
    "engine around them; the green bar is the measured speedup, and the factors multiply to it exactly. Each "
    f"drafter at its fastest setting, the {MOST} fastest of them; all numbers are sums over its runs.",
    NO_PLAIN,
    waterfall_figure,
    waterfall_rows,
    place=10,
)
