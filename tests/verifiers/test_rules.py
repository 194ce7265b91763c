"""The rules on numbers that fit on paper."""

import pytest
import torch

from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.core.tree import DraftTree
from specviz.drafters.base import DRAFTERS
from specviz.engine.pairing import check_pairing
from specviz.errors import DraftError, PairingError
from specviz.trace.uniform_draws import uniform
from specviz.verifiers.base import VERIFIERS
from specviz.verifiers.kseq import solve
from tests.proof.one_level import Rows, siblings, verdicts
from tests.scripted_random import ScriptedRandom

P, Q = torch.tensor([0.2, 0.8]).double(), torch.tensor([0.8, 0.2]).double()


def rule(name):
    kind = VERIFIERS.get(name)
    return kind.of({})


def chain(tokens, q=Q) -> DraftTree:
    tree = DraftTree.from_root(0)
    for parent, token in enumerate(tokens):
        tree.add(parent, token, "iid", q, "test")
    return tree


def judged(name, tree, outcomes, rows=None):
    return rule(name).judge(tree, Rows(tree, rows or [P] * len(tree)), ScriptedRandom(outcomes), 1)


def test_block_judges_from_the_end():
    """P_1 = 0.2/0.8 = 0.25, P_2 = 0.25 · 0.8/0.2 = 1: the pair is accepted for sure, though its first token is not."""
    verdict = judged("block", chain([0, 1]), [True, 0])
    (trial,) = verdict.trials
    assert (trial.node, trial.threshold) == (2, pytest.approx(1.0))
    assert trial.terms == pytest.approx({"parent_reach": 0.25, "reach": 1.0})
    assert (verdict.path, verdict.origin, verdict.order) == ([1, 2], "bonus", "bottom_up")


def test_block_by_hand_where_the_end_is_rejected():
    """P_1 = 1 · 0.25, P_2 = 0.25 · 0.25; s_1 = 0.25 · 0.8 - 0.2 = 0, so h_1 = 0; s_0 = 0.8 - 0.2 = 0.6."""
    verdict = judged("block", chain([0, 0]), [False, False, 1])
    assert [trial.threshold for trial in verdict.trials] == pytest.approx([0.0625, 0.0])
    assert verdict.trials[1].terms == pytest.approx({"parent_reach": 1.0, "reach": 0.25, "left": 0.0})
    assert verdict.residual.tolist() == pytest.approx([0.0, 1.0])
    assert verdict.residual_mass == pytest.approx(0.6)
    assert (verdict.path, verdict.token, verdict.origin) == ([], 1, "correction")


def test_block_h_uses_the_distributions_after_the_token():
    """P_1 = 1 (token 1: 0.8/0.2); after it p' = (0.6, 0.4), q = (0.8, 0.2): s_1 = 0.2, h_1 = 0.2 / (0.2 + 0) = 1."""
    after = torch.tensor([0.6, 0.4]).double()
    verdict = judged("block", chain([1, 0]), [False, True, 1], rows=[P, after, P])
    assert [trial.threshold for trial in verdict.trials] == pytest.approx([0.75, 1.0])
    assert verdict.trials[1].terms["left"] == pytest.approx(0.2)
    assert verdict.residual.tolist() == pytest.approx([0.0, 1.0])


def test_block_refuses_a_tree():
    with pytest.raises(DraftError, match="chains only"):
        judged("block", siblings([0, 1], "iid", Q), [])


def test_traversal_gives_what_a_leaf_leaves_to_its_sibling():
    """Leaf 0: A = 0.25. Rejected: s = 0.8 - 0.2 = 0.6, A(root) stays 1, p = (0, 1). Leaf 1: min(1, 1/0.2) = 1."""
    verdict = judged("traversal", siblings([0, 1], "iid", Q), [False, True, 0])
    assert [trial.threshold for trial in verdict.trials] == pytest.approx([0.25, 1.0])
    assert [trial.target_prob for trial in verdict.trials] == pytest.approx([0.2, 1.0])
    assert [trial.draft_prob for trial in verdict.trials] == pytest.approx([0.8, 0.2])
    assert (verdict.path, verdict.order) == ([2], "bottom_up")


def test_traversal_without_replacement_renormalises_the_draft():
    verdict = judged("traversal", siblings([0, 1], "without_replacement", Q), [False, True, 0])
    assert [trial.draft_prob for trial in verdict.trials] == pytest.approx([0.8, 1.0])


def test_traversal_visits_the_tree_in_post_order():
    tree = siblings([0, 1], "iid", Q)
    tree.add(1, 0, "iid", Q, "test")
    tree.add(1, 1, "iid", Q, "test")
    verdict = judged("traversal", tree, [False, False, False, False, 1])
    assert [trial.node for trial in verdict.trials] == [3, 4, 1, 2]
    assert set(verdict.trials[2].terms) == {"parent_reach", "reach", "left"}


def test_kseq_solves_for_rho():
    """p = (1/2, 1/2), q = (1, 0), K = 2: beta = 1/(2 rho), and 1 - (1 - beta)^2 = 1/2 gives beta = 1 - 1/sqrt 2."""
    level = solve(torch.tensor([0.5, 0.5]), torch.tensor([1.0, 0.0]), 2)
    assert level.beta == pytest.approx(1 - 0.5**0.5)
    assert level.rho == pytest.approx(0.5 / (1 - 0.5**0.5))
    left, mass = level.left()
    assert left.tolist() == pytest.approx([0.0, 1.0], abs=1e-6)
    assert mass == pytest.approx(0.5)


def test_kseq_with_one_sibling_is_leviathans_rule():
    level = solve(P, Q, 1)
    assert (level.rho, level.beta) == (1.0, pytest.approx(0.4))


@pytest.mark.parametrize("siblings", [1, 2, 5])
def test_kseq_where_nothing_or_everything_agrees(siblings):
    apart = solve(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0]), siblings)
    assert apart.beta == 0.0
    assert apart.left()[0].tolist() == [1.0, 0.0]
    same = solve(P, P, siblings)
    assert (same.rho, same.beta) == (1.0, pytest.approx(1.0))


def rows_in_single_precision(seed):
    torch.manual_seed(seed)
    return torch.rand(2, 50).mul(4).softmax(-1)


def test_kseqs_chance_of_one_candidate_is_at_most_one_where_single_precision_adds_up_to_more():
    """A softmax whose entries sum to 1.0000001, drafted as it is judged; three candidates would pass with 1 + 1e-21."""
    row = torch.full((3,), 1 / 3) + torch.tensor([3e-7, 0.0, 0.0])
    assert float(row.double().sum()) > 1.0
    level = solve(row, row, 3)
    assert (level.rho, level.beta, level.passed) == (1.0, 1.0, 1.0)


def test_what_kseqs_candidates_leave_is_never_negative():
    for seed in range(40):
        left, _ = solve(*rows_in_single_precision(seed), 4).left()
        assert float(left.min()) >= 0.0


def test_kseq_refuses_siblings_of_different_draws():
    tree = siblings([0], "iid", Q)
    tree.add(0, 1, "iid", P, "other")
    with pytest.raises(DraftError, match="not drawn from the same distribution"):
        judged("kseq", tree, [])


def test_specinfer_takes_from_p_what_a_rejected_sibling_stood_for():
    """p - q = (-0.6, 0.6): after a rejected token 0 the other one is certain."""
    verdict = judged("specinfer", siblings([0, 1], "iid", Q), [False, True, 0])
    assert [trial.target_prob for trial in verdict.trials] == pytest.approx([0.2, 1.0])


@pytest.mark.parametrize("name", ["block", "traversal", "specinfer", "kseq", "sequential", "longest_path"])
def test_nothing_drafted_leaves_the_target_alone(name):
    verdict = judged(name, DraftTree.from_root(0), [1])
    assert (verdict.path, verdict.token, verdict.origin, verdict.trials) == ([], 1, "target", [])


@pytest.mark.parametrize("name", ["block", "traversal", "sequential"])
def test_a_draft_that_equals_the_target_is_accepted_whole_in_single_precision(name):
    torch.manual_seed(0)
    row = torch.rand(50).softmax(-1)
    for seed in range(50):
        tree = chain([3, 7, 11], row)
        verdict = rule(name).judge(tree, Rows(tree, [row] * 4), SeededRandom(seed), 1)
        assert verdict.path == [1, 2, 3]


def drafter_of(drafter, **options):
    kind = DRAFTERS.get(drafter)
    return kind.of(options)


@pytest.mark.parametrize(
    ("verifier", "options", "sentence"),
    [
        ("block", {"branching": (2, 1)}, "'block' judges a chain of candidates only, .* draft a chain"),
        ("specinfer", {"branching": (2, 1)}, "'specinfer' does not judge candidates drawn without replacement"),
        ("kseq", {"gamma": 3, "draw": "top_k"}, "'kseq' does not judge candidates chosen without randomness"),
    ],
)
def test_what_a_rule_does_not_hold_for_is_refused_before_anything_runs(verifier, options, sentence):
    with pytest.raises(PairingError, match=sentence):
        check_pairing(drafter_of("model", **options), VERIFIERS.get(verifier), Sampling(1.0))


@pytest.mark.parametrize("drafter", ["none", "ngram"])
def test_drafters_of_chains_go_with_block(drafter):
    check_pairing(drafter_of(drafter), VERIFIERS.get("block"), Sampling(1.0))
    check_pairing(drafter_of("model", gamma=4), VERIFIERS.get("block"), Sampling(1.0))


def test_every_verdict_of_a_level_weighs_one_in_all():
    for name in ("specinfer", "kseq", "traversal"):
        found = verdicts(name, siblings([0, 1], "iid", Q), [P] * 3)
        assert sum(weight for _, weight in found) == pytest.approx(1.0)


class Keyed(ScriptedRandom):
    """RandomSource with a script that remember what they were asked under which key."""

    def __init__(self, outcomes):
        super().__init__(outcomes)
        self.keys = []

    def accept(self, probability, key):
        self.keys.append(("accept", *key))
        return super().accept(probability, key)

    def draw(self, probs, key):
        self.keys.append(("draw", *key))
        return super().draw(probs, key)


@pytest.mark.parametrize(
    ("name", "outcomes", "tried", "depth"),
    [
        ("block", [True, 0], [2], 2),
        ("block", [False, True, 0], [2, 1], 1),
        ("block", [False, False, 0], [2, 1], 0),
        ("traversal", [True, 0], [2], 2),
        ("traversal", [False, True, 0], [2, 1], 1),
        ("traversal", [False, False, 0], [2, 1], 0),
        ("sequential", [True, True, 0], [1, 2], 2),
        ("sequential", [True, False, 0], [1, 2], 1),
        ("sequential", [False, 0], [1], 0),
        ("specinfer", [True, False, 0], [1, 2], 1),
        ("lenience", [True, False, 0], [1, 2], 1),
        ("kseq", [True, True, 0], [1, 2], 2),
        ("kseq", [True, False, 0], [1, 2], 1),
        ("kseq", [False, 0], [1], 0),
        ("longest_path", [True, False, 0], [1, 2], 1),
        ("longest_path", [False, 0], [1], 0),
    ],
)
def test_every_number_comes_from_the_key_of_its_purpose_and_position(name, outcomes, tried, depth):
    """The first token to decide is number 7: trials use ("accept", 7, node), the last draw ("target", 7 + depth, 0)."""
    tree, randomness = chain([0, 0]), Keyed(outcomes)
    verdict = rule(name).judge(tree, Rows(tree, [P] * 3), randomness, 7)
    assert len(verdict.path) == depth
    assert randomness.keys == [*(("accept", "accept", 7, node) for node in tried), ("draw", "target", 7 + depth, 0)]


def test_the_naive_rule_draws_the_token_of_each_position_from_its_own_key():
    tree, randomness = chain([0, 0]), Keyed([0, 0, 1])
    rule("naive").judge(tree, Rows(tree, [P] * 3), randomness, 7)
    assert randomness.keys == [("draw", "target", 7, 0), ("draw", "target", 8, 0), ("draw", "target", 9, 0)]


@pytest.mark.parametrize("name", ["block", "traversal", "sequential", "kseq", "longest_path"])
@pytest.mark.parametrize("seed", range(4))
def test_the_last_token_is_the_one_that_its_seed_and_key_pick(name, seed):
    """With no acceptance probability the correction is drawn from p = (0, 1/2, 1/2) by u(seed, "target", 7, 0)."""
    p, q = torch.tensor([0.0, 0.5, 0.5]).double(), torch.tensor([1.0, 0.0, 0.0]).double()
    tree = chain([0, 0], q)
    verdict = rule(name).judge(tree, Rows(tree, [p] * 3), SeededRandom(seed), 7)
    u = uniform(seed, ("target", 7, 0))
    assert (verdict.u, verdict.token, verdict.path) == (u, 1 if u < 0.5 else 2, [])
