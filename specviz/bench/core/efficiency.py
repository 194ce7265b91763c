"""Engine efficiency: the share of the measured time that bare forward passes explain.

efficiency = measured tokens/s ÷ (tokens per round ÷ (t(rows) + drafting time from bare passes)), which for the same
tokens is Σ over rounds of (t(rows of the target pass) + Σ t_drafter(rows of a drafter pass)) ÷ measured seconds.
What is missing from 1 is the engine's own work: masks, verdicts, bookkeeping, transfers.

Place in the flow: step times measured by the caller in, one number out. Knows nothing about clocks and models.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from specviz.errors import BenchError
from specviz.theory.formulas import StepTimes
from specviz.trace.events import Round


def ideal_seconds(rounds: Iterable[Round], target: StepTimes, drafter: StepTimes | None) -> float:
    """What the run's passes cost when nothing but the passes is done. Drafters without passes cost nothing here."""
    total = 0.0
    for one in rounds:
        total += target.at(one.scored.target_pass.rows)
        if drafter is not None:
            total += sum(drafter.at(single.rows) for single in one.drafted.passes)
    return total


def efficiency(runs: Sequence[tuple[Sequence[Round], float]], target: StepTimes, drafter: StepTimes | None) -> float:
    """(rounds, measured seconds) of several runs → efficiency over all of them together."""
    measured = sum(seconds for _, seconds in runs)
    if measured <= 0:
        raise BenchError("no run was timed, so there is no efficiency to report.")
    return sum(ideal_seconds(rounds, target, drafter) for rounds, _ in runs) / measured


def curve(seconds: Mapping[int, Sequence[float]]) -> StepTimes:
    """Row count → measured seconds of bare passes, spread over the bench; their medians as a curve.

    Raises BenchError where nothing was measured."""
    if not seconds:
        raise BenchError("no step time was measured, so there is nothing to compare the engine with.")
    rows = tuple(sorted(seconds))
    return StepTimes(rows, tuple(median(seconds[count]) for count in rows))
