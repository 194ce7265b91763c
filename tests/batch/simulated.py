"""A closed batch on a clock of written prices: no model, but the budget's own policy, asked as a batch asks it.

draft: a pass of the drafter over all texts that go on · budget: what it grants · target: all texts, once a round
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specviz.batch.budget import Budget, BudgetStopPolicy, Prices, Wish
from specviz.batch.pausable import Pausable
from specviz.stop_policies.base import StopOptions

TURNS = ("draft", "budget", "target")


@dataclass(frozen=True)
class Writer:
    """One text."""

    tokens: int
    """that it writes; it may write `most` of its batch"""
    chance: float
    """of a candidate whose path is taken, on average; the drafter knows each one's own"""


@dataclass
class Level:
    """What the policy sees of a draft."""

    sure: float = 0.0

    def confidence(self, node: int) -> float:
        return self.sure

    def depth(self, node: int) -> int:
        return node


def seconds(
    texts: Sequence[Writer], gamma: int | None, prices: Prices, most: int, seed: int = 0, spread: float = 0.0
) -> float:
    """Until the last of the texts has ended: chains of `gamma`, or with None what the budget grants."""
    budget = Budget(prices)
    runs = [Pausable(_writing(number, text, gamma, budget, most, seed, spread)) for number, text in enumerate(texts)]
    clock = 0.0
    while waiting := [run for run in runs if not run.over]:
        turn = min((run.asked[0] for run in waiting), key=TURNS.index)
        served = [run for run in waiting if run.asked[0] == turn]
        answers: list[int] = [0] * len(served)
        if turn == "budget":
            answers = budget.grant([run.asked[1] for run in served])
        else:
            table = prices.drafter_s if turn == "draft" else prices.target_s
            rows = table[len(waiting)]
            clock += float(rows[min(sum(run.asked[1] for run in served), len(rows) - 1)])
        for run, answer in zip(served, answers, strict=True):
            run.answer(answer)
        if any(run.over for run in waiting):
            budget.go_on(sum(not run.over for run in waiting))
    return clock


def _writing(
    number: int, text: Writer, gamma: int | None, budget: Budget, most: int, seed: int, spread: float
) -> Callable[[Callable[[tuple[str, int | Wish]], int]], None]:
    def body(ask: Callable[[tuple[str, int | Wish]], int]) -> None:
        drawn, level = random.Random(1000 * seed + number), Level()
        options = StopOptions(budget.prices.levels)
        policy = BudgetStopPolicy(options, budget, lambda wish: ask(("budget", wish)), number, most)
        written, unread = 0, 1
        while written < text.tokens:
            if gamma is None and policy.rests():
                ask(("target", 1))
                written, unread = written + 1, unread + 1
                continue
            wanted = policy.levels() if gamma is None else gamma
            drafted = accepted = read = 0
            while drafted < min(wanted, most - written - 1) and (gamma is not None or policy._left > 0):
                ask(("draft", unread if drafted == 0 else 1))
                read, level.sure = 1, min(1.0, max(0.0, text.chance + drawn.uniform(-spread, spread)))
                if gamma is None and not policy.draws_at(level, drafted):
                    break
                accepted += accepted == drafted and drawn.random() < level.sure
                drafted += 1
            ask(("target", 1 + drafted))
            accepted = min(accepted, text.tokens - written - 1)
            written += 1 + accepted
            unread = 1 + (0 < drafted == accepted) if read else unread + 1
            policy.learn(drafted, accepted)

    return body
