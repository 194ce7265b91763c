"""Engine efficiency: the share of the measured time that bare forward passes explain.

efficiency = measured tokens/s ÷ (tokens per round ÷ (t(rows) + drafting time from bare passes)), which for the same
tokens is Σ over rounds of (t(rows of the target pass) + Σ t_drafter(rows of a drafter pass)) ÷ measured seconds.
What is missing from 1 is the engine's own work: masks, verdicts, bookkeeping, transfers.

Place in the flow: step times measured by the caller in, one number out. Knows nothing about clocks and models.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from specviz.errors import BenchError
from specviz.trace.events import Round


@dataclass(frozen=True, slots=True)
class StepCurve:
    """Measured seconds of a bare pass at some row counts; linear in between, the last slope beyond."""

    rows: tuple[int, ...]
    seconds: tuple[float, ...]

    @classmethod
    def of(cls, times: Mapping[int, float]) -> StepCurve:
        """Row count → seconds. Raises BenchError where nothing was measured."""
        if not times:
            raise BenchError("no step time was measured, so there is nothing to compare the engine with.")
        ordered = sorted(times.items())
        return cls(tuple(rows for rows, _ in ordered), tuple(seconds for _, seconds in ordered))

    def at(self, rows: int) -> float:
        """t(rows) in seconds."""
        if rows <= self.rows[0] or len(self.rows) == 1:
            return self.seconds[0]
        above = min(bisect_left(self.rows, rows), len(self.rows) - 1)
        left, right = self.rows[above - 1], self.rows[above]
        slope = (self.seconds[above] - self.seconds[above - 1]) / (right - left)
        return self.seconds[above - 1] + slope * (rows - left)


def ideal_seconds(rounds: Iterable[Round], target: StepCurve, drafter: StepCurve | None) -> float:
    """What the run's passes cost when nothing but the passes is done. Drafters without passes cost nothing here."""
    total = 0.0
    for one in rounds:
        total += target.at(one.scored.target_pass.rows)
        if drafter is not None:
            total += sum(drafter.at(single.rows) for single in one.drafted.passes)
    return total


def efficiency(runs: Sequence[tuple[Sequence[Round], float]], target: StepCurve, drafter: StepCurve | None) -> float:
    """(rounds, measured seconds) of several runs → efficiency over all of them together."""
    measured = sum(seconds for _, seconds in runs)
    if measured <= 0:
        raise BenchError("no run was timed, so there is no efficiency to report.")
    return sum(ideal_seconds(rounds, target, drafter) for rounds, _ in runs) / measured
