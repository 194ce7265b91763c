"""Texts decoded in one batch have the product of the target's own laws: each its own law, and none knows of another."""

from dataclasses import replace

import pytest

from specviz.batch.budget import Prices
from specviz.core.tree import DraftTree
from specviz.drafters.base import Proposal
from specviz.errors import ProofError
from specviz.proof.exhaustive import ProofCase
from tests.batch.one_by_one import OneByOne
from tests.proof.joint_law import joint_error, joint_law

ROUNDING = 1e-12
CHAIN = ProofCase("model", "sequential", (("gamma", 1),), prompt=(0,), length=2, vocab_size=2)
TREE = ProofCase("model", "sequential", (("branching", (2,)),), prompt=(1, 0, 1), length=2, vocab_size=2)
SHORT = replace(CHAIN, prompt=(1,), length=1)


@pytest.mark.parametrize(
    "cases",
    [(CHAIN, replace(CHAIN, prompt=(1, 1))), (TREE, CHAIN), (CHAIN, SHORT, SHORT), (TREE, SHORT)],
    ids=["two chains", "a tree and a chain", "one goes on alone", "a tree goes on alone"],
)
def test_the_joint_law_of_the_texts_is_the_product_of_the_targets_laws(cases):
    law = joint_law(cases)
    assert joint_error(cases, law) < ROUNDING
    assert sum(law.values()) == pytest.approx(1.0, abs=ROUNDING)
    assert len(law) == 2 ** sum(case.length for case in cases)


@pytest.mark.planted("leak between texts of a batch")
def test_texts_that_draw_with_the_same_noise_are_seen():
    with pytest.raises(ProofError, match="is used twice"):
        joint_law((CHAIN, CHAIN), own=lambda source, text: source)


class Swapped(OneByOne):
    """Answers two texts with each other's logits."""

    def forward(self, shares):
        found = super().forward(shares)
        return found[::-1] if len({len(one) for one in found}) == 1 else found


@pytest.mark.planted("leak between texts of a batch")
def test_answers_that_are_swapped_change_the_law():
    cases = (CHAIN, replace(CHAIN, prompt=(1, 1)))
    assert joint_error(cases, joint_law(cases, Swapped)) > 0.01


LONGER = ProofCase("model", "sequential", (("gamma", 2),), prompt=(0,), length=3, vocab_size=2)
SCARCE = Prices.of(lambda texts, rows: {1: 8.0, 2: 8.0, 3: 9.0}.get(rows, 20.0), lambda texts, rows: 0.0, 2, 3)
"""one candidate for both texts is nearly free, and a second one dear"""


@pytest.mark.parametrize(
    "cases",
    [(CHAIN, replace(CHAIN, prompt=(1, 1))), (LONGER, replace(CHAIN, prompt=(1, 1)))],
    ids=["two compete for a row", "the second candidate of one with the first of another"],
)
def test_texts_that_compete_for_rows_know_nothing_of_each_other(cases) -> None:
    law = joint_law(cases, prices=SCARCE)
    assert joint_error(cases, law) < ROUNDING
    assert sum(law.values()) == pytest.approx(1.0, abs=ROUNDING)


def _dropped_once_drawn(method):
    """The drafter gives its rows back where it drew what it held for unlikely."""
    drafter, propose = method.drafter, method.drafter.propose

    def dropping(context):
        tree = propose(context).tree
        unlikely = len(tree) > 1 and float(tree.proposals[1][tree.tokens[1]]) < 0.5
        return Proposal(DraftTree.from_root(context.tokens[-1]) if unlikely else tree)

    drafter.propose = dropping
    return method


@pytest.mark.planted("unlikely token dropped")
def test_a_candidate_that_loses_its_row_by_its_own_value_changes_the_law() -> None:
    cases = tuple(replace(CHAIN, prompt=prompt, fault=_dropped_once_drawn) for prompt in ((0,), (1, 1)))
    assert joint_error(cases, joint_law(cases, prices=SCARCE)) > 1e-4
