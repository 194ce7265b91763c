"""Drafts from a smaller language model: a chain, or a tree of given branching, or what a growth policy makes.

How a tree grows is in `specviz/growth`, when a draft ends in `specviz/stops`, which rows of the drafter's own cache
survive a round in `draft_cache.py`. Knows nothing about the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor

from specviz.chance import Sampling
from specviz.clock import now
from specviz.drafters.base import DRAFTERS, DraftContext, Drafter, DraftPass, Proposal
from specviz.drafters.parts.draft_cache import DraftCache
from specviz.drafters.parts.growing import GrowingDraft, LastDraft
from specviz.drafters.parts.shape import ShapeOptions
from specviz.lm.base import LanguageModel
from specviz.options import Options
from specviz.trace.events import CandidateKind
from specviz.tree import ROOT, DraftTree, Shape


@DRAFTERS.register("model")
class ModelDrafter(Drafter):
    """A smaller model of the same vocabulary drafts a chain of gamma tokens, or a tree.

    The classic method: worth it when the small model is much cheaper than the target and often agrees with it. Above
    temperature 0 candidates are drawn from its distribution under the same temperature, top-k and top-p as the target.
    Leviathan et al. 2211.17192, Chen et al. 2302.01318; trees: SpecInfer 2305.09781, RSD 2402.14160.
    """

    name: ClassVar[str] = "model"
    options_type: ClassVar[type[Options]] = ShapeOptions
    lossless: ClassVar[bool] = True
    needs_model: ClassVar[bool] = True

    grows: ClassVar[bool] = True
    gives_hidden: ClassVar[bool] = True

    def __init__(self, options: Options, model: LanguageModel | None) -> None:
        assert isinstance(options, ShapeOptions)
        assert model is not None, "this drafter needs a model."
        super().__init__(options, model)
        self._model = model
        self._cache = DraftCache(model)
        self._own_growth = options.growth
        self._last = LastDraft()

    @property
    def model(self) -> LanguageModel:
        return self._model

    @classmethod
    def kinds(cls, options: Options, sampling: Sampling) -> frozenset[CandidateKind]:
        assert isinstance(options, ShapeOptions)
        return options.growth.kinds(sampling)

    @classmethod
    def shape(cls, options: Options, sampling: Sampling) -> Shape:
        assert isinstance(options, ShapeOptions)
        return options.growth.shape(sampling)

    def begin(self, tokens: Sequence[int]) -> None:
        self._cache.keeps_hidden = self.habit.stop.needs_hidden
        self._cache.begin(tokens)

    def propose(self, context: DraftContext) -> Proposal:
        proposal = Proposal(DraftTree.from_root(context.tokens[-1]))
        stop = self.habit.stop
        self._last.report(stop, context)
        room = self._cache.room(len(context.tokens))
        depth = min(room, context.max_depth, stop.levels() or room)
        if depth >= 1:
            draft = GrowingDraft(
                context,
                proposal,
                stop,
                depth,
                lambda nodes, at: self._forward(context, proposal, nodes, at),
                self.name,
                self._cache.hidden,
            )
            (self.habit.growth or self._own_growth).grow(draft)
            proposal.note.update(stop.state())
        else:
            proposal.note["drafter_context_full"] = room < 1
        self._last.remember(proposal.tree, context.tokens)
        return proposal

    def _forward(self, context: DraftContext, proposal: Proposal, level: Sequence[int], depth: int) -> Tensor:
        """Logits [len(level), V] after the nodes of a level; the root's pass also catches up with the text."""
        device = self._model.device
        began = now(device)
        cached = self._cache.length
        if level == [ROOT]:
            cached = self._cache.settle(context.tokens)
            logits = self._cache.catch_up(context.tokens)
        else:
            tree = proposal.tree
            logits = self._cache.extend([(tree.parents[node], node, tree.tokens[node]) for node in level])
        seconds = now(device) - began
        proposal.passes.append(DraftPass(self._cache.length - cached, cached, seconds, depth))
        return logits
