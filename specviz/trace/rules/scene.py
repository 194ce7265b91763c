"""One round with its surroundings, as the rules look at it, and how exactly the numbers in a trace are known.

A head gives some tokens to six decimals and the mass of all others together. Every number worked out from heads is
therefore a range, carried through the arithmetic of the rules, and a stored number that lies outside it contradicts the
heads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

from specviz.trace.declared_rule import KNOWN, KnownRule, keeps_survivors
from specviz.trace.events import Node, Round, TopK, Trace
from specviz.trace.header import Started
from specviz.trace.tree_shape import families_of, rows_of

HALF_DIGIT = 0.5e-6
"""recorded probabilities have six decimals; those that verdicts were based on keep all theirs"""
SINGLE = 2.0**-17
"""how far sums and quotients of single precision, in which models run, may be off: 128 units in the last place of 1"""
EXACT = 1e-9
"""how far the same double-precision arithmetic may differ"""

Producer = Literal["engine", "simulation", "other"]
_ENGINE = re.compile(r"specviz \d+\.\d+\S*")
_SIMULATION = re.compile(r"specviz \d+\.\d+\S* simulate")


def producer_of(started: Started) -> Producer:
    """Who wrote the trace. What holds for one engine alone (its noise, its clock) is asked of that engine alone."""
    if _ENGINE.fullmatch(started.producer):
        return "engine"
    return "simulation" if _SIMULATION.fullmatch(started.producer) else "other"


@dataclass(frozen=True)
class Scene:
    """One round with its place, the run's header, and what was committed before it."""

    place: str
    started: Started
    round: Round
    text: tuple[int, ...] = ()
    """prompt and committed tokens before the round; the last one is the root"""

    @cached_property
    def families(self) -> list[list[Node]]:
        """Per node its children in draw order."""
        nodes = self.round.nodes
        return [[nodes[child] for child in family] for family in families_of([node.parent for node in nodes])]

    def children(self, node: int) -> list[Node]:
        return self.families[node]

    @cached_property
    def rows(self) -> list[int]:
        """Per node its row in the target's pass, where nodes of the same text share one."""
        nodes = self.round.nodes
        return rows_of([node.parent for node in nodes], [node.token for node in nodes])

    def offered(self, node: int) -> list[Node]:
        """The candidates for the token after `node`: its children, and with K-SEQ those of every draft that is still
        alive there."""
        if not keeps_survivors(self.round.judged.rule, self.started.verifier.options):
            return self.children(node)
        return [child for child in self.round.nodes[1:] if self.rows[child.parent] == self.rows[node]]

    def level_of(self, node: Node) -> int:
        """The first node with the text that a candidate follows: candidates with the same one are tried together."""
        if not keeps_survivors(self.round.judged.rule, self.started.verifier.options):
            return node.parent
        return self.rows.index(self.rows[node.parent])

    @cached_property
    def rule(self) -> KnownRule | None:
        """What the format knows of the round's rule; None where it knows nothing, or nothing was decided."""
        return None if self.round.judged.origin == "forced" else KNOWN.get(self.round.judged.rule)

    @property
    def greedy(self) -> bool:
        return self.started.sampling.temperature == 0

    @property
    def keeps_heads(self) -> bool:
        """Whether the round's distributions were recorded."""
        return bool(self.round.nodes[0].target.tokens)

    def path_to(self, node: int) -> Iterator[int]:
        """From `node` up to the root, both included."""
        while node >= 0:
            yield node
            node = self.round.nodes[node].parent


def scenes_of(trace: Trace) -> Iterator[Scene]:
    """Every round with what was committed before it."""
    text = tuple(trace.started.prompt_ids)
    for index, this in enumerate(trace.rounds):
        yield Scene(f"rounds[{index}]", trace.started, this, text)
        text += tuple(token.token for token in this.committed.tokens)


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
