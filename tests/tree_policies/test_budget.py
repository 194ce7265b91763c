"""The one option all growth policies share: a budget gives every one of them exactly so many candidates."""

from __future__ import annotations

import pytest

from specviz.core.randomness import SeededDice
from specviz.core.sampling import Sampling
from specviz.drafters.base import DraftContext, Habit
from specviz.drafters.model import ModelDrafter
from specviz.drafters.parts.shape import ShapeOptions
from specviz.lm.table import TableModel
from specviz.tree_policies.base import GROWTHS

MODEL = TableModel(40, seed=2)


def drafted(growth, options, sampling):
    kind = GROWTHS.get(growth)
    drafter = ModelDrafter(ShapeOptions())
    drafter.use(MODEL)
    drafter.follow(Habit(kind.of(options)))
    return drafter.propose(DraftContext([1, 2], 0, 40, sampling, SeededDice(3))).tree


@pytest.mark.parametrize("growth", GROWTHS.names())
@pytest.mark.parametrize("budget", [4, 8, 16, 32])
def test_every_policy_can_be_asked_for_exactly_so_many_candidates(growth, budget):
    for sampling in (Sampling(0.0), Sampling(1.0)):
        assert drafted(growth, {"budget": budget}, sampling).drafted == budget


def test_a_shape_too_small_goes_on_like_its_last_level():
    tree = drafted("levels", {"branching": (2, 1), "budget": 7}, Sampling(1.0))
    assert tree.parents == [-1, 0, 0, 1, 2, 3, 4, 5]


def test_no_budget_leaves_the_shape_as_it_is():
    assert drafted("levels", {"branching": (2, 1)}, Sampling(1.0)).parents == [-1, 0, 0, 1, 2]
