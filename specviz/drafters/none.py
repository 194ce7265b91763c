"""No drafting: the baseline. Every round is one target pass that yields one token."""

from __future__ import annotations

from typing import ClassVar

from specviz.core.sampling import Sampling
from specviz.core.tree import DraftTree, Shape
from specviz.drafters.base import DRAFTERS, DraftContext, Drafter, Needs, Proposal
from specviz.options import Options
from specviz.trace.declared_method import Candidates
from specviz.trace.events import CandidateKind


@DRAFTERS.register("none")
class NoDrafter(Drafter[Options]):
    """Plain decoding: one target pass per token, nothing is drafted.

    The baseline every speedup is measured against. It runs through the same engine as all other methods, so the
    difference is the method's and not the code's.
    """

    candidates: ClassVar[Candidates] = Candidates(sources=())
    needs: ClassVar[Needs | None] = Needs(guesses_from="nothing: plain decoding")

    def kinds(self, sampling: Sampling) -> frozenset[CandidateKind]:
        return frozenset()

    def shape(self, sampling: Sampling) -> Shape:
        return "chain"

    def propose(self, context: DraftContext) -> Proposal:
        return Proposal(DraftTree.from_root(context.tokens[-1]))
