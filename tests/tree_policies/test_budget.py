"""The one option all tree policies share: a budget gives every one of them exactly so many candidates."""

import pytest

from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.drafters.base import DraftContext, DraftPolicies
from specviz.drafters.drafting.growing import ShapeOptions
from specviz.drafters.model import ModelDrafter
from specviz.lm.table import TableModel
from specviz.tree_policies.base import TREE_POLICIES

MODEL = TableModel(40, seed=2)


def drafted(tree_policy, options, sampling):
    kind = TREE_POLICIES.get(tree_policy)
    drafter = ModelDrafter(ShapeOptions())
    drafter.use(MODEL)
    drafter.follow(DraftPolicies(kind.of(options)))
    return drafter.propose(DraftContext([1, 2], 0, 40, sampling, SeededRandom(3))).tree


@pytest.mark.parametrize("tree_policy", TREE_POLICIES.names())
@pytest.mark.parametrize("budget", [4, 8, 16, 32])
def test_every_policy_can_be_asked_for_exactly_so_many_candidates(tree_policy, budget):
    for sampling in (Sampling(0.0), Sampling(1.0)):
        assert drafted(tree_policy, {"budget": budget}, sampling).drafted == budget


def test_a_shape_too_small_goes_on_like_its_last_level():
    tree = drafted("levels", {"branching": (2, 1), "budget": 7}, Sampling(1.0))
    assert tree.parents == [-1, 0, 0, 1, 2, 3, 4, 5]


def test_no_budget_leaves_the_shape_as_it_is():
    assert drafted("levels", {"branching": (2, 1)}, Sampling(1.0)).parents == [-1, 0, 0, 1, 2]
