"""Error bars: how far a number would move with other prompts, by drawing the prompts anew (the bootstrap, Efron 1979).

Runs of one prompt resemble each other, so whole prompts are drawn, not rounds or tokens. Knows nothing about what is
measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from specviz.errors import BenchError

RESAMPLES = 2000
LEVEL = 0.95


class Estimate(NamedTuple):
    """A number with its interval."""

    value: float
    low: float
    high: float


def ratio_of_sums(parts: Sequence[tuple[float, float]], seed: int = 0) -> Estimate | None:
    """Σ numerator / Σ denominator over prompts, one pair each, with the central 95 % of it over resampled prompts.

    None where the denominators sum to 0. Resamples without a denominator are left out. Raises BenchError for nothing.
    """
    if not parts:
        raise BenchError("there are no runs to summarise; let at least one run finish.")
    table = np.asarray(parts, dtype=np.float64)
    total = table.sum(axis=0)
    if total[1] == 0.0:
        return None
    chosen = np.random.default_rng(seed).integers(0, len(table), size=(RESAMPLES, len(table)))
    sums = table[chosen].sum(axis=1)
    sums = sums[sums[:, 1] > 0.0]
    low, high = np.quantile(sums[:, 0] / sums[:, 1], ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return Estimate(float(total[0] / total[1]), float(low), float(high))


def mean(values: Sequence[float], seed: int = 0) -> Estimate | None:
    """The mean over prompts, in the same way."""
    return ratio_of_sums([(value, 1.0) for value in values], seed)


def median_over_prompts(values: Sequence[Sequence[float]], seed: int = 0) -> Estimate:
    """The median over prompts of the median of each one's repeats, with the central 95 % of it over resampled prompts.

    `values`: per prompt its runs. One prompt says nothing about others: low and high are then the value itself.
    Raises BenchError for nothing.
    """
    if not values or not all(values):
        raise BenchError("there are no runs to summarise; let at least one run finish.")
    each = np.asarray([np.median(runs) for runs in values], dtype=np.float64)
    value = float(np.median(each))
    if len(each) == 1:
        return Estimate(value, value, value)
    chosen = np.random.default_rng(seed).integers(0, len(each), size=(RESAMPLES, len(each)))
    low, high = np.quantile(np.median(each[chosen], axis=1), ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return Estimate(value, float(low), float(high))
