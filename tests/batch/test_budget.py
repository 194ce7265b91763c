"""The budget of a batch: who may draft how much, by chances and prices that are small whole numbers."""

import pytest

from specviz.batch.budget import Budget, BudgetStopPolicy, Prices, Wish, grant, worth
from specviz.batch.together import Model, Turn, decode_together
from specviz.drafters.base import DraftPolicies
from specviz.engine.pairing import follow
from specviz.stop_policies.base import StopOptions
from tests.batch.simulated import Writer, seconds
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


def priced(target_s, drafter_s=free, levels: int = 2) -> Prices:
    return Prices.of(target_s, drafter_s, 4, levels)


def wish(text: int, left: int, *chances: float, unread: float = 1.0) -> Wish:
    return Wish(text, left, chances, unread)


def asking(text: int, *chances: float) -> Wish:
    return Wish(text, 9, chances, 0.0)


PACES = [0.0, 4.0, 6.0, 7.0]
"""a token takes 4 seconds where one text is left, 6 where two are, 7 where three are"""


def test_a_token_is_worth_most_where_the_batch_will_wait_for_its_text() -> None:
    """Alone behind the others 4 seconds, one of two 2, one of three 1; equals share what they save together."""
    assert worth([5, 7, 8], PACES) == [1.0, 2.0, 4.0]
    assert worth([5, 5, 5], PACES) == [7 / 3] * 3
    assert worth([8, 5, 8], PACES) == [3.0, 1.0, 3.0]


def test_the_pace_is_that_of_the_best_length_for_all() -> None:
    """A pass costs 2 seconds and one a row. Alone 3 s a token, with one candidate 4 s for 1.5 tokens, with two 5 s for
    1.75; two texts take 4 s, or 6 s for 1.5 tokens, or 8 s for 1.75."""
    prices = priced(lambda texts, rows: 2.0 + rows)
    assert prices.paces(2, 0.5).tolist() == [0.0, pytest.approx(4 / 1.5), pytest.approx(4.0)]
    assert priced(steep).paces(2, 0.5).tolist() == [0.0, 1.0, 2.0], "where rows cost what they bring none is drafted"


def by_the_row(seconds: float):
    """8 seconds for a row of each of two texts, and so many for each more."""
    return lambda texts, rows: 8.0 + seconds * max(0, rows - 2)


@pytest.mark.parametrize(
    ("saves", "chances", "row_s", "granted"),
    [
        ([3.0, 3.0], (0.75, 0.75), 2.0, [1, 1]),
        ([3.0, 3.0], (0.75, 0.5), 2.0, [1, 0]),
        ([3.0, 3.0], (0.75, 0.0), 2.5, [0, 0]),
        ([2.0, 4.0], (0.75, 0.75), 2.0, [0, 1]),
    ],
    ids=["both", "the likelier", "too dear", "whose token saves most"],
)
def test_candidates_are_granted_that_save_more_than_their_rows_cost(saves, chances, row_s, granted) -> None:
    """They save 3 · 0.75 = 2.25 s or 3 · 0.5 = 1.5 s; 2 · 0.75 = 1.5 s or 4 · 0.75 = 3 s."""
    wishes = [wish(text, 9, chance) for text, chance in enumerate(chances)]
    assert grant(wishes, saves, 2, 2, priced(by_the_row(row_s))) == granted


def test_the_whole_queue_is_looked_at_because_what_is_lost_at_first_may_be_won_in_the_end() -> None:
    """Up to 4 rows more cost 4 s at once. A candidate of each saves 3 s, two of each 6 s."""
    prices = priced(lambda texts, rows: 8.0 if rows == 2 else 12.0)
    assert grant([wish(0, 9, 0.5), wish(1, 9, 0.5)], [3.0, 3.0], 2, 2, prices) == [0, 0]
    assert grant([wish(0, 9, 0.5, 0.5), wish(1, 9, 0.5, 0.5)], [3.0, 3.0], 2, 2, prices) == [2, 2]


def test_a_pass_that_was_made_is_not_paid_again() -> None:
    """The drafter costs 8 s a pass, and was asked for the first candidate of each: the second would cost."""
    prices, saves = priced(flat, flat), [3.0, 3.0]
    assert grant([asking(0, 0.25, 0.125), asking(1, 0.25, 0.125)], saves, 2, 2, prices) == [1, 1]
    assert grant([wish(0, 9, 0.25, 0.125), wish(1, 9, 0.25, 0.125)], saves, 2, 2, prices) == [0, 0]


@pytest.mark.parametrize(("unread", "granted"), [(1.0, [1]), (1.5, [1]), (3.0, [0])])
def test_what_the_drafter_has_not_read_is_paid(unread, granted) -> None:
    """A row of the drafter costs 1 s, and the candidate saves 0.5 · 4 = 2 s."""
    assert grant([wish(0, 9, 0.5, unread=unread)], [4.0], 1, 2, priced(flat, steep)) == granted


@pytest.mark.parametrize(
    ("handling_s", "granted"), [(0.0, [2, 2]), (0.5, [2, 1]), (1.5, [2, 0]), (2.5, [1, 0]), (3.0, [0, 0])]
)
def test_what_a_candidate_costs_outside_the_passes_is_paid(handling_s, granted) -> None:
    """They save 3, 2, 1 and 0.4 s, where rows and the drafter cost nothing."""
    prices = Prices.of(flat, free, 4, 2, handling_s)
    assert grant([wish(0, 9, 0.75, 0.5), wish(1, 9, 0.25, 0.1)], [4.0, 4.0], 2, 2, prices) == granted


@pytest.mark.parametrize(("handling_s", "granted"), [(0.5, [1]), (1.5, [0])])
def test_what_is_saved_pays_the_drafter_and_that_cost_together(handling_s, granted) -> None:
    """A row of the drafter costs 1 s, and the candidate saves 0.5 · 4 = 2 s."""
    prices = Prices.of(flat, steep, 4, 2, handling_s)
    assert grant([wish(0, 9, 0.5)], [4.0], 1, 2, prices) == granted


@pytest.mark.parametrize(("switch_s", "begins", "granted"), [(4.0, True, [2]), (4.5, True, [0]), (4.5, False, [2])])
def test_a_round_that_drafts_pays_once_for_the_weights_that_come_back(switch_s, begins, granted) -> None:
    """The candidates save 3 and 1.5 s; whoever has drafted has paid."""
    prices = Prices.of(flat, free, 4, 2, switch_s=lambda texts: switch_s)
    assert grant([wish(0, 9, 0.75, 0.375)], [4.0], 1, 2, prices, begins) == granted


def test_paces_count_the_switch_once_for_a_round_that_drafts() -> None:
    """A pass takes 8 s. With two candidates that are always taken, three tokens take 9 s; 28 s would be too long."""
    cheap, dear = (Prices.of(flat, free, 1, 2, switch_s=lambda texts, s=s: s) for s in (1.0, 20.0))
    assert (cheap.paces(1, 1.0).tolist(), dear.paces(1, 1.0).tolist()) == ([0.0, 3.0], [0.0, 8.0])


def test_a_busier_machine_grants_no_more() -> None:
    """The price of a row goes up; the candidates save 2.25, 1.5, 0.75 and 0.375 s."""
    wishes = [wish(0, 9, 0.75, 0.5), wish(1, 9, 0.25, 0.125)]
    granted = [grant(wishes, [3.0, 3.0], 2, 2, priced(by_the_row(row_s))) for row_s in (0.25, 0.5, 1.0, 2.0, 3.0)]
    assert granted == [[2, 2], [2, 1], [2, 0], [1, 0], [0, 0]]


def test_a_budget_remembers_what_its_round_has_settled() -> None:
    """Rows grow by what is granted of the first level. Two candidates are best for all: 8.5 s for 1.75 tokens alone,
    9 s together; half of a token's worth is the same for both, and equals share what they save together."""
    budget = Budget(priced(flat, lambda texts, rows: 0.25 * rows))
    assert budget.grant([wish(0, 5, 0.5, 0.25), wish(1, 5, 0.5, 0.25)]) == [2, 2]
    assert (budget.rows, budget.saves) == (2, {0: pytest.approx(4.5 / 1.75), 1: pytest.approx(4.5 / 1.75)})
    assert budget.grant([asking(0, 0.75, 0.5), asking(1, 0.0, 0.0)]) == [2, 0]
    assert budget.rows == 3
    budget.grant([wish(0, 5, 0.5, 0.25), wish(1, 4, 0.5, 0.25)])
    behind, ahead = 0.5 * 8.5 / 1.75, 0.5 * 0.5 / 1.75
    assert budget.saves == {0: pytest.approx(behind + 2.25 / 1.75), 1: pytest.approx(ahead + 2.25 / 1.75)}


def test_a_text_whose_batch_gained_nothing_asks_again_after_some_rounds_and_each_time_later() -> None:
    """-7 for a round in which nothing paid; then 7 rounds without a question, and 15 after the next."""
    budget, asked = Budget(priced(steep, steep)), list[int]()

    def grants(wish: Wish) -> int:
        asked.append(wish.left)
        return budget.grant([wish])[0]

    policy = BudgetStopPolicy(StopOptions(2), budget, grants, 0, 60)
    for _ in range(1 + 7 + 1 + 15 + 1):
        if not policy.rests():
            assert policy.levels() == 0
            policy.learn(0, 0)
    assert asked == [60, 60 - 8, 60 - 24]


def test_the_rest_ends_where_a_quarter_of_the_texts_has_ended() -> None:
    """Four texts ask in vain and rest; with three they ask at once, and rest as long as at first."""
    budget = Budget(priced(steep, steep))
    wishes = [wish(text, 9, 0.5) for text in range(4)]
    policy = BudgetStopPolicy(StopOptions(2), budget, lambda asked: budget.grant([asked])[0], 0, 60)
    assert budget.grant(wishes) == [-7] * 4
    assert (policy.levels(), policy.rests()) == (0, True)
    budget.grant(wishes)
    budget.go_on(4)
    assert policy.rests()
    budget.go_on(3)
    assert not policy.rests()
    assert budget.grant(wishes[:3]) == [-7] * 3


def test_a_draft_that_is_granted_makes_the_rest_short_again() -> None:
    budget = Budget(priced(flat, steep))
    dear, cheap = wish(0, 9, 0.5, unread=9.0), wish(0, 9, 0.5, unread=0.5)
    rests = [budget.grant([asked])[0] for asked in (dear, dear, cheap, dear)]
    assert rests == [-7, -15, 1, -7]


@pytest.mark.parametrize("saves", [1.0, 2.0, 2.5, 4.0])
def test_what_is_given_up_at_a_glance_is_what_the_queue_would_not_grant(saves, monkeypatch) -> None:
    """A row costs 1 s and a candidate's chance is a half: up to 2 s a token nothing pays."""
    wishes = [wish(0, 9, 0.5), wish(1, 9, 0.5)]
    prices = priced(by_the_row(1.0))
    granted = grant(wishes, [saves] * 2, 2, 2, prices)
    monkeypatch.setattr("specviz.batch.budget._hopeless", lambda *_: False)
    assert granted == grant(wishes, [saves] * 2, 2, 2, prices)
    assert any(granted) == (saves > 2.0)


def test_a_drafter_that_was_not_asked_reads_what_it_missed_shared_out_over_the_rounds_that_are_left() -> None:
    """Of 9 tokens: a round of 2, of which the drafter has 1 to read, then rounds without it. 7, 6 and 5 tokens are left
    for 3.5, 3 and 2.5 rounds, and 1, 2 and 3 of its rows wait beside the last."""
    asked = list[Wish]()

    def grants(wish: Wish) -> int:
        asked.append(wish)
        return len(asked) == 1

    policy = BudgetStopPolicy(StopOptions(2), Budget(priced(steep)), grants, 3, 9)
    for drafted, accepted in ((1, 1), (0, 0), (0, 0), (0, 0)):
        policy.levels()
        policy.learn(drafted, accepted)
    assert [(wish.text, wish.left) for wish in asked] == [(3, 9), (3, 7), (3, 6), (3, 5)]
    assert [wish.unread for wish in asked] == [1.0, 1 + 1 / 3.5, 1 + 2 / 3, 1 + 3 / 2.5]


def wished(granted: int, longest: int = 3, tokens: int = 10) -> tuple[BudgetStopPolicy, list[Wish]]:
    """A policy that is always granted as much, and what it wishes for."""
    asked = list[Wish]()

    def grants(wish: Wish) -> int:
        asked.append(wish)
        return granted

    return BudgetStopPolicy(StopOptions(longest), Budget(priced(flat)), grants, 0, tokens), asked


def begins(policy: BudgetStopPolicy, asked: list[Wish]) -> float:
    """The chance of a round's first candidate."""
    policy.levels()
    return asked[-1].chances[0]


def test_what_a_text_expects_is_what_its_last_rounds_showed_beside_four_candidates_of_which_60_percent_were_taken():
    """Of three candidates one is taken, and the target did not come to the third. What was seen counts less with every
    round, and with every round that rests."""
    policy, asked = wished(-2)
    assert begins(policy, asked) == pytest.approx(2.4 / 4)
    policy.learn(3, 1)
    assert begins(policy, asked) == pytest.approx((2.4 + 1) / (4 + 2))
    policy.learn(0, 0)
    assert begins(policy, asked) == pytest.approx((2.4 + 0.9) / (4 + 1.8))
    assert [policy.rests() for _ in range(3)] == [True, True, False]
    policy.learn(0, 0)
    assert begins(policy, asked) == pytest.approx((2.4 + 0.9**4) / (4 + 2 * 0.9**4))


class Draft:
    """A chain of which each candidate is taken with a chance of a half."""

    def confidence(self, node: int) -> float:
        return 0.5

    def depth(self, node: int) -> int:
        return node


def test_the_chances_of_a_draft_are_those_of_its_path_down_to_the_last_token_but_one_which_is_the_targets():
    policy, asked = wished(2, longest=4, tokens=4)
    policy.levels()
    assert [policy.draws_at(Draft(), node) for node in range(2)] == [True, True]
    assert [wish.chances for wish in asked] == [
        pytest.approx((0.6, 0.36, 0.216)),
        pytest.approx((0.5, 0.3, 0.18)),
        pytest.approx((0.25, 0.15)),
    ]


def by_budget(number: int, sampling, budget: Budget, levels: int = 3):
    def make(target, drafter):
        session = session_of(number, (1,) * levels, sampling)(target, drafter)
        policy = BudgetStopPolicy(StopOptions(levels), budget, target.grants, number, 14)
        follow(session.method.drafter, DraftPolicies(stop_policy=policy))
        return session

    return make


def decoded(pair, sampling, target_s):
    models = [Model(one, one.new_batch()) for one in pair]
    budget = Budget(priced(target_s, levels=3))
    sessions = [by_budget(number, sampling, budget) for number in range(4)]
    return decode_together(*models, sessions, budget=budget)


@pytest.mark.parametrize("target_s", [flat, steep, by_the_row(0.5)], ids=["flat", "steep", "by the row"])
def test_a_greedy_text_is_the_same_under_every_budget(pair, target_s) -> None:
    expected = [alone(pair, session_of(number, (), SAMPLINGS["greedy"]))[0] for number in range(4)]
    assert [text.tokens for text in decoded(pair, SAMPLINGS["greedy"], target_s).texts] == expected


def test_free_rows_are_all_drafted_and_dear_ones_cost_not_even_a_pass_of_the_drafter(pair, monkeypatch) -> None:
    """14 tokens: with the target drafting for itself 4 rounds of at most 4, else 14 rounds of one row a text. The toy
    is sure of nothing, so what a draft must promise at least is set to nothing."""
    monkeypatch.setattr("specviz.batch.budget.LEAST", 0.0)
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
        decode_together(
            *(Model(one, one.new_batch()) for one in pair), [by_budget(0, SAMPLINGS["greedy"], Budget(priced(flat)))]
        )


def test_small_batches_by_the_clock() -> None:
    """6 tokens of one text whose candidates are all right, and of one whose are all wrong, or of two that are right. A
    pass of n rows takes 4 + n seconds, the drafter's n/2. Plain: 6 rounds of 6 s."""
    prices = Prices.of(lambda texts, rows: 4.0 + rows, lambda texts, rows: rows / 2, 2, 2)
    right, wrong = Writer(6, 1.0), Writer(6, 0.0)

    def took(texts, gamma: int | None) -> float:
        return seconds(texts, gamma, prices, 6)

    assert took([right, wrong], 0) == took([right, right], 0) == 6 * 6
    assert took([right, right], 1) == (8 + 1) + 2 * (8 + 2), "3 rounds of 4 rows, after the first 2 to read of each"
    assert took([right, right], 2) == 2 * (10 + 2 * 1) + 1, "2 rounds of 6 rows, in the second 2 to read of each"
    assert took([right, right], None) == 2 * (10 + 2 * 1) + 1, "a budget goes as far as it may"
    assert took([right, wrong], 1) == (8 + 1) + 2 * (8 + 1.5) + 2 * (6 + 0.5) + 5, "and the wrong one ends alone"
    assert took([right, wrong], None) == 39.5 < took([right, wrong], 1) == 46, "a budget has to find out"


@pytest.mark.parametrize(("size", "spread"), [(2, 0.25), (8, 0.25), (8, 0.0)])
def test_a_closed_batch_by_a_budget_is_hardly_slower_than_plain_or_the_best_chain(size, spread) -> None:
    """At prices like those of the bundled pair, in milliseconds; texts of 8 to 32 tokens."""
    prices = Prices.of(lambda texts, rows: 4.6 + 0.9 * texts + 0.95 * rows, lambda texts, rows: 1.0 + 0.3 * rows, 8, 4)
    chances, lengths = (0.4, 0.9, 0.6, 0.5, 0.8, 0.7, 0.4, 0.9), (32, 8, 32, 24, 32, 16, 32, 32)
    texts = [Writer(*both) for both in zip(lengths, chances, strict=True)]
    batches = [texts[start : start + size] for start in range(0, 8, size)]
    gammas = (None, 0, 1, 2)
    runs = [(batch, seed) for batch in batches for seed in range(4)]
    took = {gamma: sum(seconds(batch, gamma, prices, 32, seed, spread) for batch, seed in runs) for gamma in gammas}
    budget = took.pop(None)
    assert budget <= took[0] / 0.98
    assert budget <= min(took.values()) / 0.95
