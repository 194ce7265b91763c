"""A machine's limit on the size of trees holds for every way of asking for a large one, of every shipped method."""

from __future__ import annotations

import pytest

from specviz.app.form.request import Limits, within
from specviz.errors import OptionError
from specviz.live.catalog import saved

SMALL = Limits(max_tree_nodes=64)
METHODS = {method.name: method for method in (*saved().tree_policies, *saved().drafters)}
TREE_POLICIES = [method.name for method in saved().tree_policies]


def asked(name, **options):
    method = METHODS[name]
    return within(SMALL, method, {**{card.name: card.default for card in method.options}, **options})


@pytest.mark.parametrize("tree_policy", TREE_POLICIES)
def test_the_budget_of_every_tree_policy_is_capped(tree_policy):
    assert asked(tree_policy, budget=64)["budget"] == 64
    with pytest.raises(OptionError, match="budget 65 makes 65 candidates per round, but this machine takes 64"):
        asked(tree_policy, budget=65)


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("rsd_s", {"width": 13, "depth": 5}, "width 13 with depth 5 makes 65 candidates"),
        ("levels", {"branching": [5, 13]}, "branching 5,13 makes 70 candidates"),
        ("model", {"branching": [4, 4, 4], "gamma": 2}, "branching 4,4,4 makes 84 candidates"),
        (
            "paths",
            {"paths": "; ".join([*map(str, range(32)), *(f"{rank},0" for rank in range(32)), "0,0,0"])},
            "the list of paths makes 65 candidates",
        ),
        ("paths", {"paths": "0; 1,0"}, "paths lists 1,0, but not 1, below which it hangs"),
    ],
)
def test_so_is_a_shape_of_many_candidates(name, options, sentence):
    with pytest.raises(OptionError, match=sentence):
        asked(name, **options)


def test_a_large_shape_cut_by_its_budget_fits():
    assert asked("rsd_s", width=32, depth=32, budget=20)["budget"] == 20


def test_every_tree_policy_says_what_its_options_count():
    assert all(any(card.counts == "candidates" for card in METHODS[name].options) for name in TREE_POLICIES)
