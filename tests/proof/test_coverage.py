"""An error of zero proves nothing where nothing was judged: what a walk must have seen, and that it fails without."""

from dataclasses import replace

import pytest

from specviz.core.sampling import Sampling
from specviz.core.tree import DraftTree
from specviz.drafters.base import DRAFTERS, Proposal
from specviz.drafters.ngram import NgramDrafter
from specviz.errors import DraftError
from specviz.proof.exhaustive import WARM, ProofCase
from specviz.proof.table import declared, measure, prompts, prove
from specviz.verifiers.base import VERIFIERS

COPYING = ProofCase("ngram", "sequential", (("gamma", 1),), WARM)
PLAIN = ProofCase("none", "sequential", (), WARM, length=2)


def planted(monkeypatch, drafter: type) -> ProofCase:
    monkeypatch.setitem(DRAFTERS._entries, "ngram", drafter)
    return COPYING


def test_a_method_is_walked_until_each_declared_kind_was_tried_accepted_and_rejected():
    found = prove(COPYING)
    assert (found.missing, found.prompts) == ((), 1)
    assert found.error < 1e-12
    assert 0.3 < found.per_round < 1.0


def test_at_temperature_zero_one_prompt_shows_one_outcome_and_others_are_walked_for_the_rest():
    found = prove(replace(COPYING, verifier="greedy", sampling=Sampling(0.0)))
    assert found.missing == ()
    assert 1 < found.prompts < len(list(prompts(3)))


def test_a_drafter_that_drafts_nothing_anywhere_is_not_proved_by_its_zero_error(monkeypatch):
    class Silent(NgramDrafter):
        def propose(self, context):
            return Proposal(DraftTree.from_root(context.tokens[-1]))

    found = prove(planted(monkeypatch, Silent))
    assert (found.error < 1e-12, found.per_round, found.prompts) == (True, 0.0, 10)
    assert found.missing == ("point_mass never drafted",)
    assert not measure(COPYING).kept


def test_a_declared_kind_that_never_comes_is_named_and_an_undeclared_one_ends_the_run(monkeypatch):
    monkeypatch.setattr(NgramDrafter, "kinds", lambda self, sampling: frozenset(["point_mass", "iid"]))
    assert prove(COPYING).missing == ("iid never drafted",)
    monkeypatch.setattr(NgramDrafter, "kinds", lambda self, sampling: frozenset(["iid"]))
    with pytest.raises(DraftError, match="does not declare"):
        prove(COPYING)


def test_candidates_that_no_rule_ever_rejects_are_named(monkeypatch):
    naive = VERIFIERS.get("naive")

    class Trusting(naive):
        def judge(self, tree, target, randomness, position):
            verdict = super().judge(tree, target, randomness, position)
            verdict.trials = [trial for trial in verdict.trials if trial.accepted]
            return verdict

    monkeypatch.setitem(VERIFIERS._entries, "naive", Trusting)
    assert prove(replace(COPYING, verifier="naive")).missing == ("point_mass never rejected",)


def test_plain_decoding_declares_no_candidates_and_has_none():
    assert declared(PLAIN) == frozenset()
    found = prove(PLAIN)
    assert (found.missing, found.per_round) == ((), 0.0)


@pytest.mark.parametrize("vocab_size", [2, 3])
def test_every_prompt_ends_in_what_it_said_before(vocab_size):
    """So that a drafter which looks the end of the text up in the text finds it, whatever drafter that is."""
    for prompt in prompts(vocab_size):
        assert len(prompt) >= 8
        assert prompt[-1] in prompt[:-1]


def test_nodes_that_ride_along_prove_nothing(monkeypatch):
    """Lookahead's window is judged like a draft, but what it drafts is the n-grams of its pool."""
    case = ProofCase("lookahead", "sequential", (("window", 2), ("ngram", 2), ("prompt_pool", True)), WARM)
    assert prove(case).missing == ()
    monkeypatch.setattr("specviz.drafters.lookahead.NgramPool.after", lambda self, token: [])
    found = prove(case)
    assert (found.per_round, found.missing) == (0.0, ("point_mass never drafted",))
