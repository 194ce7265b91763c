"""Drafts made with some of the target's own layers: what early exit and layer skipping share. Registers nothing."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor

from specviz.core.clock import now
from specviz.core.tree import DraftTree
from specviz.drafters.base import DraftContext, DraftPass, Proposal
from specviz.drafters.capabilities import Attaches
from specviz.drafters.parts.borrowed_rows import BorrowedRows, Reader
from specviz.drafters.parts.growing import GrowingDraft, LastDraft
from specviz.drafters.parts.shape import GrowingDrafter, ShapeOptionsT_co
from specviz.drafters.parts.weights_read import by_blocks
from specviz.errors import ModelError
from specviz.lm.base import Blocks, Cache, LanguageModel, SplitModel


class OwnLayersDrafter(GrowingDrafter[ShapeOptionsT_co], Attaches):
    """Grows a draft from partial passes of the target. A subclass says which blocks run."""

    def __init__(self, options: ShapeOptionsT_co) -> None:
        super().__init__(options)
        self._last = LastDraft()

    def attach(self, target: LanguageModel, cache: Cache) -> None:
        """Raises ModelError where the target cannot run some of its layers alone."""
        if not isinstance(target, SplitModel):
            raise self._refused(target, "its adapter cannot stop between layers")
        blocks = self.blocks(target)
        reason = target.why_not_split(blocks)
        if reason is not None:
            raise self._refused(target, reason)
        self._target = target
        self._cache = cache
        self._blocks = blocks
        self._reads = self.weights_read(target, blocks)

    def _refused(self, target: LanguageModel, reason: str) -> ModelError:
        info = target.info
        return ModelError(
            f"the drafter '{self.name}' drafts with some of the target's layers, but {info.name} ({info.architecture}, "
            f"adapter '{info.adapter}') cannot run them alone because {reason}; take another target, for example one "
            "of the Llama architecture, or another drafter."
        )

    @abstractmethod
    def blocks(self, target: SplitModel) -> Blocks:
        """Which sub-layers draft. Raises OptionError where the target has no such layers."""

    def weights_read(self, target: SplitModel, blocks: Blocks) -> int | None:
        """Bytes of weights that a pass reads; None where nobody counted them."""
        return by_blocks(target, blocks)

    def reader(self) -> Reader | None:
        """What reads this round's states out; None: the target's own norm and head."""
        return None

    @abstractmethod
    def close(self, rows: BorrowedRows, proposal: Proposal) -> Proposal:
        """Leave the cache as it was; the proposal with what the target's pass may take over."""

    def hand_over(self, rows: BorrowedRows, proposal: Proposal, layers: int) -> Proposal:
        """Run the first `layers` layers, those that drafted, also for the last candidates, and leave the states of all
        to the target's pass."""
        device, cached = self._target.device, rows.length
        began = now(device)
        fed = rows.complete(proposal.tree)
        if fed:
            # the target's pass begins with these layers anyway: with them it reads no more than it would have
            proposal.passes.append(DraftPass(fed, cached, now(device) - began, read=None if self._reads is None else 0))
        proposal.note["exit_layer"] = layers
        proposal.note["layers"] = self._target.info.layers
        return replace(proposal, unfinished=rows.hand_over(layers))

    def propose(self, context: DraftContext) -> Proposal:
        proposal = Proposal(DraftTree.from_root(context.tokens[-1]))
        stop_policy = self.draft_policies.stop_policy
        self._last.report(stop_policy, context)
        depth = context.max_depth if (wanted := stop_policy.levels()) is None else min(context.max_depth, wanted)
        if depth >= 1:
            rows = BorrowedRows(self._target, self._cache, self._blocks, self.reader())
            draft = GrowingDraft(
                context, proposal, stop_policy, depth, lambda nodes, at: self._ask(rows, proposal, nodes, at), self.name
            )
            self.tree_policy.grow(draft)
            proposal.note.update(stop_policy.state())
            proposal = self.close(rows, proposal)
        self._last.remember(proposal.tree, context.tokens)
        return proposal

    def _ask(self, rows: BorrowedRows, proposal: Proposal, level: Sequence[int], depth: int) -> Tensor:
        """Logits [len(level), V] after the nodes of a level."""
        device, cached = self._target.device, rows.length
        began = now(device)
        tree = proposal.tree
        logits = rows.read([(tree.parents[node], node, tree.tokens[node]) for node in level])
        passed = DraftPass(rows.length - cached, cached, now(device) - began, depth, self._reads)
        proposal.passes.append(passed)
        return logits
