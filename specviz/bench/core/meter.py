"""Bare passes of the very models a bench runs, timed between its repeats: what engine efficiency divides by.

Place in the flow: `specviz bench` hands `measure` to the contest's `before_repeat`. Knows nothing about drafters,
verifiers or traces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from specviz.bench.core.efficiency import curve
from specviz.bench.core.report import Curves
from specviz.lm.base import LanguageModel
from specviz.lm.step_time import step_times


@dataclass(slots=True)
class Meter:
    """Collects bare step times of target and drafter over the bench."""

    target: LanguageModel
    drafter: LanguageModel | None
    target_rows: Sequence[int]
    drafter_rows: Sequence[int]
    cached_rows: int
    """about the middle of the runs' cache lengths"""
    seconds: dict[str, dict[int, list[float]]] = field(default_factory=lambda: {"target": {}, "drafter": {}})

    def measure(self, repeat: int) -> None:
        """Time both models once more. One cached row more per repeat keeps the measurement from being remembered."""
        self._add("target", self.target, self.target_rows, repeat)
        if self.drafter is not None:
            self._add("drafter", self.drafter, self.drafter_rows, repeat)

    def curves(self) -> Curves | None:
        """None where nothing has been measured yet."""
        target, drafter = self.seconds["target"], self.seconds["drafter"]
        return Curves(curve(target), curve(drafter) if drafter else None) if target else None

    def medians(self) -> dict[str, dict[int, float]]:
        """Role → row count → seconds."""
        return {
            role: {rows: median(values) for rows, values in measured.items()}
            for role, measured in self.seconds.items()
            if measured
        }

    def _add(self, role: str, model: LanguageModel, rows: Sequence[int], repeat: int) -> None:
        for time in step_times(model, tuple(rows), self.cached_rows + repeat):
            self.seconds[role].setdefault(time.rows, []).append(time.median_s)


def rows_in_use(gammas: Sequence[int], branching: str) -> tuple[list[int], list[int]]:
    """(target rows, drafter rows) of the plan's rounds: chains of γ + 1, the whole tree, its levels, catching up."""
    widths = [1]
    for children in (int(one) for one in branching.split(",") if one.strip()):
        widths.append(widths[-1] * children)
    target = sorted({1, 2, *(gamma + 1 for gamma in gammas), sum(widths)})
    return target, sorted({1, 2, 3, *widths})
