"""The budget of a batch: the candidates of all texts compete for the rows of one pass.

    round begins ─► what past rounds foretell ─► who drafts at all ─► a pass of the drafter
                          ┌──────────────────────────────────────────────┘
                          └► what the drafter says now ─► whose next token is drawn ─► another pass, or the target's

A candidate brings the chance that the target reaches and takes it, and costs a row of the target's pass and its share
of the drafter's. Granted are those with which the last text is expected to end soonest, by measured times of passes. So
a token is worth the time that it saves: much for a text that the batch will wait for, and little for one that would
only leave earlier. The batch-wide scheduler of DSpark (2607.05147) takes what makes most tokens per second, which is
right where a text that ends makes room for another; and it has all confidences of a draft from one pass, where here
they come level by level, and what is not known yet is foretold.

Why no text's law changes: whether a candidate exists is settled before it is drawn, by past rounds and by what the
drafters say before their tokens are drawn, so it may depend on every other text, but never on its own value.

Shapes: B texts, W of them that ask, L levels, Q candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from specviz.stop_policies.base import DraftView, StopOptions, StopPolicy

Numbers = npt.NDArray[np.float64]
SecondsOf = Callable[[int, int], float]
"""(texts of the batch, rows of a pass) → measured seconds"""
EXPECTED = 0.6
"""chance of a candidate before anything was seen of its text"""
WEIGHT = 4.0
"""candidates that `EXPECTED` counts as much as"""
KEPT = 0.9
"""of what was seen, from one round to the next: a text that drafts no more is tried again"""
TOKENS = 2.0
"""of a round that drafts. A drafter that was not asked for long reads all of that first, which is shared out over the
rounds that are left: counted at once it would never be asked again, and not counted it would be asked too often"""
ALIKE = 0.2
"""of a token's worth that is the same for all texts: which of them will end last is foretold badly"""
LEAST = 0.02
"""of the target's pass that a draft must promise to save: times are that uncertain, and handling a draft costs too"""


@dataclass(frozen=True, slots=True)
class Prices:
    """What passes of the batch cost on this machine, and how long a draft may be."""

    target_s: Numbers
    """[texts + 1, rows + 1] seconds; nothing for no rows"""
    drafter_s: Numbers
    """likewise"""
    levels: int

    @classmethod
    def of(cls, target_s: SecondsOf, drafter_s: SecondsOf, texts: int, levels: int) -> Prices:
        """For batches of up to so many texts."""
        rows = range(1, 1 + texts * (1 + levels))

        def table(of: SecondsOf) -> Numbers:
            return np.array([[0.0, *(of(max(1, count), row) for row in rows)] for count in range(texts + 1)])

        return cls(table(target_s), table(drafter_s), levels)

    def paces(self, texts: int, chance: float) -> Numbers:
        """Seconds [B + 1] that a token of each text takes while 0, 1, … B texts are left and all of them draft equally
        far, as far as is best; a candidate whose path is taken has this chance."""
        left, far = np.arange(texts + 1), np.arange(self.levels + 1)
        drafting = far * self.drafter_s[left, left][:, None]  # [B + 1, L + 1]
        rows = np.minimum(left[:, None] * (1 + far), self.target_s.shape[1] - 1)
        seconds = drafting + self.target_s[left[:, None], rows]
        found: Numbers = (seconds / np.cumsum(chance**far)).min(1)
        return found


def until_over(left: Numbers, paces: Numbers) -> Numbers:
    """Seconds until the last text has ended, of texts with so many tokens left [..., B], if n of them take paces[n] a
    token: the one with most left takes paces[1] as long as it is alone, and so on."""
    falling = -np.sort(-np.maximum(left, 0.0), -1)
    found: Numbers = falling @ np.diff(paces)
    return found


@dataclass(frozen=True, slots=True)
class Wish:
    """What one text would draft."""

    text: int
    """which of the batch"""
    left: int
    """tokens that it may still write"""
    chances: tuple[float, ...]
    """that the target reaches and takes each of its next candidates, never increasing"""
    unread: float
    """rows of the drafter's first pass that count in this round; 0: it was made, and says the first chance"""


@dataclass(slots=True)
class Settled:
    """What is certain of a round under way."""

    rows: int
    """of the target's pass"""
    left: dict[int, float]
    """of each text that has not ended, the tokens that are expected to be left after this round"""


def worth(left: Numbers, paces: Numbers) -> Numbers:
    """Seconds that a token of each text saves, of texts with so many left [B]: all that are left with as many together
    take the batch from the pace of those with at least as many to that of those with more."""
    high, low = (left >= left[:, None]).sum(1), (left > left[:, None]).sum(1)
    found: Numbers = (paces[high] - paces[low]) / (high - low)
    return found


def grant(wishes: Sequence[Wish], settled: Settled, prices: Prices, paces: Numbers) -> list[int]:
    """How many candidates each text may draft, so that the batch is over soonest.

    Looked at are the beginnings of one queue of all candidates, those that save most first, and of each the whole:
    passes are priced in steps, so that more may be lost at first and won in the end."""
    texts, asking = len(settled.left), len(wishes)
    chances = np.zeros((max(len(wish.chances) for wish in wishes), asking))  # [L, W]
    for number, wish in enumerate(wishes):
        chances[: len(wish.chances), number] = wish.chances
    left = np.array([*settled.left.values()])  # [B]
    columns = {text: index for index, text in enumerate(settled.left)}
    asks = np.array([columns[wish.text] for wish in wishes])  # [W]
    saved = chances * worth(left, paces)[asks]
    queue = np.argsort(-saved, axis=None, kind="stable")[: np.count_nonzero(saved)]  # [Q]
    if not len(queue):
        return [0] * asking
    level, wisher = np.divmod(queue, asking)
    ahead = np.cumsum(np.eye(texts)[asks[wisher]] * chances.ravel()[queue][:, None], 0)  # [Q, B] tokens
    first = np.array([wish.unread for wish in wishes])[wisher]
    passes = np.cumsum(np.eye(len(chances))[level] * np.where(level, 1.0, first)[:, None], 0)  # [Q, L] their rows
    target_s, drafter_s = prices.target_s[texts], prices.drafter_s[texts]
    drafting = np.interp(passes, np.arange(len(drafter_s)), drafter_s).sum(1)  # [Q]
    rows = np.minimum(settled.rows + 1 + np.arange(len(queue)), len(target_s) - 1)
    seconds = drafting + target_s[rows] + until_over(left - ahead, paces)
    best, now = int(seconds.argmin()), float(target_s[settled.rows])
    if seconds[best] >= (1.0 - LEAST) * now + until_over(left, paces):
        return [0] * asking
    granted: list[int] = np.bincount(wisher[: best + 1], minlength=asking).tolist()
    return granted


@dataclass(slots=True)
class Budget:
    """What a batch goes by: prices, and how far its round has come."""

    prices: Prices
    settled: Settled = field(default_factory=lambda: Settled(0, {}))
    paces: Numbers = field(default_factory=lambda: np.zeros(1))

    def grant(self, wishes: Sequence[Wish]) -> list[int]:
        """Of the texts that ask now. All of a batch begin a round together."""
        if wishes[0].unread:
            self.settled = Settled(len(wishes), {wish.text: wish.left - 1.0 for wish in wishes})
            usual = [wish.chances[0] for wish in wishes if wish.chances] or [EXPECTED]
            paces = self.prices.paces(len(wishes), sum(usual) / len(usual))
            self.paces = (1.0 - ALIKE) * paces + ALIKE * np.linspace(0.0, paces[-1], len(paces))
        granted = grant(wishes, self.settled, self.prices, self.paces)
        for wish, count in zip(wishes, granted, strict=True):
            if count and not wish.unread:
                self.settled.rows += 1
                self.settled.left[wish.text] -= wish.chances[0]
        return granted


Grants = Callable[[Wish], int]
"""asks the batch's budget, once all its texts have asked"""


class BudgetStopPolicy(StopPolicy[StopOptions]):
    """Drafts what the batch's budget grants this text, at most `longest` levels."""

    name: ClassVar[str] = "budget"

    def __init__(self, options: StopOptions, grants: Grants, text: int, tokens: int) -> None:
        """`text`: which of the batch; `tokens`: that it may write."""
        super().__init__(options)
        self._grants = grants
        self._text, self._tokens = text, tokens
        self._unread = 1
        """of the text, by the drafter: its last token at least"""
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
        self._tokens -= accepted + 1
        self._unread = 1 + (0 < drafted == accepted) if self._levels else self._unread + 1
        self._levels = None

    def levels(self) -> int:
        if self._levels is None:
            self._reached = 1.0
            rounds = max(1.0, self._tokens / TOKENS)
            self._left = self._ask(self.usual, 0, 1.0 + (self._unread - 1) / rounds)
            self._levels = self.options.longest if self._left else 0
        return self._levels

    def goes_below(self, draft: DraftView, node: int) -> bool:
        return self._left > 0

    def draws_at(self, draft: DraftView, node: int) -> bool:
        sure = draft.confidence(node)
        chance = self._reached * (draft.head(node, 1)[0] if sure is None else sure)
        self._left = self._ask(chance, draft.depth(node), 0.0)
        if not self._left:
            return False
        self._left -= 1
        self._reached = chance
        return True

    def _ask(self, first: float, depth: int, unread: float) -> int:
        """For candidates below so many that are drafted, the first of which has this chance. A text's last token is the
        target's."""
        levels = min(self.options.longest, self._tokens - 1) - depth
        chances = tuple(first * self.usual**level for level in range(levels))
        return self._grants(Wish(self._text, self._tokens, chances, unread))
