"""Error bars: how far a number would move with other prompts, by drawing the prompts anew (the bootstrap, Efron 1979).

Runs of one prompt resemble each other, so whole prompts are drawn, not rounds or tokens. Resampling has a
seed of its own, so that the same runs always give the same interval.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from specviz.errors import BenchError

RESAMPLES = 2000
LEVEL = 0.95
Numbers = NDArray[np.float64]
Parts = Sequence[tuple[float, float]]
"""(numerator, denominator), one pair per prompt"""


class Estimate(NamedTuple):
    """A number with its interval."""

    value: float
    low: float
    high: float


def ratio_of_sums(parts: Parts, seed: int = 0) -> Estimate | None:
    """Σ numerator / Σ denominator over prompts, one pair each, with the central 95 % of it over resampled prompts.

    None where the denominators sum to 0. Prompts whose denominator is 0 say nothing about the ratio and are left out.
    Raises BenchError for nothing.
    """
    if not parts:
        raise BenchError("there are no runs to summarise; let at least one run finish.")
    table = np.asarray([part for part in parts if part[1] > 0.0], dtype=np.float64)
    if not len(table):
        return None
    numerators, denominators = table.T
    value = float(numerators.sum() / denominators.sum())
    return _estimate(value, _resampled((numerators, denominators), _ratio, seed))


def differences(rows: Sequence[Parts], seed: int = 0) -> list[list[Estimate]]:
    """[i][j] = ratio of row i - ratio of row j, each a `ratio_of_sums` over the same prompts in the same order.

    Paired: a resample draws the same prompts for all rows, so what a prompt does to all of them cancels out. The
    intervals hold for all pairs at once with 95 %: each reaches as many of its own standard errors to either side as
    the pair that strays farthest in a resample does in 95 % of them (max-t: Westfall and Young 1993), widened for the
    number of prompts (Hesterberg 2015, 'expanded'). Of one prompt nothing follows about others: -∞ to ∞.
    Raises BenchError where there is nothing, rows have other prompts, or a prompt's denominator is 0.
    """
    if not rows or not rows[0] or len({len(row) for row in rows}) > 1:
        raise BenchError("a paired comparison needs rows over the same prompts, at least one; let all of them finish.")
    table = np.asarray(rows, dtype=np.float64)
    numerators, denominators = table[..., 0], table[..., 1]
    if denominators.min() <= 0.0:
        raise BenchError("a prompt drafted nothing, so rows cannot be compared on it; leave it out of all of them.")
    values = _ratio(numerators, denominators)
    found = values[:, None] - values
    reach = _reach(found, _resampled((numerators, denominators), _ratio, seed), table.shape[1])
    return [
        [Estimate(float(one), float(one - far), float(one + far)) for one, far in zip(*line, strict=True)]
        for line in zip(found, reach, strict=True)
    ]


def _reach(found: Numbers, drawn: Numbers, prompts: int) -> Numbers:
    """Half the length of each pair's interval [rows, rows]; `drawn`: resampled values of the rows [rows, RESAMPLES]."""
    if prompts == 1:
        return np.full_like(found, np.inf)
    from scipy.stats import norm, t

    astray = drawn[:, None] - drawn - found[..., None]
    errors = astray.std(axis=-1)
    strays = np.divide(np.abs(astray), errors[..., None], out=np.zeros_like(astray), where=errors[..., None] > 0.0)
    farthest = np.quantile(strays.max(axis=(0, 1)), LEVEL)
    widened = t.isf(norm.sf(farthest), prompts - 1) * np.sqrt(prompts / (prompts - 1))
    return np.asarray(errors * widened)


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
    return _estimate(float(np.median(each)), _resampled((each,), np.median, seed))


def _ratio(numerators: Numbers, denominators: Numbers, axis: int = -1) -> Numbers:
    return np.asarray(numerators.sum(axis=axis) / denominators.sum(axis=axis))


def _resampled(samples: tuple[Numbers, ...], statistic: Callable[..., Any], seed: int) -> Numbers:
    """The statistic of every resample [..., RESAMPLES]; prompts are the last axis of all samples, drawn together."""
    drawn = _drawn(samples[0].shape[-1], seed)
    return np.asarray(statistic(*(sample[..., drawn] for sample in samples), axis=-1))


@lru_cache(maxsize=64)
def _drawn(prompts: int, seed: int) -> NDArray[np.int64]:
    """Which prompts each resample has [RESAMPLES, prompts]: the same for every number over so many prompts."""
    return np.random.default_rng(seed).integers(0, prompts, (RESAMPLES, prompts))


def _estimate(value: float, drawn: Numbers) -> Estimate:
    low, high = np.quantile(drawn, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return Estimate(value, float(low), float(high))
