"""The budget of a batch: the candidates of all texts compete for the rows of one pass.

    round begins ─► what past rounds foretell ─► who drafts at all ─► a pass of the drafter
                          ┌──────────────────────────────────────────────┘
                          └► what the drafter says now ─► whose next token is drawn ─► another pass, or the target's

A candidate brings the chance that the target reaches and takes it, and costs a row of the target's pass and its share
of the drafter's. Granted are those with which a round makes most tokens per second, by measured times of passes. The
batch-wide scheduler of DSpark (2607.05147) has all confidences of a draft from one pass; here they come level by level,
and what is not known yet is foretold.

Why no text's law changes: whether a candidate exists is settled before it is drawn, by past rounds and by what the
drafters say before their tokens are drawn, so it may depend on every other text, but never on its own value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from specviz.stop_policies.base import DraftView, StopOptions, StopPolicy

SecondsOf = Callable[[int, int], float]
"""(texts of the batch, rows of a pass) → measured seconds"""
EXPECTED = 0.6
"""chance of a candidate before anything was seen of its text"""
WEIGHT = 4.0
"""candidates that `EXPECTED` counts as much as"""
KEPT = 0.9
"""of what was seen, from one round to the next: a text that drafts no more is tried again"""


@dataclass(frozen=True, slots=True)
class Prices:
    """What passes of the batch cost on this machine."""

    target_s: SecondsOf
    drafter_s: SecondsOf


@dataclass(frozen=True, slots=True)
class Wish:
    """What one text would draft."""

    chances: tuple[float, ...]
    """that the target reaches and takes each of its next candidates, never increasing"""
    begins: bool
    """it has not asked the drafter in this round; otherwise the drafter has answered for the first of them"""


@dataclass(slots=True)
class Settled:
    """What is certain of a round under way."""

    texts: int
    """that have not ended"""
    rows: int
    """of the target's pass"""
    tokens: float
    """that it is expected to commit"""
    spent: float = 0.0
    """seconds of the drafter's passes"""


def grant(wishes: Sequence[Wish], settled: Settled, prices: Prices) -> list[int]:
    """How many candidates each text may draft, so that the round makes most tokens per second.

    Looked at are the beginnings of one queue of all candidates, the likeliest first, and of each the whole: passes are
    priced in steps, so that the rate may fall and rise again."""
    queue = sorted(
        (-chance, level, text) for text, wish in enumerate(wishes) for level, chance in enumerate(wish.chances)
    )
    drafter_s, target_s, texts = prices.drafter_s, prices.target_s, settled.texts
    paid = not wishes[0].begins
    """whether the drafter's pass for the first level is made"""
    lengths, drafting = [0] * len(wishes), [0] * max(len(wish.chances) for wish in wishes)
    tokens, spent = settled.tokens, settled.spent
    best, granted = tokens / (spent + target_s(texts, settled.rows)), list(lengths)
    for rows, (less, level, text) in enumerate(queue, start=settled.rows + 1):
        tokens -= less
        lengths[text] += 1
        if level or not paid:
            before = drafter_s(texts, drafting[level]) if drafting[level] else 0.0
            drafting[level] += 1
            spent += drafter_s(texts, drafting[level]) - before
        rate = tokens / (spent + target_s(texts, rows))
        if rate > best:
            best, granted = rate, list(lengths)
    return granted


@dataclass(slots=True)
class Budget:
    """What a batch goes by: prices, and how far its rounds have come."""

    prices: Prices
    settled: Settled = field(default_factory=lambda: Settled(0, 0, 0.0))

    def grant(self, wishes: Sequence[Wish]) -> list[int]:
        """Of the texts that ask now. All of a batch begin a round together."""
        begins = wishes[0].begins
        if begins:
            self.settled = Settled(len(wishes), len(wishes), float(len(wishes)))
        granted = grant(wishes, self.settled, self.prices)
        for wish, count in zip(wishes, granted, strict=True):
            if count and not begins:
                self.settled.rows += 1
                self.settled.tokens += wish.chances[0]
        if drafting := sum(count > (not begins) for count in granted):
            self.settled.spent += self.prices.drafter_s(self.settled.texts, drafting)
        return granted


Grants = Callable[[Wish], int]
"""asks the batch's budget, once all its texts have asked"""


class BudgetStopPolicy(StopPolicy[StopOptions]):
    """Drafts what the batch's budget grants this text, at most `longest` levels."""

    name: ClassVar[str] = "budget"

    def __init__(self, options: StopOptions, grants: Grants) -> None:
        super().__init__(options)
        self._grants = grants
        self._seen, self._taken = 0.0, 0.0
        self._levels: int | None = None
        """of this round, once it is settled whether it drafts"""
        self._left = 0
        """candidates that may still be drawn"""
        self._reached = 1.0
        """chance that the target takes all that was drawn"""

    @property
    def usual(self) -> float:
        """Chance of a candidate of this text whose path is taken, from past rounds."""
        return (WEIGHT * EXPECTED + self._taken) / (WEIGHT + self._seen)

    def learn(self, drafted: int, accepted: int) -> None:
        self._seen = KEPT * self._seen + min(drafted, accepted + 1)
        self._taken = KEPT * self._taken + accepted
        self._levels = None

    def levels(self) -> int:
        if self._levels is None:
            self._reached = 1.0
            self._left = self._grants(Wish(self._foretold(self.usual, self.options.longest), begins=True))
            self._levels = self.options.longest if self._left else 0
        return self._levels

    def goes_below(self, draft: DraftView, node: int) -> bool:
        return self._left > 0

    def draws_at(self, draft: DraftView, node: int) -> bool:
        sure = draft.confidence(node)
        chance = self._reached * (draft.head(node, 1)[0] if sure is None else sure)
        wished = self._foretold(chance, self.options.longest - draft.depth(node))
        self._left = self._grants(Wish(wished, begins=False))
        if not self._left:
            return False
        self._left -= 1
        self._reached = chance
        return True

    def _foretold(self, first: float, levels: int) -> tuple[float, ...]:
        """Chances of so many candidates of which the first has this one."""
        return tuple(first * self.usual**level for level in range(levels))
