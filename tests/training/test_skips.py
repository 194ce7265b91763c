"""The search for sub-layers that can be missed, on invented prices and agreements."""

import pytest

from specviz.training.skips import Costs, climb, price, with_entry

FLAT = {1: 1.0, 2: 1.0}
"""a wider pass costs nothing more"""


def test_the_price_of_a_token_is_the_rounds_cost_over_its_tokens():
    cost, gamma = price(0.5, 0.25, FLAT)
    assert (cost, gamma) == (pytest.approx((0.25 + 1) / 1.5), 1)
    assert price(0.0, 0.25, FLAT) == (1.25, 1)
    assert price(1.0, 0.0, FLAT) == (pytest.approx(1 / 3), 2)


def test_a_new_search_takes_the_place_of_earlier_weights_of_the_same_model_alone():
    known = {"aa": {"model": "target", "gamma": 2}, "bb": {"model": "other", "gamma": 3}}
    assert with_entry(known, "cc", {"model": "target", "gamma": 1}) == {
        "bb": {"model": "other", "gamma": 3},
        "cc": {"model": "target", "gamma": 1},
    }


def test_climbing_skips_what_is_missed_least():
    """Two layers: the attention of the first decides half of all tokens, all else costs and does nothing."""
    costs = Costs(attention=0.25, mlp=0.25, rest=0.0, wide=FLAT)
    found = climb(2, lambda blocks: 1.0 if 0 in blocks.attention else 0.5, costs, 0, lambda row: None)
    assert (found.attention, found.mlp) == (frozenset({1}), frozenset({0, 1}))
    assert (found.agreement, found.gamma) == (1.0, 2)
    assert found.cost == pytest.approx((2 * 0.25 + 1) / 3)


def test_a_target_that_can_miss_nothing_still_gets_a_set_and_its_cost_says_that_it_does_not_pay():
    costs = Costs(attention=0.25, mlp=0.25, rest=0.0, wide={1: 1.5})
    found = climb(2, lambda blocks: float(len(blocks.attention) + len(blocks.mlp) == 4), costs, 0, lambda row: None)
    assert (found.attention, found.mlp) == (frozenset({0, 1}), frozenset({0, 1}))
    assert (found.agreement, found.cost) == (0.0, 1.5)
