"""No drafting: the honest baseline. Every round is one target pass that yields one token.

Knows nothing at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from specviz.core.sampling import Sampling
from specviz.core.tree import DraftTree, Shape
from specviz.drafters.base import DRAFTERS, DraftContext, Drafter, Proposal
from specviz.options import Options
from specviz.trace.events import CandidateKind


@dataclass(frozen=True)
class NoneOptions(Options):
    """Nothing to choose."""


@DRAFTERS.register("none")
class NoDrafter(Drafter):
    """Plain decoding: one target pass per token, nothing is drafted.

    The baseline every speedup is measured against. It runs through the same engine as all other methods, so the
    difference is the method's and not the code's.
    """

    name: ClassVar[str] = "none"
    options_type: ClassVar[type[Options]] = NoneOptions
    lossless: ClassVar[bool] = True
    needs_model: ClassVar[bool] = False

    @classmethod
    def kinds(cls, options: Options, sampling: Sampling) -> frozenset[CandidateKind]:
        return frozenset()

    @classmethod
    def shape(cls, options: Options, sampling: Sampling) -> Shape:
        return "chain"

    def propose(self, context: DraftContext) -> Proposal:
        return Proposal(DraftTree.from_root(context.tokens[-1]))
