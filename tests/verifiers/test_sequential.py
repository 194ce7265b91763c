"""The master rule by hand: a scripted random source, small numbers, every trial written out."""

import pytest
import torch

from specviz.core.sampling import Sampling
from specviz.core.tree import DraftTree
from specviz.engine.scoring import ScoredTree
from specviz.options import Options
from specviz.verifiers.sequential import SequentialVerifier
from tests.scripted_random import ScriptedRandom

P = [0.5, 0.3, 0.2]
Q = [0.2, 0.2, 0.6]


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


def judge(tree, rows, outcomes):
    scored = ScoredTree(tree, tensor(rows).log(), Sampling(1.0))
    return SequentialVerifier(Options()).judge(tree, scored, ScriptedRandom(outcomes), 5)


def siblings(kind, tokens, q=Q):
    tree, proposal = DraftTree.from_root(0), None if kind == "point_mass" else tensor(q)
    for token in tokens:
        tree.add(0, token, kind, proposal, "test")
    return tree


def trials(verdict):
    return [(one.node, one.target_prob, one.draft_prob, one.threshold, one.accepted) for one in verdict.trials]


def approximately(rows):
    return [pytest.approx(row) for row in rows]


def test_a_rejected_candidate_is_corrected_from_the_residual():
    verdict = judge(siblings("iid", [2]), [P, P], [False, 0])
    assert trials(verdict) == approximately([(1, 0.2, 0.6, 1 / 3, False)])
    assert verdict.residual.tolist() == pytest.approx([0.75, 0.25, 0.0])
    assert (verdict.token, verdict.origin, verdict.path) == (0, "correction", [])
    assert verdict.residual_mass == pytest.approx(0.4)


def test_an_accepted_chain_ends_with_a_bonus_from_the_target_itself():
    verdict = judge(siblings("iid", [0]), [P, Q], [True, 2])
    assert trials(verdict) == approximately([(1, 0.5, 0.2, 1.0, True)])
    assert (verdict.path, verdict.token, verdict.origin) == ([1], 2, "bonus")
    assert (verdict.residual, verdict.residual_mass) == (None, None)


def test_nothing_drafted_is_a_token_of_the_target():
    verdict = judge(DraftTree.from_root(0), [P], [1])
    assert (verdict.token, verdict.origin, verdict.trials) == (1, "target", [])


def test_independent_siblings_meet_the_same_draft_and_what_is_left_of_the_target():
    verdict = judge(siblings("iid", [2, 1, 2]), [P] * 4, [False, False, False, 0])
    assert trials(verdict) == approximately(
        [(1, 0.2, 0.6, 1 / 3, False), (2, 0.25, 0.2, 1.0, False), (3, 0.0, 0.6, 0.0, False)]
    )


def test_siblings_without_replacement_meet_a_draft_without_the_earlier_ones():
    verdict = judge(siblings("without_replacement", [2, 1, 0]), [P] * 4, [False, False, True, 1])
    assert trials(verdict) == approximately(
        [(1, 0.2, 0.6, 1 / 3, False), (2, 0.25, 0.5, 0.5, False), (3, 1.0, 1.0, 1.0, True)]
    )


def test_a_rejected_point_mass_is_taken_out_of_the_target():
    verdict = judge(siblings("point_mass", [0, 1]), [P] * 3, [False, False, 2])
    assert trials(verdict) == approximately([(1, 0.5, 1.0, 0.5, False), (2, 0.6, 1.0, 0.6, False)])
    assert verdict.residual.tolist() == pytest.approx([0.0, 0.0, 1.0])
    assert verdict.residual_mass == pytest.approx(0.4)


def test_mixed_siblings_each_meet_their_own_draft():
    tree = siblings("iid", [2])
    tree.add(0, 1, "point_mass", None, "copied")
    verdict = judge(tree, [P] * 3, [False, True, 0])
    assert trials(verdict) == approximately([(1, 0.2, 0.6, 1 / 3, False), (2, 0.25, 1.0, 0.25, True)])


def test_candidates_without_replacement_of_another_source_are_not_taken_out():
    tree, q = DraftTree.from_root(0), tensor(Q)
    tree.add(0, 2, "without_replacement", q, "one")
    tree.add(0, 1, "without_replacement", q, "other")
    verdict = judge(tree, [P] * 3, [False, False, 0])
    assert verdict.trials[1].draft_prob == pytest.approx(0.2)


def test_the_impossible_is_never_accepted_whatever_the_draft_says():
    verdict = judge(siblings("iid", [1], q=[0.5, 0.5, 0.0]), [[0.5, 0.0, 0.5]] * 2, [False, 2])
    assert verdict.trials[0].threshold == 0.0


def test_a_draft_equal_to_the_target_leaves_the_target_where_rounding_rejects():
    verdict = judge(siblings("iid", [0], q=P), [P, P], [False, 1])
    assert verdict.residual_mass == pytest.approx(0.0, abs=1e-12)
    assert float(verdict.residual.sum()) == pytest.approx(1.0)


def test_later_nodes_are_judged_at_their_own_parent():
    tree = siblings("iid", [0])
    tree.add(1, 2, "iid", tensor(P), "test")
    verdict = judge(tree, [P, Q, P], [True, False, 2])
    assert trials(verdict)[1] == pytest.approx((2, 0.6, 0.2, 1.0, False))
    assert verdict.path == [1]
