"""Closed forms of speculative decoding: what a run should yield, and what no verifier can beat.

Letters as in Leviathan et al. (2211.17192): alpha is the probability that a drafted token is accepted, gamma the
speculation length, c the cost of one drafter pass in target passes. All predictions are *modelled* numbers and are
shown as such.

The largest probability that one level of a draft is accepted, over all lossless rules, is the optimum of a transport
problem: move the law of the candidate list onto the target so that as much as possible stays inside the list. It is the
smallest cut (2310.15141, §4; 2502.18779):

    alpha* = min over sets H of tokens of  p(H) + 1 - Pr(all candidates lie in H)

That looks at every set of tokens; for i.i.d. candidates, and for two drawn without replacement, the best one is found
in whole vocabularies. The tests hold both against all sets of toys, and those against a largest flow.

Numbers that papers print stand here as data with their source, what a formula is held against. None of them was
measured by SpecViz; a screen that shows one shows its source too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from statistics import fmean

import numpy as np
import numpy.typing as npt

from specviz.errors import OptionError
from specviz.trace.header import StepTime


def expected_tokens(alpha: float, gamma: int) -> float:
    """Tokens per target pass of a chain, the last one included: (1 - alpha^(gamma+1)) / (1 - alpha); eq. 1.

    >>> expected_tokens(0.5, 1)
    1.5
    """
    _probability("alpha", alpha)
    _length(gamma)
    return float(gamma + 1) if alpha == 1 else (1 - alpha ** (gamma + 1)) / (1 - alpha)


def expected_tokens_by_depth(rates: Sequence[float]) -> float:
    """Tokens per target pass when depth d is accepted with rates[d-1], given that depth d-1 was: 1 + sum of products.

    For a tree, rates[d-1] is the probability that *some* child is accepted there.

    >>> expected_tokens_by_depth([0.5, 0.5])
    1.75
    """
    for rate in rates:
        _probability("a rate", rate)
    return 1 + sum(prod(rates[:depth]) for depth in range(1, len(rates) + 1))


def wall_time_factor(alpha: float, gamma: int, cost_ratio: float) -> float:
    """Speedup of a chain, target passes costing the same at any width: expected tokens / (gamma c + 1); theorem 3.8."""
    _cost(cost_ratio)
    return expected_tokens(alpha, gamma) / (gamma * cost_ratio + 1)


def best_gamma(alpha: float, cost_ratio: float, longest: int = 64) -> int:
    """The gamma with the largest `wall_time_factor`, the shortest on a tie; 0 where drafting does not pay."""
    _length(longest)
    return max(range(longest + 1), key=lambda gamma: (wall_time_factor(alpha, gamma, cost_ratio), -gamma))


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Measured seconds of one target pass over n new tokens: straight lines between the measurements.

    Below the first measurement the first value holds; beyond the last one its line goes on, never downwards.
    """

    rows: tuple[int, ...]
    seconds: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.rows or len(self.rows) != len(self.seconds):
            raise OptionError(
                f"step times have {len(self.rows)} row counts and {len(self.seconds)} times; give both alike."
            )
        if list(self.rows) != sorted(set(self.rows)) or self.rows[0] < 1:
            raise OptionError(f"row counts {list(self.rows)} must be increasing and start at 1 or more.")
        if min(self.seconds) <= 0:
            raise OptionError(f"step times {list(self.seconds)} must all be positive.")

    @classmethod
    def of(cls, measured: Sequence[StepTime]) -> StepTimes:
        """From a trace's header; the same row count measured at several cache lengths is averaged."""
        times: dict[int, list[float]] = {}
        for step_time in measured:
            times.setdefault(step_time.rows, []).append(step_time.median_s)
        rows = tuple(sorted(times))
        return cls(rows, tuple(fmean(times[count]) for count in rows))

    def at(self, rows: float) -> float:
        """t(rows) in seconds."""
        if rows <= self.rows[0] or len(self.rows) == 1:
            return self.seconds[0]
        right = min(bisect_left(self.rows, rows), len(self.rows) - 1)
        x0, x1 = self.rows[right - 1], self.rows[right]
        y0, y1 = self.seconds[right - 1], self.seconds[right]
        slope = (y1 - y0) / (x1 - x0)
        if rows > x1:
            return y1 + max(0.0, slope) * (rows - x1)
        return y0 + slope * (rows - x0)


def memory_bound_speedup(tokens_per_pass: float, drafter_passes: float, memory_ratio: float) -> float:
    """MBSU, the speedup of a machine whose passes cost nothing but reading the weights: tau c / (gamma + c).

    tau: tokens per target pass (block efficiency); gamma: drafter passes per round (a chain's length, a tree's passes);
    c = `memory_ratio`: bytes of weights that a target pass reads / those of a drafter pass, a trimmed head counted as
    trimmed and an input embedding not at all, for a pass gathers a few rows of it. Goel et al. 2024 (2403.00858) and
    VocabTrim (2506.22694), with c the other way up. It leaves out the width of the target's pass, the cache and
    every overhead. A drafter that reads no weights has no drafter pass: its MBSU is tau.

    >>> memory_bound_speedup(3.0, 4, 4.0)
    1.5
    """
    if memory_ratio <= 0 or drafter_passes < 0 or tokens_per_pass < 0:
        raise OptionError(
            f"{tokens_per_pass} tokens per pass, {drafter_passes} drafter passes and a memory ratio of {memory_ratio} "
            "make no speedup; give a ratio above 0 and counts of 0 or more."
        )
    return tokens_per_pass * memory_ratio / (drafter_passes + memory_ratio)


def break_even_tokens(times: StepTimes, nodes: int, draft_s: float = 0.0, overhead_s: float = 0.0) -> float:
    """Tokens per round at which a round of `nodes` candidates is as fast as plain decoding.

    (t(nodes + 1) + drafting + overhead) / t(1), times in seconds; below it, drafting costs time.
    """
    return (times.at(nodes + 1) + draft_s + overhead_s) / times.at(1)


def round_speedup(
    tokens_per_round: float, times: StepTimes, nodes: int, draft_s: float = 0.0, overhead_s: float = 0.0
) -> float:
    """Speedup of any tree: tokens per round / `break_even_tokens`, so that wider target passes cost what they cost."""
    return tokens_per_round / break_even_tokens(times, nodes, draft_s, overhead_s)


def speedup(alpha: float, gamma: int, times: StepTimes, draft_step_s: float, overhead_s: float = 0.0) -> float:
    """Speedup of a chain with measured times: expected tokens x t(1) / (t(gamma + 1) + gamma t_draft + overhead)."""
    return round_speedup(expected_tokens(alpha, gamma), times, gamma, gamma * draft_step_s, overhead_s)


def _probability(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise OptionError(f"{name} is {value}, but a probability lies between 0 and 1.")


def _length(gamma: int) -> None:
    if gamma < 0:
        raise OptionError(f"gamma is {gamma}, but a speculation length is 0 (plain decoding) or more.")


def _cost(ratio: float) -> None:
    if not 0 <= ratio < float("inf"):
        raise OptionError(f"the cost ratio is {ratio}, but must be 0 or more.")


# --- bounds of verifiers -------------------------------------------------------------------------------------------

Row = npt.NDArray[np.float64]
"""a distribution [V]"""
MOST_EXCHANGES = 1000


def independent_bound(p: Row, q: Row, draws: int) -> float:
    """alpha* of `draws` i.i.d. draws from q [V], for any vocabulary.

    p(H) + 1 - q(H)^K is concave in (p(H), q(H)), so the best H is a corner of what these two can be: all tokens whose
    p/q lies below some value (2502.18779).
    """
    order = _by_ratio(p, q)
    inside_p, inside_q = np.cumsum(p[order]), np.cumsum(q[order])
    return float(min(1.0, np.min(inside_p + 1.0 - np.minimum(inside_q, 1.0) ** draws)))


def pair_bound(p: Row, q: Row) -> float:
    """alpha* of two draws from q [V] without replacement, for any vocabulary.

    With odds a = q / (1 - q), Pr(both in H) = 1 - (1 - q(H)) (1 + a(H)). The search starts from the best of the sets of
    all tokens whose p/q lies below some value, and exchanges single tokens as long as that helps. Every H gives a
    value that no rule exceeds; that none is smaller than the one found is tested by enumeration on toys.
    """
    odds = np.divide(q, 1.0 - q, out=np.full_like(q, np.inf), where=q < 1.0)
    if np.isinf(odds).any():
        return float(min(1.0, np.minimum(p, q).sum()))  # a certain first draw leaves nothing for a second
    order = _by_ratio(p, q)
    value = np.cumsum(p[order]) + (1.0 - np.cumsum(q[order])) * (1.0 + np.cumsum(odds[order]))
    inside = np.zeros(len(p), dtype=np.bool_)
    if float(np.min(value)) < 1.0:
        inside[order[: int(np.argmin(value)) + 1]] = True
    for _ in range(MOST_EXCHANGES):
        outside, reach = 1.0 - q[inside].sum(), 1.0 + odds[inside].sum()
        sign = np.where(inside, -1.0, 1.0)
        change = sign * (p - q * reach + odds * outside) - q * odds
        best = int(np.argmin(change))
        if change[best] >= -1e-12:
            break
        inside[best] = not inside[best]
    outside, reach = 1.0 - q[inside].sum(), 1.0 + odds[inside].sum()
    return float(min(1.0, p[inside].sum() + outside * reach))


def list_bound(p: Sequence[float], lists: Mapping[tuple[int, ...], float]) -> float:
    """alpha* of any law of candidate lists (list → probability), by all sets of tokens: for a handful of them.

    >>> list_bound((0.5, 0.5), {(0,): 1.0})
    0.5
    """
    sets = (frozenset(kept) for size in range(len(p) + 1) for kept in combinations(range(len(p)), size))
    return min(
        sum(p[token] for token in kept) + 1.0 - sum(mass for drawn, mass in lists.items() if kept.issuperset(drawn))
        for kept in sets
    )


def race_agreement(p: Sequence[float], q: Sequence[float]) -> float:
    """How often a race with the same times has the same winner under p and q: Σ_x 1 / Σ_y max(p_y/p_x, q_y/q_x), over
    the tokens that both can draw.

    Both win at x exactly where E_y >= E_x max(p_y/p_x, q_y/q_x) for all y; integrated over exponential times. At least
    (1 - TV) / (1 + TV) (2408.07978).

    >>> race_agreement((0.5, 0.5), (0.5, 0.5))
    1.0
    """
    return list_agreement_bound(p, q, 1)


def list_agreement_bound(p: Sequence[float], q: Sequence[float], lanes: int) -> float:
    """At least how often the winner under p of all lanes together is the winner under q of one of them:
    Σ_x K / ((K - 1) / p_x + Σ_y max(p_y/p_x, q_y/q_x)). With one lane it is `race_agreement` (2506.05632).

    >>> list_agreement_bound((0.5, 0.5), (0.5, 0.5), 2)
    1.0
    """
    return sum(
        lanes / ((lanes - 1) / p_x + sum(max(p_y / p_x, q_y / q_x) for p_y, q_y in zip(p, q, strict=True)))
        for p_x, q_x in zip(p, q, strict=True)
        if p_x > 0.0 and q_x > 0.0
    )


def _by_ratio(p: Row, q: Row) -> npt.NDArray[np.int64]:
    """Tokens by increasing p/q, those that are never drawn last."""
    return np.argsort(np.divide(p, q, out=np.full_like(p, np.inf), where=q > 0.0), kind="stable")


LEVIATHAN = "Leviathan, Kalman, Matias 2023 (arXiv 2211.17192)"
LEVIATHAN_SETTING = f"{LEVIATHAN}, tables 2 and 4: T5-XXL (11B) against the T5X implementation, TPU-v4, batch 1"


@dataclass(frozen=True, slots=True)
class PublishedSpeedup:
    """One row of a paper: what went into its formula, what the formula gave there, what the clock gave."""

    task: str
    drafter: str
    temperature: float
    gamma: int
    alpha: float
    cost_ratio: float
    predicted: float
    """the paper's own prediction from its unrounded alpha and c"""
    measured: float

    @property
    def label(self) -> str:
        how = "greedy" if self.temperature == 0 else f"T {self.temperature:g}"
        return f"{self.task}, {self.drafter}, {how}, γ {self.gamma}"


def _t5(
    task: str, drafter: str, temperature: float, gamma: int, alpha: float, predicted: float, measured: float
) -> PublishedSpeedup:
    """c depends on the drafter alone in table 4."""
    cost_ratio = {"T5-small 77M": 0.02, "T5-base 250M": 0.04, "T5-large 800M": 0.11}[drafter]
    return PublishedSpeedup(task, drafter, temperature, gamma, alpha, cost_ratio, predicted, measured)


LEVIATHAN_SPEEDUPS: tuple[PublishedSpeedup, ...] = (
    _t5("English to German", "T5-small 77M", 0, 7, 0.75, 3.2, 3.4),
    _t5("English to German", "T5-base 250M", 0, 7, 0.80, 3.3, 2.8),
    _t5("English to German", "T5-large 800M", 0, 7, 0.82, 2.5, 1.7),
    _t5("English to German", "T5-small 77M", 1, 7, 0.62, 2.3, 2.6),
    _t5("English to German", "T5-base 250M", 1, 5, 0.68, 2.4, 2.4),
    _t5("English to German", "T5-large 800M", 1, 3, 0.71, 2.0, 1.4),
    _t5("summaries of CNN/DM", "T5-small 77M", 0, 5, 0.65, 2.4, 3.1),
    _t5("summaries of CNN/DM", "T5-base 250M", 0, 5, 0.73, 2.6, 3.0),
    _t5("summaries of CNN/DM", "T5-large 800M", 0, 3, 0.74, 2.0, 2.2),
    _t5("summaries of CNN/DM", "T5-small 77M", 1, 5, 0.53, 1.9, 2.3),
    _t5("summaries of CNN/DM", "T5-base 250M", 1, 3, 0.55, 1.8, 2.2),
    _t5("summaries of CNN/DM", "T5-large 800M", 1, 3, 0.56, 1.6, 1.7),
)
"""alpha: the paper's table 2; c and the prediction: its table 4; measured: its table 2"""
