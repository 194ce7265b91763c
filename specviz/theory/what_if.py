"""What would a draft of this shape bring on this clock? All *modelled*; a recorded run on another clock: `reclock`.

Puts the closed forms of `theory` together for any chain or tree of fixed branching, and answers what a slower or faster
drafter would change (Yan et al., 2402.01528). Times are seconds of one pass over the whole batch; a clock made from a
cost ratio counts in target passes instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import mul

from specviz.errors import OptionError
from specviz.theory import formulas as theory
from specviz.theory.formulas import StepTimes, break_even_tokens

MOST_NODES = 256
"""candidates of the largest tree that is worked out here"""
HALVINGS = 60
"""of the interval in which an alpha is looked for: down to the last bit of a float"""


@dataclass(frozen=True, slots=True)
class Shape:
    """Children per node, level by level; a chain is a tree of ones, plain decoding has no level."""

    branching: tuple[int, ...]

    def __post_init__(self) -> None:
        if any(children < 1 for children in self.branching):
            raise OptionError(f"a tree of {self.text} has a level without children; give 1 or more per level.")
        if self.nodes > MOST_NODES:
            raise OptionError(f"a tree of {self.text} has {self.nodes} candidates; at most {MOST_NODES} are modelled.")

    @classmethod
    def chain(cls, gamma: int) -> Shape:
        if gamma < 0:
            raise OptionError(f"gamma is {gamma}, but a speculation length is 0 (plain decoding) or more.")
        return cls((1,) * gamma)

    @property
    def widths(self) -> tuple[int, ...]:
        """[d-1]: candidates at depth d."""
        return tuple(accumulate(self.branching, mul))

    @property
    def nodes(self) -> int:
        """Candidates, the root left out."""
        return sum(self.widths)

    @property
    def depth(self) -> int:
        """Levels, and so drafter passes that wait for each other: one per level."""
        return len(self.branching)

    @property
    def is_chain(self) -> bool:
        return set(self.branching) <= {1}

    @property
    def text(self) -> str:
        return ",".join(map(str, self.branching)) or "nothing"


@dataclass(frozen=True, slots=True)
class Clock:
    """What passes cost: the target's by its rows, the drafter's the same at every level."""

    times: StepTimes
    draft_step_s: float
    """one drafter pass; in target passes where `unit` is set"""
    unit: bool = False
    """True: no seconds; one target pass of any width counts as 1"""

    def __post_init__(self) -> None:
        if not 0 <= self.draft_step_s < float("inf"):
            raise OptionError(f"a drafter pass of {self.draft_step_s} s cannot be; give 0 or more.")

    @classmethod
    def of_ratio(cls, cost_ratio: float) -> Clock:
        """Leviathan's clock: target passes cost the same at any width, a drafter pass `cost_ratio` of one."""
        return cls(StepTimes((1,), (1.0,)), cost_ratio, unit=True)

    @property
    def plain_s(self) -> float:
        """One step of plain decoding."""
        return self.times.at(1)

    @property
    def cost_ratio(self) -> float:
        """c: drafter pass / one-row target pass."""
        return self.draft_step_s / self.plain_s

    def round_s(self, shape: Shape) -> float:
        """t(nodes + 1) + depth x drafter pass."""
        return self.times.at(shape.nodes + 1) + shape.depth * self.draft_step_s

    def tie_tokens(self, shape: Shape) -> float:
        """Tokens per round at which a round of this shape is as fast as plain decoding."""
        return break_even_tokens(self.times, shape.nodes, shape.depth * self.draft_step_s)

    def slowed(self, factor: float) -> Clock:
        """The same target with a drafter `factor` times as slow."""
        return Clock(self.times, self.draft_step_s * factor, self.unit)


@dataclass(frozen=True, slots=True)
class WhatIfResult:
    """What one setting brings. Every number is modelled."""

    tokens_per_round: float
    round_s: float
    plain_s: float
    speedup: float
    elasticity: float
    """change of throughput in per cent when a drafter pass takes one per cent longer: -(share of the round spent
    drafting)"""
    operations: float
    """rows that the target computes per token, (nodes + 1) / tokens: its arithmetic relative to plain decoding; theorem
    3.11 of Leviathan et al. with a drafter that costs none"""
    tie_tokens: float
    """tokens per round at which the round is as fast as plain decoding"""
    tie_alpha: float | None
    """the alpha that brings them; None: not even alpha 1 does"""

    @property
    def tokens_per_s(self) -> float:
        """One sequence; per target pass where the clock counts in those."""
        return self.tokens_per_round / self.round_s


def level_rates(alphas: Sequence[float], shape: Shape) -> list[float]:
    """[d-1] = probability that some child is accepted at depth d: 1 - (1 - alpha_d)^children.

    `alphas[d-1]` is the probability of one candidate at depth d once its turn comes; the last one goes on for deeper
    levels. Siblings miss independently here, which is an upper estimate for real siblings.
    """
    if not alphas:
        raise OptionError("no acceptance rate is given; give one, or one per depth.")
    rates = [alphas[min(depth, len(alphas) - 1)] for depth in range(shape.depth)]
    for alpha in (*rates, alphas[0]):
        if not 0 <= alpha <= 1:
            raise OptionError(f"alpha is {alpha}, but a probability lies between 0 and 1.")
    return [1 - (1 - alpha) ** children for alpha, children in zip(rates, shape.branching, strict=True)]


def tokens_per_round(alphas: Sequence[float], shape: Shape) -> float:
    """Expected tokens of one round, its last one included: 1 + sum of products of `level_rates`."""
    return theory.expected_tokens_by_depth(level_rates(alphas, shape))


def spread_of_runs(alphas: Sequence[float], shape: Shape, rounds: int) -> tuple[float, float]:
    """Tokens per round between which 95 % of runs of so many independent rounds lie: mean ± 1.96 σ / √rounds.

    A round has at least d accepted tokens with the product of the first d `level_rates`, so that its second moment is
    the sum of (2d - 1) times these, of the length counted from 1. The normal approximation is cut to [1, depth + 1].
    """
    if rounds < 1:
        raise OptionError(f"a run has {rounds} rounds, but needs at least one.")
    at_least = [1.0, *accumulate(level_rates(alphas, shape), mul)]
    mean = sum(at_least)
    variance = sum((2 * length - 1) * share for length, share in enumerate(at_least, start=1)) - mean**2
    reach = 1.96 * (max(0.0, variance) / rounds) ** 0.5
    return max(1.0, mean - reach), min(shape.depth + 1.0, mean + reach)


def outcome(alphas: Sequence[float], shape: Shape, clock: Clock) -> WhatIfResult:
    """Everything about one setting."""
    tokens, round_s = tokens_per_round(alphas, shape), clock.round_s(shape)
    tie = clock.tie_tokens(shape)
    return WhatIfResult(
        tokens_per_round=tokens,
        round_s=round_s,
        plain_s=clock.plain_s,
        speedup=tokens / tie,
        elasticity=elasticity(shape, clock),
        operations=(shape.nodes + 1) / tokens,
        tie_tokens=tie,
        tie_alpha=alpha_for(tie, shape),
    )


def elasticity(shape: Shape, clock: Clock) -> float:
    """d ln(throughput) / d ln(drafter latency) = -depth t_d / (depth t_d + t_v(nodes + 1)); from Yan et al.'s model."""
    return -shape.depth * clock.draft_step_s / clock.round_s(shape)


def alpha_for(tokens: float, shape: Shape) -> float | None:
    """The smallest alpha at which a round of this shape yields so many tokens; None: more than depth + 1 it never does.

    The inverse of `tokens_per_round` at one alpha for all depths, by halving an interval.
    """
    if tokens <= 1:
        return 0.0
    if tokens > shape.depth + 1:
        return None
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if tokens_per_round([middle], shape) < tokens else (low, middle)
    return high


@dataclass(frozen=True, slots=True)
class Tie:
    """What a slower (or faster) drafter must bring to be as fast as the present one."""

    matched: float
    """draft tokens matched per round, the round's last one not counted; Yan et al. call it the token acceptance rate"""
    alpha: float | None
    """None: no acceptance makes up for it"""


def tie_with(matched: float, shape: Shape, clock: Clock, factor: float) -> Tie:
    """Break-even against a drafter `factor` times as slow, `matched` being today's matched tokens per round.

    matched' = (matched + 1) (depth t_d' + t_v) / (depth t_d + t_v) - 1; from Yan et al.'s throughput model.

    >>> tie_with(2.0, Shape.chain(4), Clock.of_ratio(0.25), 2.0).matched
    3.5
    """
    needed = (matched + 1) * clock.slowed(factor).round_s(shape) / clock.round_s(shape)
    return Tie(needed - 1, alpha_for(needed, shape))


@dataclass(frozen=True, slots=True)
class ChainPoint:
    """One chain on a clock."""

    tokens: float
    """per round"""
    cost: float
    """round / t(1)"""

    @property
    def speedup(self) -> float:
        return self.tokens / self.cost


def chains(alphas: Sequence[float], clock: Clock, longest: int) -> list[ChainPoint]:
    """[gamma], from plain decoding (0: one token for one pass) to `longest`."""
    shapes = map(Shape.chain, range(longest + 1))
    return [ChainPoint(tokens_per_round(alphas, shape), clock.tie_tokens(shape)) for shape in shapes]


def best_gamma(alphas: Sequence[float], clock: Clock, longest: int = 64) -> int:
    """The chain length with the largest modelled speedup, the shortest on a tie; 0 where drafting does not pay."""
    speedups = [point.speedup for point in chains(alphas, clock, longest)]
    return speedups.index(max(speedups))
