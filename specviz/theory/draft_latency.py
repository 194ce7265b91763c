"""What a drafter's step time does to throughput: the model of "Decoding Speculative Decoding" (Yan et al., 2402.01528).

    T(γ) = (matched + 1) / (γ · t_d + t_v(γ + 1))        tokens per second of one sequence

*matched*: drafted tokens per round that the target agrees with (the paper's TAR; not the acceptance probability α); the
1 is the target's own token. t_d: a step of the drafter, t_v(n): the target's pass over n rows, in seconds. Drawing,
bookkeeping and the prompt's pass are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import StatisticsError, correlation

from specviz.errors import OptionError


def throughput(matched: float, gamma: int, draft_s: float, verify_s: float) -> float:
    """T(γ), the target's own token counted.

    >>> throughput(2.0, 4, 0.25, 0.5)
    2.0
    """
    _check(gamma, draft_s, verify_s)
    return (matched + 1.0) / (gamma * draft_s + verify_s)


def drafting_share(gamma: int, draft_s: float, verify_s: float) -> float:
    """Share of a round spent drafting, in [0, 1): the elasticity of throughput to the drafter's latency, but for the
    sign. ∂ ln T / ∂ ln t_d = -γ t_d / (γ t_d + t_v).

    >>> drafting_share(4, 0.25, 1.0)
    0.5
    """
    _check(gamma, draft_s, verify_s)
    return gamma * draft_s / (gamma * draft_s + verify_s)


def matched_to_break_even(matched: float, gamma: int, draft_s: float, other_s: float, verify_s: float) -> float:
    """Matched tokens per round with which a drafter of `other_s` a step is as fast as one of `draft_s` that matches
    `matched`; below 0 where it would be faster with none, above γ where it can never be.

    >>> matched_to_break_even(2.0, 4, 0.25, 0.5, 1.0)
    3.5
    """
    _check(gamma, other_s, verify_s)
    return (gamma * other_s + verify_s) * throughput(matched, gamma, draft_s, verify_s) - 1.0


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's ρ in [-1, 1]; None for fewer than three pairs, or where one of them does not vary."""
    if len(one) < 3:
        return None
    try:
        return correlation(_ranks(one), _ranks(other))
    except StatisticsError:
        return None


def _ranks(values: Sequence[float]) -> list[float]:
    """From 1, equal values sharing the mean of theirs."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]


def _check(gamma: int, draft_s: float, verify_s: float) -> None:
    if gamma < 0 or draft_s < 0 or verify_s <= 0:
        raise OptionError(
            f"a round of {gamma} drafted tokens at {draft_s} s each and a target pass of {verify_s} s is none; give 0 "
            "or more tokens and times above 0."
        )
