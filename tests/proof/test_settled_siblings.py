"""A rule that reckons with the number of siblings is kept away from policies that make it up while drawing."""

import pytest

from specviz.core.sampling import transform
from specviz.errors import PairingError
from specviz.proof.exhaustive import ProofCase
from specviz.tree_policies.base import TREE_POLICIES, TreePolicy, TreePolicyOptions
from specviz.verifiers.kseq import KSeqVerifier
from tests.proof.walked import error


class Hesitant(TreePolicy):
    """Draws a second child, i.i.d. as the first, only where the first came out as token 0."""

    name = "hesitant"
    options_type = TreePolicyOptions
    lossless = True

    def kinds(self, sampling):
        return frozenset(["iid"])

    def grow(self, draft):
        _, logits = draft.expand([0])
        q = transform(logits[0], draft.sampling)
        first = draft.draw(q)
        draft.add(0, first, "iid", q)
        if first == 0:
            draft.add(0, draft.draw(q), "iid", q)


@pytest.fixture(autouse=True)
def hesitant(monkeypatch):
    monkeypatch.setitem(TREE_POLICIES._entries, "hesitant", Hesitant)


def judged_by(verifier: str) -> ProofCase:
    return ProofCase("model", verifier, tree_policy="hesitant", length=2)


def test_it_is_refused_with_the_reason_and_the_cure():
    with pytest.raises(PairingError, match=r"'hesitant' decides while drawing.*choose the tree policy 'levels' or"):
        error(judged_by("kseq"))


def test_if_it_were_allowed_it_would_bias_the_text(monkeypatch):
    monkeypatch.setattr(KSeqVerifier, "counts_siblings", False)
    assert error(judged_by("kseq")) > 1e-3


def test_the_sequential_rule_takes_it_as_it_comes():
    assert error(judged_by("sequential")) < 1e-12


def test_those_that_declare_a_settled_number_are_known():
    assert {name for name, tree_policy in TREE_POLICIES.items() if tree_policy.settles_siblings} >= {
        "chain",
        "levels",
        "rsd_c",
        "sequoia",
    }
    assert not TREE_POLICIES.get("rsd_s").settles_siblings
    assert not TREE_POLICIES.get("dyspec").settles_siblings
