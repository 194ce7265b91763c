"""Drafts from a smaller language model: a chain, or a tree of given branching.

One batched forward pass per level of the tree; how the children of a node are drawn is in `draws.py`, which rows of
the drafter's own cache survive a round in `draft_cache.py`. Knows nothing about the target.
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
from specviz.drafters.parts.draws import DRAWS, Draw, choose_draw
from specviz.errors import OptionError
from specviz.lm.base import LanguageModel
from specviz.options import Options, option
from specviz.trace.events import CandidateKind
from specviz.tree import ROOT, DraftTree, Shape

MOST_NODES = 512


@dataclass(frozen=True)
class ModelOptions(Options):
    """Shape of the draft, and how its candidates are drawn."""

    gamma: int = option(4, help="tokens drafted per round, as a chain", minimum=1, maximum=32)
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
        nodes, width = 0, 1
        for children in self.branching:
            width *= children
            nodes += width
        if nodes > MOST_NODES:
            raise OptionError(
                f"branching {','.join(map(str, self.branching))} makes {nodes} candidates per round, but at most "
                f"{MOST_NODES} are allowed; use fewer children or levels."
            )

    @property
    def widths(self) -> tuple[int, ...]:
        """Children per node, level by level."""
        return self.branching or (1,) * self.gamma


def _draw(options: ModelOptions, sampling: Sampling) -> Draw:
    return choose_draw(options.draw, is_tree=max(options.widths) > 1, greedy=sampling.greedy)


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

    def __init__(self, options: Options, model: LanguageModel | None) -> None:
        assert isinstance(options, ModelOptions)
        assert model is not None, "this drafter needs a model."
        super().__init__(options, model)
        self._widths: tuple[int, ...] = options.widths
        self._model = model
        self._cache = DraftCache(model)

    @property
    def model(self) -> LanguageModel:
        return self._model

    @classmethod
    def kinds(cls, options: Options, sampling: Sampling) -> frozenset[CandidateKind]:
        assert isinstance(options, ModelOptions)
        return frozenset([_draw(options, sampling).kind])

    @classmethod
    def shape(cls, options: Options, sampling: Sampling) -> Shape:
        assert isinstance(options, ModelOptions)
        return "tree" if max(options.widths) > 1 else "chain"

    def begin(self, tokens: Sequence[int]) -> None:
        self._cache.begin(tokens)

    def propose(self, context: DraftContext) -> Proposal:
        proposal = Proposal(DraftTree.from_root(context.tokens[-1]))
        room = self._cache.room(len(context.tokens))
        depth = min(len(self._widths), context.max_depth, room)
        if depth < 1:
            proposal.note["drafter_context_full"] = room < 1
            return proposal
        draw, level = _draw(self.options, context.sampling), [ROOT]
        draws = 0
        for index, width in enumerate(self._widths[:depth]):
            if not level:
                break
            logits = self._forward(context, proposal, level, index + 1)
            proposal.beliefs.append((level, logits))
            children, used = draw.level(context, logits, width, draws)
            draws += used
            level = [
                proposal.tree.add(parent, token, draw.kind, q, self.name)
                for parent, found in zip(level, children, strict=True)
                for token, q in found
            ]
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
