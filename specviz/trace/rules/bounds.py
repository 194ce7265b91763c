"""What a trace's rounded heads say about whole distributions: bounds, carried through the arithmetic of the rules.

A head gives some tokens to six decimals and the mass of all others together. Every number worked out from heads is
therefore a range, and a stored number that lies outside it contradicts the heads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from specviz.trace.events import TopK
from specviz.trace.rules.scene import HALF_DIGIT, SINGLE


class Range(NamedTuple):
    """All values from `low` to `high`."""

    low: float
    high: float

    def holds(self, value: float) -> bool:
        """Whether a stored value fits, rounded as recorded numbers are and computed in single precision."""
        slack = HALF_DIGIT + SINGLE * max(1.0, abs(value))
        return self.low - slack <= value <= self.high + slack

    def scaled(self, factor: float) -> Range:
        return Range(self.low * factor, self.high * factor)

    def capped(self) -> Range:
        """As a probability."""
        return Range(min(1.0, max(0.0, self.low)), min(1.0, max(0.0, self.high)))

    def __str__(self) -> str:
        narrow = self.high - self.low < 1e-4
        return f"{(self.low + self.high) / 2:.4g}" if narrow else f"{self.low:.6g} to {self.high:.6g}"


ANYTHING = Range(0.0, 1.0)


@lru_cache(maxsize=1024)  # every rule asks anew, of the few numbers of one round
def recorded(prob: float) -> Range:
    """What a probability was before it was rounded for the record."""
    slack = HALF_DIGIT + SINGLE * prob
    return Range(max(0.0, prob - slack), min(1.0, prob + slack))


@dataclass(frozen=True, slots=True)
class Bounds:
    """A distribution as far as it is known."""

    of: Mapping[int, Range] = field(default_factory=dict)
    """per token that is known"""
    rest: Range = ANYTHING
    """mass of all others together"""
    each: float = 1.0
    """none of the others has more than this"""

    @classmethod
    def of_head(cls, head: TopK | None, also: Mapping[int, float] | None = None) -> Bounds:
        """From a recorded head (None or empty: nothing is known), and recorded probabilities of other tokens."""
        extra = {token: recorded(prob) for token, prob in (also or {}).items()}
        if head is None or not head.tokens:
            return cls(extra)
        known = {token: recorded(prob) for token, prob in zip(head.tokens, head.probs, strict=True)}
        new = {token: there for token, there in extra.items() if token not in known}
        slack = (len(known) + 1) * HALF_DIGIT + SINGLE
        low = max(0.0, head.rest - slack - sum(there.high for there in new.values()))
        high = max(0.0, head.rest + slack - sum(there.low for there in new.values()))
        return cls({**known, **new}, Range(low, high).capped(), recorded(head.probs[-1]).high)

    @classmethod
    def of_point(cls, token: int) -> Bounds:
        """A point mass."""
        return cls({token: Range(1.0, 1.0)}, Range(0.0, 0.0), 0.0)

    def __getitem__(self, token: int) -> Range:
        known = self.of.get(token)
        return Range(0.0, min(self.each, self.rest.high)) if known is None else known

    def total_below(self, token: int) -> Range:
        """Mass of all tokens with smaller ids: where inverse-CDF sampling begins to give this token."""
        low = sum(there.low for other, there in self.of.items() if other < token)
        high = sum(there.high for other, there in self.of.items() if other < token)
        return Range(low, high + self.rest.high)

    def without(self, tokens: Iterable[int]) -> Bounds:
        """With these tokens removed, and renormalised."""
        gone = set(tokens)
        if not gone:
            return self
        kept = {token: there for token, there in self.of.items() if token not in gone}
        taken = [self[token] for token in gone]
        left = Range(
            max(sum(there.low for there in kept.values()), 1.0 - sum(there.high for there in taken) - SINGLE),
            min(
                sum(there.high for there in kept.values()) + self.rest.high,
                1.0 - sum(there.low for there in taken) + SINGLE,
            ),
        )
        found = {token: _share(there, left) for token, there in kept.items()}
        found |= dict.fromkeys(gone, Range(0.0, 0.0))
        unnamed = sum(self[token].high for token in gone if token not in self.of)
        rest = Range(max(0.0, self.rest.low - unnamed), self.rest.high)
        return Bounds(found, _share(rest, left), _share(Range(0.0, self.each), left).high)

    def minus(self, other: Bounds, scale: float = 1.0) -> tuple[Bounds, Range]:
        """max(0, scale · this − other), not normalised, and the range of its mass."""
        found = dict[int, Range]()
        shared = only_here = only_here_low = high = 0.0
        for token in {**self.of, **other.of}:
            here, there = self[token].scaled(scale), other[token]
            found[token] = Range(max(0.0, here.low - there.high), max(0.0, here.high - there.low))
            if token not in self.of:
                continue
            high += found[token].high
            if token in other.of:
                shared += found[token].low
            else:
                only_here += here.low
                only_here_low += found[token].low
        unnamed = sum(self[token].high for token in other.of if token not in self.of)
        rest = Range(max(0.0, self.rest.low - unnamed), self.rest.high).scaled(scale)
        rest_low = max(0.0, rest.low - other.rest.high)
        low = shared + max(only_here_low + rest_low, only_here + rest.low - other.rest.high)
        left = Bounds(found, Range(rest_low, rest.high), self.each * scale)
        return left, Range(max(0.0, low), min(scale, high + rest.high) + SINGLE)

    def over(self, mass: Range) -> Bounds:
        """What `minus` gave, normalised by its mass."""
        found = {token: _share(there, mass) for token, there in self.of.items()}
        return Bounds(found, _share(self.rest, mass), _share(Range(0.0, self.each), mass).high)


def _share(part: Range, whole: Range) -> Range:
    """part / whole, as a probability."""
    low = part.low / whole.high if whole.high > 0.0 else 0.0
    return Range(low, part.high / whole.low if whole.low > 0.0 else 1.0).capped()
