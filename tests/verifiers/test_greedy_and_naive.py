"""Exact match and sample-and-look-up, by hand."""

import pytest
import torch

from specviz.core.sampling import Sampling
from specviz.core.tree import DraftTree
from specviz.engine.scoring import ScoredTree
from specviz.options import Options
from specviz.verifiers.greedy import GreedyVerifier
from specviz.verifiers.naive import NaiveVerifier
from tests.scripted_random import ScriptedRandom


def tree_of(*candidates):
    tree = DraftTree.from_root(0)
    for parent, token in candidates:
        tree.add(parent, token, "point_mass", None, "test")
    return tree


def judge(rule, tree, rows, temperature, outcomes=()):
    scored = ScoredTree(tree, torch.tensor(rows, dtype=torch.float64).log(), Sampling(temperature))
    return rule(Options()).judge(tree, scored, ScriptedRandom(list(outcomes)), 5)


def test_greedy_follows_the_largest_logit_down_the_tree():
    tree = tree_of((0, 1), (0, 2), (2, 0), (3, 1))
    verdict = judge(
        GreedyVerifier, tree, [[0.1, 0.2, 0.7], [1, 0, 0], [0.8, 0.1, 0.1], [0.2, 0.3, 0.5], [1, 0, 0]], 0.0
    )
    assert (verdict.path, verdict.token, verdict.origin) == ([2, 3], 2, "correction")
    assert [(one.node, one.threshold, one.accepted) for one in verdict.trials] == [
        (1, 0.0, False),
        (2, 1.0, True),
        (3, 1.0, True),
        (4, 0.0, False),
    ]
    assert {one.u for one in verdict.trials} == {None}


@pytest.mark.parametrize(
    ("rule", "candidates", "rows", "outcomes", "path", "token", "origin"),
    [
        (GreedyVerifier, [(0, 1)], [[0.2, 0.4, 0.4], [0.4, 0.2, 0.4]], (), [1], 0, "bonus"),
        (GreedyVerifier, [(0, 2)], [[0.1, 0.2, 0.7], [0.1, 0.8, 0.1]], (), [1], 1, "bonus"),
        (GreedyVerifier, [], [[0.1, 0.2, 0.7]], (), [], 2, "target"),
        (NaiveVerifier, [(0, 2)], [[0.1, 0.2, 0.7], [0.1, 0.8, 0.1]], (2, 1), [1], 1, "bonus"),
    ],
    ids=["of a tie the lowest id", "a whole path ends with a bonus", "nothing drafted", "naive is greedy"],
)
def test_at_temperature_zero_the_most_probable_is_taken(rule, candidates, rows, outcomes, path, token, origin):
    verdict = judge(rule, tree_of(*candidates), rows, 0.0, outcomes)
    assert (verdict.path, verdict.token, verdict.origin) == (path, token, origin)


def test_naive_follows_its_own_sample_where_it_was_drafted():
    verdict = judge(NaiveVerifier, tree_of((0, 1), (0, 2)), [[0.5, 0.3, 0.2]] * 3, 1.0, [2, 0])
    assert (verdict.path, verdict.token, verdict.origin) == ([2], 0, "bonus")
    assert [(one.node, one.accepted) for one in verdict.trials] == [(1, False), (2, True)]
    assert [one.target_prob for one in verdict.trials] == pytest.approx([0.3, 0.2])


def test_naive_keeps_a_sample_that_nobody_drafted():
    verdict = judge(NaiveVerifier, tree_of((0, 1)), [[0.5, 0.3, 0.2]] * 2, 1.0, [2])
    assert (verdict.path, verdict.token, verdict.origin, verdict.residual) == ([], 2, "correction", None)
