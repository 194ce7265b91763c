"""Bugs that an implementation of these rules invites, planted one at a time: the proof catches each."""

import pytest

from specviz.core.sampling import residual, without
from specviz.proof.exhaustive import WARM, ProofCase
from specviz.verifiers import block, candidates, kseq, traversal
from specviz.verifiers.candidates import path_reach, scaled_rejection
from specviz.verifiers.kseq import KSeqVerifier, Level
from tests.proof.walked import error

CAUGHT = 1e-6


def case(verifier, **options) -> ProofCase:
    return ProofCase("model", verifier, tuple(options.items()), WARM)


BLOCK = case("block", gamma=2)
KSEQ = case("kseq", branching=(2,), draw="iid")
TREE = case("traversal", branching=(2, 1))
PAIR = case("traversal", branching=(2,))


@pytest.mark.parametrize("one", [BLOCK, KSEQ, PAIR, TREE], ids=str)
def test_unharmed_rules_pass(one):
    assert error(one) < 1e-12


class Shifted:
    """The target with the rows of every node's parent in place of its own."""

    def __init__(self, target):
        self._target = target

    def __getattr__(self, name):
        return getattr(self._target, name)

    def probs(self, node):
        return self._target.probs(max(0, node - 1))


def test_block_with_the_distributions_before_the_token(monkeypatch):
    """The index shift: s_i from the distributions that x_i itself was drawn under."""
    judge = block.BlockVerifier.judge

    def shifted(self, tree, target, randomness, position):
        return judge(self, tree, Shifted(target), randomness, position)

    monkeypatch.setattr(block.BlockVerifier, "judge", shifted)
    assert error(BLOCK) > CAUGHT


def test_block_without_the_clip_at_one(monkeypatch):
    """P_i is clipped at every step; the product of ratios clipped once at the end is not the same."""

    def unclipped(tree, target):
        product = [1.0]
        for node in range(1, len(tree)):
            product.append(product[-1] * target.candidate_prob(node) / tree.proposal_prob(node))
        return [min(1.0, chance) for chance in product]

    monkeypatch.setattr(block, "_reach", unclipped)
    assert error(BLOCK) > CAUGHT


def test_block_that_stops_at_the_prefix_probability_itself(monkeypatch):
    """Accepting prefix i with P_i instead of h_i counts longer prefixes twice."""
    monkeypatch.setattr(block, "reach_after", lambda reach, left: reach)
    assert error(BLOCK) > CAUGHT


def unscaled(target, reach, token, proposal):
    return scaled_rejection(target, 1.0, token, proposal)


def test_block_with_an_unscaled_residual(monkeypatch):
    monkeypatch.setattr(block, "scaled_rejection", unscaled)
    assert error(BLOCK) > CAUGHT


def test_block_on_top_of_token_by_token_draws(monkeypatch):
    """One ratio per token where the probability of the whole prefix belongs."""
    monkeypatch.setattr(block, "path_reach", lambda reach, p, q: min(1.0, p / q))
    assert error(BLOCK) > CAUGHT


def test_kseq_with_leviathans_residual(monkeypatch):
    monkeypatch.setattr(Level, "left", lambda self: residual(self.p, self.q))
    assert error(KSEQ) > CAUGHT


def test_kseq_with_a_residual_of_one_candidate(monkeypatch):
    """p - min(p / rho, q), without the factor for K of them."""

    def single(self):
        return residual(self.p, (self.p / self.rho).minimum(self.q))

    monkeypatch.setattr(Level, "left", single)
    assert error(KSEQ) > CAUGHT


def test_kseq_with_rho_below_its_root(monkeypatch):
    """rho = 1 accepts too much: nothing that can be drawn afterwards makes up for it."""
    solve = kseq.solve

    def low(p, q, siblings):
        return solve(p, q, 1) if siblings == 1 else Level(p, q, siblings, 1.0, float(p.minimum(q).sum()))

    monkeypatch.setattr(kseq, "solve", low)
    assert error(KSEQ) > CAUGHT


def test_kseq_on_siblings_without_replacement(monkeypatch):
    monkeypatch.setattr(KSeqVerifier, "judges", frozenset(["iid", "without_replacement"]))
    assert error(case("kseq", branching=(2,), draw="without_replacement")) > CAUGHT


def test_traversal_with_the_first_siblings_draft(monkeypatch):
    """Without replacement, Q loses the rejected token."""
    monkeypatch.setattr(traversal, "drawn_from", lambda tree, child, refused: tree.proposals[child])
    assert error(PAIR) > CAUGHT


def test_traversal_with_a_draft_that_is_not_renormalised(monkeypatch):
    def unnormalised(proposal, tokens):
        left, mass = without(proposal, tokens)
        return left * mass, mass

    monkeypatch.setattr(candidates, "without", unnormalised)
    assert error(PAIR) > CAUGHT


def test_traversal_that_leaves_the_probability_of_the_parent_as_it_was(monkeypatch):
    monkeypatch.setattr(traversal, "reach_after", lambda reach, left: reach)
    assert error(TREE) > CAUGHT


def test_traversal_of_an_unscaled_target(monkeypatch):
    monkeypatch.setattr(traversal, "scaled_rejection", unscaled)
    assert error(TREE) > CAUGHT


def test_traversal_that_gives_a_parent_up_with_its_last_child(monkeypatch):
    """A probability of 0 once the children ran out, as in a port of this rule."""

    class Hasty(traversal.Visit):
        def reject(self, child):
            super().reject(child)
            if not self.waiting and self.node:
                self.reach = 0.0

    monkeypatch.setattr(traversal, "Visit", Hasty)
    assert error(TREE) > CAUGHT


def test_traversal_with_the_ratio_of_one_token(monkeypatch):
    monkeypatch.setattr(traversal, "path_reach", lambda reach, p, q: path_reach(1.0, p, q))
    assert error(TREE) > CAUGHT
