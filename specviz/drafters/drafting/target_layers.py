"""Drafts made with some of the target's own layers: what early exit, layer skipping and Kangaroo share.

A draft's rows stand in the target's own cache until the draft is done. The text's rows are the target's, so nothing is
read twice and nothing has to catch up.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from specviz.core.clock import now
from specviz.core.tree import ROOT, DraftTree
from specviz.drafters.base import DraftContext, Proposal, by_blocks
from specviz.drafters.capabilities import Attaches
from specviz.drafters.drafting.growing import GrowingDraft, GrowingDrafter, LastDraft, ShapeOptionsT_co
from specviz.errors import ModelError
from specviz.lm.base import Blocks, Cache, LanguageModel, SplitModel, Unfinished
from specviz.trace.events import Pass

Reader = Callable[[Tensor, Sequence[int]], Tensor]
"""(states [n, hidden] of new rows, the row of the draft that each continues, counted from the root's, which is 0 and
continues -1) → logits [n, V]; asked for every row once, in order"""


class BorrowedRows:
    """One draft's rows. Nodes with the same text share a row."""

    def __init__(self, target: SplitModel, cache: Cache, blocks: Blocks, reader: Reader | None = None) -> None:
        """`reader` says what follows rows; None: the target's own norm and head do."""
        self._target = target
        self._reader: Reader = reader or (lambda states, parents: target.read_out(states))
        self._cache = cache
        self._blocks = blocks
        self._first = cache.length
        self._row_of: dict[tuple[int, int], int] = {}
        """(row of the parent, token) → row"""
        self._row_of_node: dict[int, int] = {}
        self._states: list[Tensor] = []
        """per pass [rows, hidden]"""
        self._rows: list[int] = []
        """per node of the completed tree"""

    @property
    def length(self) -> int:
        """Rows in the cache, the text's included."""
        return self._cache.length

    def read(self, nodes: Sequence[tuple[int, int, int]]) -> Tensor:
        """Feed nodes given as (parent node, node, token), the root's parent being -1; logits [len(nodes), V]."""
        start = self._cache.length
        tokens, parents, rows = list[int](), list[int](), list[int]()
        for parent, node, token in nodes:
            key = (self._first - 1 if node == ROOT else self._row_of_node[parent], token)
            if key not in self._row_of:
                self._row_of[key] = start + len(tokens)
                tokens.append(token)
                parents.append(key[0])
            self._row_of_node[node] = self._row_of[key]
            rows.append(self._row_of[key] - start)
        states = self._target.partial(tokens, self._cache, parents, self._blocks)
        self._states.append(states)
        logits = self._reader(states, [parent - self._first for parent in parents])
        return logits if len(rows) == len(tokens) else logits[rows]

    def drop(self) -> None:
        """Leave the cache as it was."""
        self._cache.keep([])

    def complete(self, tree: DraftTree) -> int:
        """Feed the candidates of the finished tree below which nothing was asked; how many there were.

        The target's pass then need not run the first layers for any of them.
        """
        rows, fresh = [self._first], self._cache.length
        tokens, parents = list[int](), list[int]()
        for node in range(1, len(tree)):
            key = (rows[tree.parents[node]], tree.tokens[node])
            if key not in self._row_of:
                self._row_of[key] = fresh + len(tokens)
                tokens.append(key[1])
                parents.append(key[0])
            rows.append(self._row_of[key])
        if tokens:
            self._states.append(self._target.partial(tokens, self._cache, parents, self._blocks))
        self._rows = rows
        return len(tokens)

    def hand_over(self, layers: int) -> Unfinished:
        """The rows of the completed tree (`DraftTree.rows`) after the first `layers` layers; the cache is as it was."""
        rows = list(dict.fromkeys(self._rows))
        states = torch.cat(self._states)
        if rows != list(range(self._first, self._first + len(states))):
            states = states[[row - self._first for row in rows]]
        return self._target.set_aside(self._cache, rows, states, layers)


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
            proposal.passes.append(Pass(fed, cached, now(device) - began, read=None if self._reads is None else 0))
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
        passed = Pass(rows.length - cached, cached, now(device) - began, depth, self._reads)
        proposal.passes.append(passed)
        return logits
