"""What is given for what: drafting time against tokens per target pass, and wasted candidates against target passes.

The latency–acceptance plane has the message of Decoding Speculative Decoding (Yan, Agarwal and Venkataraman,
2402.01528): a drafter's latency decides as much as its acceptance does. With x the drafting time per round ÷ a plain
pass, y the tokens per target pass and k the cost of the wider target pass ÷ a plain pass, the speedup without engine
overhead is y ÷ (x + k). The lines of equal speedup need one k: the median of the measured ones.

Longer drafts save target passes and waste candidates; a stop policy is good where it saves one without the other.
There, only runs that every case has (prompt, repeat) are counted, because prompts differ more than policies do. Reads
sweep points.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import log10
from statistics import median

import plotly.graph_objects as go

from specviz.app.lab.cases import CaseRuns, Rows, Sums, cases, fraction, leaders_first, leading, paired
from specviz.app.lab.chart import NO_PLAIN, LabChart
from specviz.app.look.style import HEIGHT, TEXT, draw_few, hover, label, left_out, look, style
from specviz.protocol.sweeps.points import SweepPoint
from specviz.theory.speedup import times_as_fast

SPEEDUPS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0)
SAMPLES = 60
"""points of a line of equal speedup: it is straight, but not on an axis of powers of ten"""


@dataclass(frozen=True, slots=True)
class Spot:
    """One drafter at one setting."""

    name: str
    series: str
    gamma: int | None
    latency: float
    """seconds of drafting per round / seconds of a plain pass"""
    tokens: float
    """output tokens / target passes, rounds without a draft among them"""
    pass_cost: float
    """seconds of its target passes per round / seconds of a plain pass"""
    ratio: float
    """measured speedup, all runs together"""
    explanation: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Contour:
    speedup: float
    latencies: tuple[float, ...]
    tokens: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Plane:
    spots: tuple[Spot, ...]
    contours: tuple[Contour, ...]
    pass_cost: float
    """k of the contours"""
    latency_range: tuple[float, float]
    tokens_range: tuple[float, float]
    without: tuple[str, ...]
    """cases whose drafting took no measurable time: an axis of powers of ten has no place for them"""


def plane(points: Sequence[SweepPoint]) -> Plane | None:
    """Every case that can be placed; None where there is none."""
    measured = spots(points)
    placed = [spot for spot in measured if spot.latency > 0]
    if not placed:
        return None
    cost = median(spot.pass_cost for spot in measured)
    reach = (min(spot.latency for spot in placed) / 1.6, max(spot.latency for spot in placed) * 1.6)
    height = (0.9, max(spot.tokens for spot in placed) * 1.12)
    lines = [_contour(speedup, cost, reach) for speedup in SPEEDUPS]
    crossing = [line for line in lines if line.tokens[0] < height[1] and line.tokens[-1] > height[0]]
    without = tuple(spot.name for spot in measured if spot.latency <= 0)
    return Plane(tuple(placed), tuple(crossing), cost, reach, height, without)


def _contour(speedup: float, cost: float, reach: tuple[float, float]) -> Contour:
    low, high = map(log10, reach)
    latencies = tuple(10 ** (low + (high - low) * step / (SAMPLES - 1)) for step in range(SAMPLES))
    return Contour(speedup, latencies, tuple(speedup * (latency + cost) for latency in latencies))


def spots(points: Sequence[SweepPoint]) -> list[Spot]:
    return [_spot(case, case.plain) for case in cases(paired(points)) if case.plain is not None and case.sums.timed]


def _spot(case: CaseRuns, plain: Sums) -> Spot:
    sums = case.sums
    plain_pass = plain.target_pass_s / plain.rounds
    draft, wide = sums.draft_s / sums.rounds, sums.target_pass_s / sums.rounds
    tokens = sums.tokens / sums.rounds
    ratio = times_as_fast(sums.tokens / sums.decode_s, plain.tokens / plain.decode_s)
    units = ("s", "s")
    explanation = (
        fraction("tokens per target pass", "tokens ÷ target passes", sums.tokens, sums.rounds),
        fraction("drafting ÷ plain pass", "drafting per round ÷ plain pass", draft, plain_pass, units),
        fraction("wider pass ÷ plain pass", "target pass per round ÷ plain pass", wide, plain_pass, units),
        f"without engine overhead = tokens ÷ (drafting + wider pass) = {tokens:.2f} ÷ "
        f"({draft / plain_pass:.2f} + {wide / plain_pass:.2f}) = {tokens * plain_pass / (draft + wide):.2f}×",
        f"measured speedup, {sums.runs} runs together: {ratio:.2f}×",
    )
    return Spot(case.name, case.series, case.gamma, draft / plain_pass, tokens, wide / plain_pass, ratio, explanation)


def plane_rows(points: Sequence[SweepPoint]) -> Rows:
    return [
        {
            "case": spot.name,
            "drafting_per_plain_pass": spot.latency,
            "tokens_per_target_pass": spot.tokens,
            "wider_pass_per_plain_pass": spot.pass_cost,
            "measured_speedup": spot.ratio,
        }
        for spot in spots(points)
    ]


# --- the picture -----------------------------------------------------------------------------------------------------


def plane_figure(points: Sequence[SweepPoint]) -> go.Figure | None:
    """The latency–acceptance plane: drafters as marks, lines of equal speedup behind them."""
    view = plane(points)
    if view is None:
        return None
    drawn = go.Figure([_equal_speedup(line) for line in view.contours])
    drawn.add_trace(_labels(view))
    few = leading(points)
    series = dict.fromkeys(spot.series for spot in leaders_first(view.spots, few))
    for index, name in enumerate(series):
        drawn.add_trace(_series([spot for spot in view.spots if spot.series == name], *look(index)))
    drawn.update_xaxes(
        title="drafting per round ÷ a plain pass",
        type="log",
        range=list(map(log10, view.latency_range)),
        exponentformat="none",
        dtick="D2",
    )
    drawn.update_yaxes(title="tokens per target pass", range=list(view.tokens_range))
    draw_few(style(drawn, HEIGHT), few)
    left_out(drawn, view.without, "no measurable drafting time, and a logarithmic axis has no zero")
    return drawn


def _equal_speedup(line: Contour) -> go.Scatter:
    even = line.speedup == 1
    look = {"color": TEXT, "width": 2 if even else 1, "dash": "dash" if even else "dot"}
    return go.Scatter(
        x=list(line.latencies), y=list(line.tokens), mode="lines", showlegend=False, hoverinfo="skip", line=look
    )


def _labels(view: Plane) -> go.Scatter:
    """Each line's speedup at the last place where it is inside the chart."""
    places = []
    for line in view.contours:
        inside = [at for at, tokens in enumerate(line.tokens) if tokens < 0.94 * view.tokens_range[1]]
        at = min(inside[-1] if inside else 0, len(line.tokens) - 3)
        places.append((line, line.latencies[at], line.tokens[at]))
    return go.Scatter(
        x=[latency for _, latency, _ in places],
        y=[tokens for _, _, tokens in places],
        mode="text",
        text=[f"{line.speedup:g}×" for line, _, _ in places],
        textposition="top left",
        textfont={"size": 12, "color": TEXT},
        showlegend=False,
        hovertext=[
            hover(
                f"equal speedup {line.speedup:g}×",
                [
                    f"tokens per pass = {line.speedup:g} × (drafting ÷ plain pass + {view.pass_cost:.2f}); "
                    f"{view.pass_cost:.2f} is the median measured cost of the wider target pass in plain passes. "
                    "Engine overhead is left out."
                ],
            )
            for line, _, _ in places
        ],
        hoverinfo="text",
    )


def _series(spots: Sequence[Spot], colour: str, mark: str) -> go.Scatter:
    """The lengths of one drafter, joined; the longest is named, so that the line has a direction."""
    ordered = sorted(spots, key=lambda spot: spot.gamma or 0)
    return go.Scatter(
        x=[spot.latency for spot in ordered],
        y=[spot.tokens for spot in ordered],
        mode="lines+markers+text",
        name=label(ordered[0].series),
        legendgroup=label(ordered[0].series),
        text=[*[""] * (len(ordered) - 1), "" if ordered[-1].gamma is None else f"γ={ordered[-1].gamma}"],
        textposition="bottom center",
        textfont={"size": 11, "color": TEXT},
        hovertext=[hover(spot.name, spot.explanation) for spot in ordered],
        hoverinfo="text",
        line={"color": colour, "width": 1},
        marker={"symbol": mark, "size": 11, "color": colour},
    )


PLANE = LabChart(
    "plane",
    "Latency–acceptance plane",
    "Is a drafter worth its time: what does it cost, and what does it bring?",
    "To the left drafting is cheap, upwards the target accepts more. Dotted lines join equal speedups, with one "
    "price for the wider target pass: the median measured here, and no engine overhead; the dashed one is "
    "break-even.",
    NO_PLAIN,
    plane_figure,
    plane_rows,
    place=20,
)


# --- wasted candidates -----------------------------------------------------------------------------------------------


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
            fraction("wasted per token", "(drafted − accepted) ÷ output tokens", wasted, self.sums.tokens),
            fraction("passes per token", "target passes ÷ output tokens", self.sums.rounds, self.sums.tokens),
            f"{self.sums.runs} runs, the same prompts for every mark"
            + ("; nothing here is better in both" if self.on_front else ""),
        ]


def marks(points: Sequence[SweepPoint]) -> list[Mark]:
    """One mark per case, on the runs common to all; none where they have no run in common."""
    measured = cases(points)
    common = set.intersection(*({_run(point) for point in case.points} for case in measured)) if measured else set()
    made = [
        Mark(case.name, case.stop_policy, Sums.of([point for point in case.points if _run(point) in common]))
        for case in measured
    ]
    made = [mark for mark in made if mark.sums.tokens > 0]
    return [replace(mark, on_front=not any(_dominates(other, mark) for other in made)) for mark in made]


def _run(point: SweepPoint) -> tuple[str, int]:
    return point.prompt, point.repeat


def _dominates(mark: Mark, other: Mark) -> bool:
    mine, theirs = (mark.wasted, mark.passes), (other.wasted, other.passes)
    return mine != theirs and mine[0] <= theirs[0] and mine[1] <= theirs[1]


def economy_rows(points: Sequence[SweepPoint]) -> Rows:
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


def economy_figure(points: Sequence[SweepPoint]) -> go.Figure | None:
    """Wasted candidates against target passes: one mark per case, one look per stop policy, a line along the front."""
    drafts = marks(points)
    if not drafts:
        return None
    front = sorted((mark for mark in drafts if mark.on_front), key=lambda mark: mark.wasted)
    drawn = go.Figure(
        go.Scatter(
            x=[mark.wasted for mark in front],
            y=[mark.passes for mark in front],
            mode="lines",
            name="front",
            hoverinfo="skip",
            line={"color": TEXT, "width": 1.5, "dash": "dash"},
        )
    )
    named = _apart(front, drafts)
    for index, policy in enumerate(dict.fromkeys(mark.stop_policy for mark in drafts)):
        same = [mark for mark in drafts if mark.stop_policy == policy]
        drawn.add_trace(_policy(policy, same, named, *look(index)))
    drawn.update_xaxes(title="wasted candidates per output token", rangemode="tozero")
    drawn.update_yaxes(title="target passes per output token", rangemode="tozero")
    return style(drawn, HEIGHT)


def _apart(front: Sequence[Mark], others: Sequence[Mark]) -> set[str]:
    """Names that do not lie over one another: along the front, those a line of text below the last one named."""
    line = LINE * max(mark.passes for mark in others)
    named: list[Mark] = []
    for mark in front:
        if not named or named[-1].passes - mark.passes >= line:
            named.append(mark)
    return {mark.name for mark in named}


def _policy(policy: str, marks: Sequence[Mark], named: Collection[str], colour: str, mark: str) -> go.Scatter:
    """One look per policy; marks on the front have their names beside them, where there is room."""
    return go.Scatter(
        x=[spot.wasted for spot in marks],
        y=[spot.passes for spot in marks],
        mode="markers+text",
        name=f"stop policy {label(policy)}",
        text=[f"  {label(spot.name)}" if spot.name in named else "" for spot in marks],
        textposition="middle right",
        textfont={"size": 11, "color": TEXT},
        hovertext=[hover(spot.name, spot.explanation) for spot in marks],
        hoverinfo="text",
        marker={"symbol": mark, "size": 11, "color": colour},
    )


ECONOMY = LabChart(
    "economy",
    "Wasted drafts against target passes",
    "Which way of ending a draft saves target passes without wasting candidates?",
    "Left and low is better; the dashed line joins those that nothing beats in both. Counts, no times, and only "
    "prompts that every setting ran. Tick stop policies above to compare them.",
    "There is no prompt yet that every setting has run: let the sweep go on.",
    economy_figure,
    economy_rows,
    place=70,
)
