"""Random tokens: the floor under every drafter.

A text is the target's whatever is drafted; this drafter shows it, for its guesses are right by chance alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from specviz.core.sampling import Sampling
from specviz.core.tree import ROOT, DraftTree, Shape
from specviz.drafters.base import DRAFTERS, DraftContext, Drafter, Needs, Proposal
from specviz.drafters.capabilities import Attaches
from specviz.lm.base import Cache, LanguageModel
from specviz.options import Options, option
from specviz.trace.declared_method import Candidates
from specviz.trace.events import CandidateKind


@dataclass(frozen=True)
class RandomOptions(Options):
    """How much is drafted."""

    gamma: int = option(4, help="tokens drawn per round", minimum=1, maximum=64, counts="levels")


@DRAFTERS.register("random")
class RandomDrafter(Drafter[RandomOptions], Attaches):
    """Draws every token evenly from the whole vocabulary: what is left when the drafter knows nothing.

    Its q is 1/V for each of the V tokens, at any temperature, and declared so. A drawn token is accepted with
    probability Σ min(p, 1/V), which at temperature 0 is 1/V: of thousands of guesses one is right, and the text is the
    target's all the same. The floor under every other drafter, and no method to be used
    (Leviathan et al., 2211.17192, hold for any q).
    """

    candidates: ClassVar[Candidates] = Candidates(deepest="gamma", reaches=True, evenly=True)
    needs: ClassVar[Needs | None] = Needs(guesses_from="nothing: every token is as likely as any other")

    def kinds(self, sampling: Sampling) -> frozenset[CandidateKind]:
        return frozenset(["iid"])

    def shape(self, sampling: Sampling) -> Shape:
        return "chain"

    def attach(self, target: LanguageModel, cache: Cache) -> None:
        size = target.info.vocab_size
        self._even = torch.full((size,), 1.0 / size, dtype=torch.float64, device=target.device)

    def propose(self, context: DraftContext) -> Proposal:
        tree, node = DraftTree.from_root(context.tokens[-1]), ROOT
        for index in range(min(self.options.gamma, context.max_depth)):
            token = context.randomness.draw(self._even, ("draft", context.round, index)).token
            node = tree.add(node, token, "iid", self._even, self.name)
        return Proposal(tree)
