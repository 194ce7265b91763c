"""What a drafter does against its own word ends the run as its fault, before anything is judged."""

import pytest

from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.core.tree import ROOT, DraftTree
from specviz.drafters.base import DraftContext, Drafter, Proposal
from specviz.engine.session import Method, Session, Start
from specviz.engine.termination import Ending, Limits
from specviz.errors import DraftError
from specviz.lm.table import TableModel
from specviz.options import Options
from specviz.verifiers.base import VERIFIERS


class OneGuess(Drafter[Options]):
    """Drafts token 1 once: as a point mass, or as a draw from a uniform distribution."""

    name = "one_guess"
    kind = "point_mass"
    extra_levels = 0

    def propose(self, context: DraftContext) -> Proposal:
        tree, node = DraftTree.from_root(context.tokens[-1]), ROOT
        uniform = None if self.kind == "point_mass" else TableModel(3, 1).exact_probs((0,)) * 0 + 1 / 3
        for _ in range(1 + self.extra_levels):
            node = tree.add(node, 1, self.kind, uniform, self.name)
        return Proposal(tree)


def session_with(drafter, verifier="sequential", new_tokens=2):
    rule = VERIFIERS.get(verifier)
    method = Method(drafter, rule.of({}), Sampling(1.0), SeededRandom(0))
    return Session(TableModel(3, 1), method, Start([0]), Ending(Limits(new_tokens), lambda token: b""))


def test_candidates_of_the_declared_kind_are_judged():
    assert session_with(OneGuess(Options())).round().proposal.tree.tokens == [0, 1]


def test_a_candidate_of_a_kind_that_was_not_declared_is_a_fault_of_the_drafter():
    """Without a declaration no one would have asked whether the verifier judges it: silently lossy."""
    drafter = OneGuess(Options())
    drafter.kind = "iid"
    with pytest.raises(DraftError, match=r"'one_guess' drafted a candidate of kind 'iid', which its `kinds` does not"):
        session_with(drafter).round()


def test_a_draft_deeper_than_asked_for_is_a_fault_of_the_drafter():
    drafter = OneGuess(Options())
    drafter.extra_levels = 1
    with pytest.raises(DraftError, match=r"'one_guess' drafted 2 levels from token 0, but at most 1 from token 0"):
        session_with(drafter).round()
