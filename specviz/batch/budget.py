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

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from specviz.stop_policies.base import DraftView, StopOptions, StopPolicy

Numbers = npt.NDArray[np.float64]
OfTexts = Callable[[int], float]
"""texts of the batch → measured seconds"""
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
ALIKE = 0.5
"""of a token's worth that is the same for all texts: which of them will end last is foretold badly"""
LEAST = 0.02
"""of the target's pass that a draft must promise to save: times are that uncertain"""
REST, LONGEST_REST = 7, 63
"""rounds without a question after one in which nothing paid, and after several in a row, each time twice as many and
one: a batch that gains nothing decodes plainly"""
SMALLER = 0.75
"""of the texts that asked in vain: with so many left they ask at once, because speculation pays in small batches"""


@dataclass(frozen=True, slots=True)
class Prices:
    """What passes of the batch cost on this machine, and how long a draft may be."""

    target_s: Numbers
    """[texts + 1, rows + 1] seconds; nothing for no rows"""
    drafter_s: Numbers
    """likewise"""
    levels: int
    handling_s: float
    """for a candidate outside the passes: the drafter's and the budget's own work, and both hand-overs"""
    switch_s: list[float]
    """[texts + 1] once for a round that drafts: its first passes find the other model's weights in the cache"""
    of_target: list[list[float]] = field(init=False, repr=False, compare=False)
    """`target_s` as Python's numbers, which are looked up one by one"""
    of_drafter: list[list[float]] = field(init=False, repr=False, compare=False)
    """likewise"""
    known: dict[tuple[int, float], list[float]] = field(init=False, repr=False, compare=False)
    """`mixed_paces` by texts and chance"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "of_target", self.target_s.tolist())
        object.__setattr__(self, "of_drafter", self.drafter_s.tolist())
        object.__setattr__(self, "known", {})

    @classmethod
    def of(
        cls,
        target_s: SecondsOf,
        drafter_s: SecondsOf,
        texts: int,
        levels: int,
        handling_s: float = 0.0,
        switch_s: OfTexts = lambda texts: 0.0,
    ) -> Prices:
        """For batches of up to so many texts."""
        rows = range(1, 1 + texts * (1 + levels))

        def table(of: SecondsOf) -> Numbers:
            return np.array([[0.0, *(of(max(1, count), row) for row in rows)] for count in range(texts + 1)])

        switches = [switch_s(max(1, count)) for count in range(texts + 1)]
        return cls(table(target_s), table(drafter_s), levels, handling_s, switches)

    def paces(self, texts: int, chance: float) -> Numbers:
        """Seconds [B + 1] that a token of each text takes while 0, 1, … B texts are left and all of them draft equally
        far, as far as is best; a candidate whose path is taken has this chance."""
        left, far = np.arange(texts + 1), np.arange(self.levels + 1)
        drafting = far * (self.drafter_s[left, left] + left * self.handling_s)[:, None]  # [B + 1, L + 1]
        drafting += (far > 0) * np.array(self.switch_s)[left, None]
        rows = np.minimum(left[:, None] * (1 + far), self.target_s.shape[1] - 1)
        seconds = drafting + self.target_s[left[:, None], rows]
        found: Numbers = (seconds / np.cumsum(chance**far)).min(1)
        return found

    def mixed_paces(self, texts: int, chance: float) -> list[float]:
        """`paces`, of which `ALIKE` is the same for all texts."""
        if (texts, chance) not in self.known:
            paces = self.paces(texts, chance)
            alike = np.linspace(0.0, paces[-1], len(paces))
            self.known[texts, chance] = ((1.0 - ALIKE) * paces + ALIKE * alike).tolist()
        return self.known[texts, chance]


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


def worth(left: Sequence[int], paces: Sequence[float]) -> list[float]:
    """Seconds that a token of each text saves, of texts with so many left [B]: all that are left with as many together
    take the batch from the pace of those with at least as many to that of those with more."""
    above, saved = 0, dict[int, float]()
    for tokens, alike in sorted(Counter(left).items(), reverse=True):
        saved[tokens] = (paces[above + alike] - paces[above]) / alike
        above += alike
    return [saved[tokens] for tokens in left]


def grant(
    wishes: Sequence[Wish], saves: Sequence[float], rows: int, texts: int, prices: Prices, begins: bool = True
) -> list[int]:
    """How many candidates each text may draft, so that the batch is over soonest; `saves` [W] seconds a token of each,
    `rows` of the target's pass that are granted already. `begins`: the drafter has not been asked in this round.

    Looked at are the beginnings of one queue of all candidates, those that save most first, and of each the whole:
    passes are priced in steps, so that more may be lost at first and won in the end."""
    handling_s = prices.handling_s
    if _hopeless(wishes, saves, rows, texts, prices):
        return [0] * len(wishes)
    queue = sorted(
        (-chance * saved, level, asker)
        for asker, (wish, saved) in enumerate(zip(wishes, saves, strict=True))
        for level, chance in enumerate(wish.chances)
        if chance * saved > handling_s  # any other only makes the sum worse
    )
    target_s, drafter_s = prices.of_target[texts], prices.of_drafter[texts]
    read = [0.0] * (1 + prices.levels)
    """rows of the drafter's passes, level by level"""
    dearest = len(target_s) - 1
    spent = prices.switch_s[texts] if begins else 0.0
    best, least = 0, (1.0 - LEAST) * target_s[rows]
    for count, (lost, level, asker) in enumerate(queue, 1):
        if more := 1.0 if level else wishes[asker].unread:
            before = read[level]
            read[level] = before + more
            spent += _at(drafter_s, before + more) - _at(drafter_s, before)
        spent += lost + handling_s
        seconds = spent + target_s[min(rows + count, dearest)]
        if seconds < least:
            best, least = count, seconds
    granted = [0] * len(wishes)
    for _, _, asker in queue[:best]:
        granted[asker] += 1
    return granted


def _hopeless(wishes: Sequence[Wish], saves: Sequence[float], rows: int, texts: int, prices: Prices) -> bool:
    """Whether no candidate could be granted if each saved as much as the best and the drafter cost nothing."""
    pairs = [(wish.chances, saved) for wish, saved in zip(wishes, saves, strict=True) if wish.chances]
    best = max((chances[0] * saved for chances, saved in pairs), default=0.0) - prices.handling_s
    if best <= 0.0:
        return True
    target_s, count = prices.of_target[texts], sum(len(chances) for chances, _ in pairs)
    least = (1.0 - LEAST) * target_s[rows]
    dearest = len(target_s) - 1
    return all(target_s[min(rows + more, dearest)] - more * best >= least for more in range(1, 1 + count))


def _at(seconds: Sequence[float], rows: float) -> float:
    """On straight lines between whole rows."""
    below = min(int(rows), len(seconds) - 2)
    return seconds[below] + min(1.0, rows - below) * (seconds[below + 1] - seconds[below])


@dataclass(slots=True)
class Budget:
    """What a batch goes by: prices, and how far its round has come."""

    prices: Prices
    saves: dict[int, float] = field(default_factory=dict)
    """of each text that has not ended, the seconds that a token of it saves in this round"""
    rows: int = 0
    """of the target's pass, that are certain"""
    rest: int = REST
    """rounds without a question after the next in which nothing pays"""
    asked: int = 0
    """texts that asked when nothing paid"""
    news: int = 0
    """how often the batch became so small that its texts ask before their rest is over"""

    def grant(self, wishes: Sequence[Wish]) -> list[int]:
        """Of the texts that ask now. All of a batch begin a round together; where nothing pays, a number below 0
        says how many of the next rounds go without a question."""
        begins = wishes[0].unread > 0
        if begins:
            self._begin(wishes)
        saves = [self.saves[wish.text] for wish in wishes]
        granted = grant(wishes, saves, self.rows, len(self.saves), self.prices, begins)
        if begins:
            return self._began(granted)
        self.rows += sum(map(bool, granted))
        return granted

    def _begin(self, wishes: Sequence[Wish]) -> None:
        usual = [wish.chances[0] for wish in wishes if wish.chances] or [EXPECTED]
        paces = self.prices.mixed_paces(len(wishes), round(sum(usual) / len(usual), 1))
        saves = worth([wish.left for wish in wishes], paces)
        self.saves = {wish.text: seconds for wish, seconds in zip(wishes, saves, strict=True)}
        self.rows = len(wishes)

    def _began(self, granted: list[int]) -> list[int]:
        if any(granted):
            self.rest = REST
            return granted
        rest, self.asked = self.rest, len(granted)
        self.rest = min(2 * rest + 1, LONGEST_REST)
        return [-rest] * len(granted)

    def go_on(self, texts: int) -> None:
        """With so many texts, after some have ended."""
        if texts <= SMALLER * self.asked:
            self.rest, self.asked = REST, 0
            self.news += 1


Grants = Callable[[Wish], int]
"""asks the batch's budget, once all its texts have asked; below 0: none, and for so many rounds no question"""


class BudgetStopPolicy(StopPolicy[StopOptions]):
    """Drafts what the batch's budget grants this text, at most `longest` levels."""

    name: ClassVar[str] = "budget"

    def __init__(self, options: StopOptions, budget: Budget, grants: Grants, text: int, tokens: int) -> None:
        """`text`: which of the batch; `tokens`: that it may write."""
        super().__init__(options)
        self._budget, self._grants = budget, grants
        self._text, self._tokens = text, tokens
        self._unread = 1
        """of the text, by the drafter: its last token at least"""
        self._seen, self._taken = 0.0, 0.0
        self._levels: int | None = None
        """of this round, once it is settled whether it drafts"""
        self._left = 0
        """candidates that may still be drawn"""
        self._rest = 0
        """rounds to come that do not ask"""
        self._news = 0
        """of the budget, when it was asked last"""
        self._reached = 1.0
        """chance that the target takes all that was drawn"""

    @property
    def usual(self) -> float:
        """Chance of a candidate of this text whose path is taken, from past rounds."""
        return (WEIGHT * EXPECTED + self._taken) / (WEIGHT + self._seen)

    def learn(self, drafted: int, accepted: int) -> None:
        self._forget()
        self._seen += min(drafted, accepted + 1)
        self._taken += accepted
        self._tokens -= accepted + 1
        self._unread = 1 + (0 < drafted == accepted) if self._levels else self._unread + 1
        self._levels = None

    def rests(self) -> bool:
        if not self._rest or self._news != self._budget.news:
            return False
        self._rest -= 1
        self._forget()
        self._tokens -= 1
        self._unread += 1
        return True

    def _forget(self) -> None:
        self._seen *= KEPT
        self._taken *= KEPT

    def levels(self) -> int:
        if self._levels is None:
            self._left = self._begun()
            self._levels = self.options.longest if self._left else 0
        return self._levels

    def _begun(self) -> int:
        """Candidates that a round is granted before the drafter is asked."""
        self._reached = 1.0
        rounds = max(1.0, self._tokens / TOKENS)
        granted = self._ask(self.usual, 0, 1.0 + (self._unread - 1) / rounds)
        self._rest, self._news = max(0, -granted), self._budget.news
        return max(0, granted)

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
        usual = self.usual
        chances = tuple(first * usual**level for level in range(levels))
        return self._grants(Wish(self._text, self._tokens, chances, unread))
