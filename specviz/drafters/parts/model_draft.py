"""A draft made by a model of the drafter's own: its cache, its passes, and how the previous round went.

    text ─► catch up ─► tree policy asks, stop policy ends ─► tree, passes, draft logits

What a drafter does with that tree is its own affair.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from specviz.core.clock import now
from specviz.core.tree import ROOT, DraftTree
from specviz.drafters.base import DraftContext, DraftPass, Proposal
from specviz.drafters.parts.draft_cache import DraftCache
from specviz.drafters.parts.growing import GrowingDraft, LastDraft
from specviz.drafters.parts.weights_read import by_model
from specviz.lm.base import LanguageModel
from specviz.options import Options
from specviz.stop_policies.base import StopOptions, StopPolicy
from specviz.trace.context import DRAFTER_FULL
from specviz.tree_policies.base import TreePolicy


class ModelDraft:
    """One model and its cache, for one run."""

    def __init__(self, model: LanguageModel, source: str, cache: DraftCache | None = None) -> None:
        """`source` is what candidates are marked with; `cache` stands in for the usual one."""
        self.model = model
        self._source = source
        self._cache = cache or DraftCache(model)
        self._last = LastDraft()
        self._reads = by_model(model)
        self.draws = 0
        """the first index of a draw that the round has not used yet, after `propose`"""

    def begin(self, tokens: Sequence[int], stop_policy: StopPolicy[StopOptions]) -> None:
        """Read the prompt."""
        self._cache.keeps_hidden = stop_policy.needs_hidden
        self._cache.begin(tokens)

    def propose(
        self,
        context: DraftContext,
        tree_policy: TreePolicy[Options],
        stop_policy: StopPolicy[StopOptions],
        draws: int = 0,
    ) -> Proposal:
        """The tree that the model makes of the text, as tree policy and stop policy say; `draws` draws of the round
        were made by others before."""
        proposal = Proposal(DraftTree.from_root(context.tokens[-1]))
        self._last.report(stop_policy, context)
        room = self._cache.room(context.tokens)
        depth = min(room, context.max_depth, stop_policy.levels() or room)
        self.draws = draws
        if depth >= 1:
            draft = GrowingDraft(
                context,
                proposal,
                stop_policy,
                depth,
                lambda nodes, at: self._forward(context, proposal, nodes, at),
                self._source,
                self._cache.hidden,
                draws,
            )
            tree_policy.grow(draft)
            self.draws = draft.draws
            proposal.note.update(stop_policy.state())
        else:
            proposal.note[DRAFTER_FULL] = room < 1
        self._last.remember(proposal.tree, context.tokens)
        return proposal

    def _forward(self, context: DraftContext, proposal: Proposal, level: Sequence[int], depth: int) -> Tensor:
        """Logits [len(level), V] after the nodes of a level; the root's pass also catches up with the text."""
        device = self.model.device
        began = now(device)
        cached = self._cache.length
        if level == [ROOT]:
            cached = self._cache.settle(context.tokens)
            logits = self._cache.catch_up(context.tokens)
        else:
            tree = proposal.tree
            logits = self._cache.extend([(tree.parents[node], node, tree.tokens[node]) for node in level])
        seconds = now(device) - began
        rows = self._cache.length - cached
        proposal.passes.append(DraftPass(rows, cached, seconds, depth, self._reads))
        return logits
