"""Drafts from a smaller language model: a chain, or a tree of given branching, or what a growth policy makes.

How a tree grows is in `specviz/growth`, when a draft ends in `specviz/stops`, which rows of the drafter's own cache
survive a round in `draft_cache.py`. Knows nothing about the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from specviz.chance import Sampling
from specviz.clock import now
from specviz.drafters.base import DRAFTERS, DraftContext, Drafter, DraftPass, Proposal
from specviz.drafters.parts.draft_cache import DraftCache
from specviz.drafters.parts.growing import GrowingDraft, LastDraft
from specviz.growth.base import Growth
from specviz.growth.levels import LevelsGrowth, LevelsOptions
from specviz.growth.parts.draws import DRAWS
from specviz.growth.parts.level_wise import check_size
from specviz.lm.base import LanguageModel
from specviz.options import Options, option
from specviz.trace.events import CandidateKind
from specviz.tree import ROOT, DraftTree, Shape


@dataclass(frozen=True)
class ModelOptions(Options):
    """Shape of the draft, and how its candidates are drawn."""

    gamma: int = option(4, help="tokens drafted per round, as a chain", minimum=1, maximum=32, counts="levels")
    branching: tuple[int, ...] = option(
        (),
        help="children per node at each level, such as 3,2,1; makes a tree and replaces gamma",
        minimum=1,
        maximum=32,
    )
    draw: str = option(
        "auto",
        help="how candidates are drawn; auto: i.i.d. for a chain, without replacement for a tree, the most probable "
        "at temperature 0",
        choices=("auto", *DRAWS),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_size(self.branching)

    @property
    def widths(self) -> tuple[int, ...]:
        """Children per node, level by level."""
        return self.branching or (1,) * self.gamma


def _own_growth(options: Options) -> Growth:
    """What the drafter's own options ask for, as a growth policy."""
    assert isinstance(options, ModelOptions)
    return LevelsGrowth(LevelsOptions(branching=options.widths, draw=options.draw))


@DRAFTERS.register("model")
class ModelDrafter(Drafter):
    """A smaller model of the same vocabulary drafts a chain of gamma tokens, or a tree.

    The classic method: worth it when the small model is much cheaper than the target and often agrees with it. Above
    temperature 0 candidates are drawn from its distribution under the same temperature, top-k and top-p as the target.
    Leviathan et al. 2211.17192, Chen et al. 2302.01318; trees: SpecInfer 2305.09781, RSD 2402.14160.
    """

    name: ClassVar[str] = "model"
    options_type: ClassVar[type[Options]] = ModelOptions
    lossless: ClassVar[bool] = True
    needs_model: ClassVar[bool] = True

    grows: ClassVar[bool] = True

    def __init__(self, options: Options, model: LanguageModel | None) -> None:
        assert isinstance(options, ModelOptions)
        assert model is not None, "this drafter needs a model."
        super().__init__(options, model)
        self._model = model
        self._cache = DraftCache(model)
        self._own_growth = _own_growth(options)
        self._last = LastDraft()

    @property
    def model(self) -> LanguageModel:
        return self._model

    @classmethod
    def kinds(cls, options: Options, sampling: Sampling) -> frozenset[CandidateKind]:
        return _own_growth(options).kinds(sampling)

    @classmethod
    def shape(cls, options: Options, sampling: Sampling) -> Shape:
        return _own_growth(options).shape(sampling)

    def begin(self, tokens: Sequence[int]) -> None:
        self._cache.begin(tokens)

    def propose(self, context: DraftContext) -> Proposal:
        proposal = Proposal(DraftTree.from_root(context.tokens[-1]))
        stop = self.habit.stop
        self._last.report(stop, context.tokens)
        room = self._cache.room(len(context.tokens))
        depth = min(room, context.max_depth, stop.levels() or room)
        if depth >= 1:
            draft = GrowingDraft(
                context, proposal, stop, depth, lambda nodes, at: self._forward(context, proposal, nodes, at), self.name
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
