"""Memory-bound against measured speedup: what would be gained if reading weights were all that costs, and what was.

    MBSU = τ × c ÷ (γ + c),  τ = N ÷ R, γ = drafter passes ÷ R, c = target bytes ÷ drafter bytes per pass

The papers on small drafters compare by it (Goel et al. 2403.00858, VocabTrim 2506.22694). It leaves out the width of
the target's pass, the cache and every overhead, so on a CPU the two disagree. Reads sweep points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from specviz.app.lab.cases import CaseRuns, Rows, cases, fraction, paired
from specviz.app.lab.chart import LabChart
from specviz.app.lab.figure_parts import against_measured, draw_few, left_out
from specviz.app.lab.leading import leaders_first, leading
from specviz.protocol.sweeps.points import SweepPoint, memory_ratio_of
from specviz.theory.formulas import memory_bound_speedup


@dataclass(frozen=True, slots=True)
class Mark:
    """One case; `ratio` is c, None where its drafter makes no passes."""

    name: str
    series: str
    expected: float
    measured: float
    """all runs together"""
    ratio: float | None
    explanation: tuple[str, ...]


def marks(points: Sequence[SweepPoint]) -> list[Mark]:
    """Every case whose drafter's weights are known, with plain runs."""
    return [one for one in map(_mark, cases(paired(points))) if one is not None]


def unknown(points: Sequence[SweepPoint]) -> list[str]:
    """The measured cases whose drafter's passes read weights that nobody counted, or run beside the target's."""
    return [case.name for case in cases(paired(points)) if case.ratio is not None and _mark(case) is None]


def _mark(case: CaseRuns) -> Mark | None:
    own, measured, ratio = case.own, case.ratio, memory_ratio_of(case.points)
    known = all(point.mbsu is not None for point in case.points)
    if measured is None or case.plain is None or not known:
        return None
    tau, passes, reads = own.tokens / own.rounds, own.draft_passes / own.rounds, case.points[0].pass_reads
    lines = [fraction("τ", "output tokens ÷ target passes", own.tokens, own.rounds)]
    if own.draft_passes == 0 or ratio is None:
        value = tau
        lines.append("MBSU = τ by definition: its drafts read no weights")
    else:
        value = memory_bound_speedup(tau, passes, ratio)
        lines += [
            fraction("γ", "drafter passes ÷ target passes", own.draft_passes, own.rounds),
            f"MBSU = τ × c ÷ (γ + c) = {tau:.2f} × {ratio:.2f} ÷ ({passes:.2f} + {ratio:.2f}) = {value:.2f}×, "
            "c = target bytes ÷ drafter bytes" + (f"; a drafter pass reads {reads}" if reads else ""),
        ]
    lines.append(f"measured = tokens per second ÷ plain decoding's = {measured:.2f}×, {own.runs} runs together")
    return Mark(case.name, case.series, value, measured, ratio, tuple(lines))


def rows(points: Sequence[SweepPoint]) -> Rows:
    return [
        {"case": mark.name, "mbsu": mark.expected, "memory_ratio": mark.ratio, "measured_speedup": mark.measured}
        for mark in marks(points)
    ]


# --- the picture -----------------------------------------------------------------------------------------------------


def figure(points: Sequence[SweepPoint]) -> go.Figure | None:
    """Measured speedup over MBSU: below the line, something else than reading weights costs time."""
    few = leading(points)
    found = leaders_first(marks(points), few)
    if not found:
        return None
    drawn = draw_few(against_measured(found, "measured = MBSU", "MBSU, speedup by weights read (×)"), few)
    left_out(drawn, unknown(points), "the weights that their drafter reads were not counted")
    return drawn


CHART = LabChart(
    "mbsu",
    "Memory-bound against measured",
    "How much of the speedup by weights read does this machine give?",
    "MBSU counts the bytes of weights that passes read, and nothing else. On the dashed line the machine does what it "
    "says; far below it, small passes cost more than their bytes, as they do on a CPU.",
    "These results do not say how many weights their drafters read: measure the sweep again with this release.",
    figure,
    rows,
    place=85,
)
