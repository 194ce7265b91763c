"""Wasted candidates against target passes: what each way of ending drafts costs, in counts.

Longer drafts save target passes and waste candidates; a stop policy is good where it saves one without the other.
Only runs that every case has (prompt, repeat) are counted, because prompts differ more than policies do. Reads sweep
points; knows nothing about plotly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from specviz.app.lab.cases import Rows, Sums, cases, fraction
from specviz.protocol.sweeps.points import SweepPoint


@dataclass(frozen=True, slots=True)
class Mark:
    """One case on the prompts that all cases have; below and to the left is better."""

    name: str
    stopping: str
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
        Mark(case.name, case.stopping, Sums.of([point for point in case.points if _run(point) in common]))
        for case in found
    ]
    made = [one for one in made if one.sums.tokens > 0]
    return [replace(one, on_front=not any(_dominates(other, one) for other in made)) for one in made]


def _run(point: SweepPoint) -> tuple[str, int]:
    return point.prompt, point.repeat


def _dominates(one: Mark, other: Mark) -> bool:
    ours, theirs = (one.wasted, one.passes), (other.wasted, other.passes)
    return ours != theirs and ours[0] <= theirs[0] and ours[1] <= theirs[1]


def rows(points: Sequence[SweepPoint]) -> Rows:
    return [
        {
            "case": mark.name,
            "stop_policy": mark.stopping,
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
