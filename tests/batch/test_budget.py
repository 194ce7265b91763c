"""The budget of a batch: who may draft how much, by chances and prices that are small whole numbers."""

from __future__ import annotations

from itertools import product

import pytest

from specviz.batch.budget import Budget, BudgetStopPolicy, Prices, Settled, Wish, grant
from specviz.batch.together import Model, Turn, decode_together
from specviz.drafters.base import DraftPolicies
from specviz.engine.pairing import follow
from specviz.stop_policies.base import StopOptions
from tests.batch.test_together import SAMPLINGS, alone, pair, session_of
from tests.lm.conftest import checkpoint, one_thread

__all__ = ["checkpoint", "one_thread", "pair"]


def free(texts: int, rows: int) -> float:
    return 0.0


def steep(texts: int, rows: int) -> float:
    """A row costs a second, whatever else is in the pass."""
    return float(rows)


def flat(texts: int, rows: int) -> float:
    return 8.0


def steps(texts: int, rows: int) -> float:
    """Four rows are as dear as one, the fifth as much again."""
    return 4.0 * ((rows + 3) // 4)


def wish(*chances: float) -> Wish:
    return Wish(chances, begins=True)


def asking(*chances: float) -> Wish:
    return Wish(chances, begins=False)


START = Settled(texts=2, rows=2, tokens=2.0)


@pytest.mark.parametrize(
    ("target_s", "drafter_s", "granted"),
    [(flat, free, [2, 2]), (steep, free, [0, 0]), (steps, free, [2, 0]), (flat, steep, [2, 0]), (flat, flat, [0, 0])],
    ids=["rows are free", "a row costs a token", "to the end of the step", "a drafter that costs", "as dear as a text"],
)
def test_the_likeliest_candidates_of_all_texts_are_granted_while_a_round_gains(target_s, drafter_s, granted) -> None:
    """2 texts with 0.75, 0.5 and 0.25, 0.125: 2 tokens are sure, and 0.75 + 0.5 + 0.25 + 0.125 may come."""
    wishes = [wish(0.75, 0.5), wish(0.25, 0.125)]
    assert grant(wishes, START, Prices(target_s, drafter_s)) == granted


def test_the_whole_queue_is_looked_at_because_the_rate_may_fall_and_rise_again() -> None:
    """2 tokens in 8 s; 2.5 and 3 in 12 s are fewer per second or as many, and 4 in 12 s are more."""
    prices = Prices(lambda texts, rows: 8.0 if rows == 2 else 12.0, free)
    assert grant([wish(0.5), wish(0.5)], START, prices) == [0, 0]
    assert grant([wish(0.5, 0.5), wish(0.5, 0.5)], START, prices) == [2, 2]


def test_a_pass_that_was_made_is_not_paid_again() -> None:
    """The drafter costs 8 s a pass, and was asked for the first candidate of each already: the second would cost."""
    prices = Prices(flat, flat)
    spent = Settled(texts=2, rows=2, tokens=2.0, spent=8.0)
    assert grant([asking(0.25, 0.125), asking(0.125, 0.0625)], spent, prices) == [1, 1]


def test_the_grant_is_the_best_of_all_where_rows_cost_alike() -> None:
    chances = [(0.75, 0.5, 0.125), (0.5, 0.25), (0.25,)]
    prices = Prices(lambda texts, rows: 4.0 + rows, free)
    start = Settled(3, 3, 3.0)

    def rate(lengths: tuple[int, ...]) -> float:
        tokens = 3.0 + sum(sum(of[:length]) for of, length in zip(chances, lengths, strict=True))
        return tokens / (7.0 + sum(lengths))

    best = max(product(range(4), range(3), range(2)), key=rate)
    assert best == (2, 1, 0)
    assert grant([wish(*of) for of in chances], start, prices) == [2, 1, 0]


def test_a_busier_machine_grants_no_more() -> None:
    """The price of a row goes up: 4, 3, 2, 1 and 0 candidates."""
    wishes = [wish(0.75, 0.5), wish(0.25, 0.125)]
    counts = [
        sum(grant(wishes, START, Prices(lambda texts, rows, row=row: 16.0 + row * rows, free)))
        for row in (0.5, 2.0, 4.0, 16.0, 64.0)
    ]
    assert counts == sorted(counts, reverse=True)
    assert (counts[0], counts[-1]) == (4, 0)


def test_a_budget_remembers_what_its_round_has_settled() -> None:
    """Rows and tokens grow with what is granted of the first level, seconds with the drafter's passes."""
    budget = Budget(Prices(lambda texts, rows: 64.0, lambda texts, rows: float(rows)))
    assert budget.grant([wish(0.5, 0.25), wish(0.5, 0.25)]) == [2, 2]
    assert budget.settled == Settled(texts=2, rows=2, tokens=2.0, spent=2.0)
    assert budget.grant([asking(0.75, 0.5), asking(0.0, 0.0)]) == [2, 0]
    assert budget.settled == Settled(texts=2, rows=3, tokens=2.75, spent=3.0)


def by_budget(number: int, sampling, levels: int = 3):
    def make(target, drafter):
        session = session_of(number, (1,) * levels, sampling)(target, drafter)
        follow(session.method.drafter, DraftPolicies(stop_policy=BudgetStopPolicy(StopOptions(levels), target.grants)))
        return session

    return make


def decoded(pair, sampling, target_s, drafter_s=free):
    models = [Model(one, one.new_batch()) for one in pair]
    sessions = [by_budget(number, sampling) for number in range(4)]
    return decode_together(*models, sessions, budget=Budget(Prices(target_s, drafter_s)))


@pytest.mark.parametrize("target_s", [flat, steep, steps], ids=["flat", "steep", "steps"])
def test_a_greedy_text_is_the_same_under_every_budget(pair, target_s) -> None:
    expected = [alone(pair, session_of(number, (), SAMPLINGS["greedy"]))[0] for number in range(4)]
    assert [text.tokens for text in decoded(pair, SAMPLINGS["greedy"], target_s).texts] == expected


def test_free_rows_are_all_drafted_and_dear_ones_cost_not_even_a_pass_of_the_drafter(pair) -> None:
    """14 tokens: with the target drafting for itself 4 rounds of at most 4, else 14 rounds of one row a text."""
    pair = (pair[0], pair[0])
    generous, mean = (decoded(pair, SAMPLINGS["greedy"], price) for price in (flat, steep))
    assert [text.drafted for text in generous.texts] == [3 + 3 + 3 + 1] * 4
    assert generous.passes[Turn.TARGET] == 4
    assert [text.drafted for text in mean.texts] == [0] * 4
    assert mean.passes == {Turn.TARGET: 14, Turn.DRAFTER: 0}
    assert mean.full[Turn.TARGET] == {4: 14}
    assert mean.full_tokens == 4 * 14


def test_a_session_that_drafts_by_a_budget_needs_a_batch_that_has_one(pair) -> None:
    with pytest.raises(AssertionError, match="the batch has none"):
        decode_together(*(Model(one, one.new_batch()) for one in pair), [by_budget(0, SAMPLINGS["greedy"])])
