"""How much of the draft survived, by position, as bars: the two small pictures below the player.

Reads a trace's rounds; the numbers are defined in `metrics`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specviz.theory import metrics
from specviz.trace.events import Round


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: `height` in [0, 1] of the panel, `value` as printed above it, `explanation` for hover and readers."""

    label: str
    height: float
    value: str
    explanation: str


@dataclass(frozen=True, slots=True)
class BarPanel:
    title: str
    axis: str
    bars: tuple[Bar, ...]
    empty: str
    """what to say where there is nothing to draw"""


NOTHING_DRAFTED = "Nothing was drafted in this run, so there is nothing to accept: this is plain decoding."


def acceptance_by_depth(rounds: Sequence[Round]) -> BarPanel:
    """Per depth: rounds that accepted it / rounds that drafted to it."""
    bars = []
    for depth, (drafted, accepted) in enumerate(metrics.acceptance_by_depth(rounds), start=1):
        share = accepted / drafted if drafted else 0.0
        bars.append(
            Bar(
                str(depth),
                share,
                f"{share:.2f}",
                f"depth {depth}: accepted in {accepted} of {drafted} rounds that drafted it",
            )
        )
    return BarPanel("Accepted, by depth in the draft", "depth", tuple(bars), NOTHING_DRAFTED)


def accepted_lengths(rounds: Sequence[Round]) -> BarPanel:
    """Per number of accepted tokens: how many rounds ended with it."""
    counts, steps = metrics.acceptance_histogram(rounds), metrics.num_spec_steps(rounds)
    most = max(counts, default=0)
    bars = tuple(
        Bar(
            str(length),
            count / most if most else 0.0,
            str(count),
            f"{count} of {steps} rounds accepted {length}",
        )
        for length, count in enumerate(counts)
    )
    return BarPanel("Tokens accepted per round", "accepted tokens", bars, NOTHING_DRAFTED)
