"""The exact law of a written rule: every candidate that may be drawn, every side of u on which the rule decides the
same, every replacement, added up. Nothing is sampled.

A world has a target row p and a draft row q for the first token. After token t both are turned by t + 1 places, so that
what comes second hangs on what came first. The same in the browser: `rules/rule_law.js`. The engine's own enumeration
is `specviz.proof`; a test holds both against each other for every built-in rule.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from specviz.written_rules.language import WrittenRule
from specviz.written_rules.values import TINY, Row, Value, at_token, line_value, normalised, row_of, setting_of, total

NEVER = 1e-15
"""a way that is less probable is rounding"""
START = -1
HALVINGS = 60
Way = tuple[tuple[int, ...], float]
"""the tokens that a round commits, and how probable that is"""
Piece = tuple[float, Row | None]
"""a share of u, and what is drawn there; None: the candidate is kept"""


@dataclass(frozen=True, slots=True)
class World:
    """Where a rule is tried."""

    p: Row
    """target [V]"""
    q: Row
    """draft [V]"""
    gamma: int = 1
    siblings: int = 1
    draw: str = "iid"
    """`iid`, `without_replacement`, or `shared`: u has drawn the candidate that it judges"""

    @property
    def best(self) -> float:
        """The most that an exact rule keeps of one candidate: the sum of min(p, q)."""
        return total([min(p, q) for p, q in zip(self.p, self.q, strict=True)])

    @property
    def length(self) -> int:
        """Tokens that are looked at: those of a round, and two at least."""
        return max(2, self.gamma + 1)


@dataclass(slots=True)
class Level:
    """All that can happen to the candidates for one token."""

    kept: Row
    """[V]: a candidate was kept"""
    moved: list[Row]
    """[V, V]: last candidate tried, replacement"""
    stopped: float = 0.0
    lost: float = 0.0
    """there was nothing to draw the replacement from"""


def turned(row: Row, context: int) -> Row:
    """The row after a token; the row itself at the start."""
    return row if context == START else [row[(i + context + 1) % len(row)] for i in range(len(row))]


def _proposal(world: World, q: Row, drawn: Sequence[int]) -> Row:
    """What the next sibling is drawn from: q, or q without those drawn before it, made whole."""
    if world.draw != "without_replacement" or not drawn:
        return q
    return normalised([0.0 if token in drawn else value for token, value in enumerate(q)])


def kseq_factor(p: Row, q: Row, siblings: int) -> float:
    """The smallest rho of at least 1 with 1 - (1 - beta)^K <= rho beta, where beta is the sum of min(p / rho, q)."""

    def misses(rho: float) -> bool:
        beta = min(1.0, total([min(a / rho, b) for a, b in zip(p, q, strict=True)]))
        miss = 1.0
        for _ in range(siblings):
            miss *= 1 - beta
        return 1 - miss > rho * beta

    low, high = 1.0, float(siblings)
    if not misses(low):
        return low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if misses(middle) else (low, middle)
    return high


def pieces_of(
    rule: WrittenRule, values: Mapping[str, Value], size: int, token: int, span: tuple[float, float] = (0.0, 1.0)
) -> Iterator[Piece]:
    """How a candidate fares where u lies in `span`. Raises RuleError."""

    def replace(u: float, cuts: list[float] | None = None) -> Row:
        return row_of(line_value(rule, "replacement", setting_of(values, size, token, u, cuts), 0.0), size)

    def accept(u: float, cuts: list[float] | None = None) -> float:
        return at_token(line_value(rule, "accept", setting_of(values, size, token, u, cuts), 0.0), token)

    start, end = span
    cuts: list[float] = []
    acceptance, always = accept((start + end) / 2, cuts), replace((start + end) / 2, cuts)
    decides, moves = rule.looks_at("accept", "u"), rule.looks_at("replacement", "u")
    if not decides:
        cuts.append(acceptance)
    ends = [start, *sorted({cut for cut in cuts if start < cut < end}), end]
    for low, high in pairwise(ends):
        u, share = (low + high) / 2, (high - low) / (end - start)
        kept = accept(u) != 0 if decides else u < acceptance
        if share > NEVER:
            yield share, None if kept else replace(u) if moves else always


def drawable(row: Row) -> Row | None:
    """Weights as probabilities; None where nothing can be drawn with them."""
    mass = total(row)
    if mass <= TINY or any(value < -TINY or value == math.inf for value in row):
        return None
    return [max(0.0, value) / mass for value in row]


def stop_of(rule: WrittenRule, p: Row, q: Row, gamma: int, token: int) -> float:
    """With which probability the draft ends before this candidate."""
    setting = setting_of({"p": p, "q": q, "gamma": float(gamma)}, len(p), token)
    return min(1.0, max(0.0, at_token(line_value(rule, "stop", setting, 0.0), token)))


def level_of(rule: WrittenRule, world: World, p: Row, q: Row) -> Level:
    """The candidates for one token, rows p and q [V]. Raises RuleError."""
    size = len(p)
    level = Level([0.0] * size, [[0.0] * size for _ in range(size)])
    rho, many, gamma = kseq_factor(p, q, world.siblings), float(world.siblings), float(world.gamma)

    def replaced(mass: float, last: int, row: Row) -> None:
        law = drawable(row)
        if law is None:
            level.lost += mass
            return
        for token, chance in enumerate(law):
            level.moved[last][token] += mass * chance

    def tried(whole: float, r: Row, drawn: tuple[int, ...]) -> None:
        proposal = _proposal(world, q, drawn)
        values: dict[str, Value] = {"p": p, "q": q, "r": r, "Q": proposal, "rho": rho, "K": many, "gamma": gamma}
        for token, chance in enumerate(proposal):
            mass = whole * chance
            if mass < NEVER:
                continue
            if not drawn:
                stop = stop_of(rule, p, q, world.gamma, token)
                level.stopped += mass * stop
                mass *= 1 - stop
            begin = total(proposal[:token])
            span = (begin, begin + chance) if world.draw == "shared" else (0.0, 1.0)
            for share, row in pieces_of(rule, values, size, token, span):
                if mass * share < NEVER:
                    continue
                if row is None:
                    level.kept[token] += mass * share
                elif can_go_on((*drawn, token)):
                    tried(mass * share, row, (*drawn, token))
                else:
                    replaced(mass * share, token, row)

    def can_go_on(drawn: tuple[int, ...]) -> bool:
        return len(drawn) < world.siblings and total(_proposal(world, q, drawn)) > TINY

    tried(1.0, p, ())
    return level


def bonus_of(rule: WrittenRule, gamma: int, p: Row, q: Row, rejected: bool) -> Row | None:
    """What a bonus is drawn from [V]; None where there is none."""
    values: dict[str, Value] = {"p": p, "q": q, "gamma": float(gamma), "rejected": float(rejected)}
    usual: Value = 0.0 if rejected else p
    return drawable(row_of(line_value(rule, "bonus", setting_of(values, len(p), None), usual), len(p)))


class Law:
    """The law of texts under repeated rounds of a rule."""

    def __init__(self, rule: WrittenRule, world: World) -> None:
        self.rule, self.world = rule, world
        self._levels: dict[int, Level] = {}
        self._texts: dict[tuple[int, int], Row] = {}

    def level(self, context: int = START) -> Level:
        """After this token, or at the start."""
        if context not in self._levels:
            p, q = turned(self.world.p, context), turned(self.world.q, context)
            self._levels[context] = level_of(self.rule, self.world, p, q)
        return self._levels[context]

    def _bonus(self, context: int, rejected: bool) -> Row | None:
        p, q = turned(self.world.p, context), turned(self.world.q, context)
        return bonus_of(self.rule, self.world.gamma, p, q, rejected)

    def _ended(self, tokens: tuple[int, ...], context: int, mass: float, rejected: bool, most: int) -> Iterator[Way]:
        row = self._bonus(context, rejected) if len(tokens) < most and mass > NEVER else None
        if row is None:
            yield tokens, mass
            return
        for token, chance in enumerate(row):
            if mass * chance > NEVER:
                yield (*tokens, token), mass * chance

    def round(
        self, context: int, most: int, tokens: tuple[int, ...] = (), mass: float = 1.0, depth: int = 0
    ) -> Iterator[Way]:
        """What a round commits, cut off after `most` tokens."""
        if mass < NEVER:
            return
        if len(tokens) == most:
            yield tokens, mass
        elif depth == self.world.gamma:
            yield from self._ended(tokens, context, mass, False, most)
        else:
            here = self.level(context)
            yield from self._ended(tokens, context, mass * here.stopped, False, most)
            for token, chance in enumerate(here.kept):
                yield from self.round(token, most, (*tokens, token), mass * chance, depth + 1)
            for last, row in enumerate(here.moved):
                for token, chance in enumerate(row):
                    if mass * chance > NEVER:
                        yield from self._ended((*tokens, token), last, mass * chance, True, most)

    def text(self, length: int, context: int = START) -> Row:
        """The law of the next tokens [V ** length], all texts in order; what is lost is missing in the sum."""
        if length == 0:
            return [1.0]
        if (context, length) not in self._texts:
            size = len(self.world.p)
            law = [0.0] * size**length
            for tokens, mass in self.round(context, length):
                if not tokens or mass < NEVER:
                    continue
                rest = self.text(length - len(tokens), tokens[-1])
                first = 0
                for token in tokens:
                    first = first * size + token
                for i, chance in enumerate(rest):
                    law[first * len(rest) + i] += mass * chance
            self._texts[context, length] = law
        return self._texts[context, length]


def target_text(p: Row, length: int, context: int = START) -> Row:
    """The target's own law of texts [V ** length]."""
    if length == 0:
        return [1.0]
    row = turned(p, context)
    return [chance * rest for token, chance in enumerate(row) for rest in target_text(p, length - 1, token)]
