"""A drafter that goes on from the target's states with a small network of its own: the EAGLE family.

    prompt ─ read_features ─► rows of the text ─► round: states of what was accepted ─► rows ─► root ─► tree ─► …

A row of the drafter's cache belongs to a token and the state before it. Rows of the text are made from the target's own
states; those of a draft from the network's, so that they are dropped after the verdict, whatever was accepted. A
network with placeholders drafts in one pass: their rows stand behind those of the text, and are dropped with the pass.

Shapes: n rows, H hidden size, V vocabulary, S tokens drafted in one pass.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor

from specviz.core.clock import now
from specviz.core.draws import Chooser
from specviz.core.tree import ROOT, DraftTree
from specviz.drafters.base import DraftContext, Proposal, RoundOutcome, bytes_of
from specviz.drafters.capabilities import Observes, ReadsFeatures, reading
from specviz.drafters.drafting.growing import GrowingDraft, GrowingDrafter, LastDraft, PlainChains, ShapeOptions
from specviz.drafters.learned.eagle_network import EagleTrunk
from specviz.drafters.learned.weights import WEIGHTS_HELP, shown_weights
from specviz.lm.base import Cache, Chain, GivesFeatures, LanguageModel
from specviz.options import option
from specviz.protocol.trainings import SHIPPED
from specviz.trace.events import Pass
from specviz.trace.header import Exhibit


@dataclass(frozen=True)
class StateOptions(ShapeOptions):
    """Shape of the draft, and the network's weights."""

    weights: str = option(SHIPPED, help=WEIGHTS_HELP)


StateOptionsT_co = TypeVar("StateOptionsT_co", bound=StateOptions, covariant=True)


class StateDrafter(GrowingDrafter[StateOptionsT_co], ReadsFeatures, Observes):
    """Grows a draft from the network's own states. A subclass says which network."""

    pass_reads: ClassVar[str] = "its layer and the head, the first pass of a round also what fuses the target's states"

    def __init__(self, options: StateOptionsT_co) -> None:
        super().__init__(options)
        self._last, self._chains = LastDraft(), PlainChains(self.name)

    @abstractmethod
    def network(self, target: GivesFeatures) -> EagleTrunk[Any]:
        """The network that the options name. Raises ModelError where it does not fit the target."""

    def attach(self, target: LanguageModel, cache: Cache) -> None:
        self._network = self.network(reading(target, self.name))
        self.learnt_from = self._network.learnt_from
        self.options = replace(self.options, weights=shown_weights(self.options.weights))
        if deepest := self._network.options.parallel:
            self.options = self.options.no_deeper(deepest)
        self._lean = self._network.lean()
        self._reads, self._fuse_reads = self._network.weights_read(), bytes_of(self._network.fuse)
        self._lean.replay_as(target)
        self._cache = self._lean.new_cache()
        self._waiting: Tensor | None = None
        """states [n, H] of the text's next n tokens, whose rows wait for the tokens after them"""
        self._outputs: dict[int, tuple[int, Tensor]] = {}
        """node → its row and the network's output [H + extra] there"""
        self._slots: Tensor | None = None
        """logits [S, V] after the root and after each placeholder, where the network has any"""

    def depths(self) -> Sequence[int]:
        return self._network.depths()

    @property
    def _known(self) -> int:
        """Tokens of the text whose states were read."""
        return self._cache.base + (0 if self._waiting is None else len(self._waiting))

    def _read(self, features: Tensor) -> None:
        states = self._lean.state_of(features)
        self._waiting = states if self._waiting is None else torch.cat([self._waiting, states])

    def _chain(self, context: DraftContext, proposal: Proposal, chooser: Chooser) -> Chain | None:
        """A chain below the root by one call of the network, where it can."""
        assert self._waiting is not None, "no state waits."
        base, waiting = self._cache.base, self._waiting
        following = context.tokens[base + 1 :]
        count = len(following)
        chain = self._lean.block.write_chain(following, waiting[:count], self._cache, chooser)
        if chain is not None:
            self._cache.keep(range(base, base + count))
            self._waiting = waiting[count:] if len(waiting) > count else None
            proposal.note["states_read"] = len(waiting)
            proposal.note["depths"] = ",".join(map(str, self.depths()))
            for depth, seconds in enumerate(chain.seconds, 1):
                rows, cached, more = (count, base, self._fuse_reads) if depth == 1 else (1, base + count + depth - 2, 0)
                proposal.passes.append(Pass(rows, cached, seconds, depth, self._reads + more))
        return chain

    def _catch_up(self, following: Sequence[int], unknown: int = 0) -> Tensor:
        """Make rows of the text of the first states that wait and the tokens `following` them; the last output, and
        those of so many placeholders behind it [1 + unknown, H + extra]."""
        assert self._waiting is not None, "no state waits."
        count, base = len(following), self._cache.base
        tokens, states = self._lean.with_unknown(following, self._waiting[:count], unknown)
        out = self._lean.run(tokens, states, self._cache)
        self._cache.keep(range(base, base + count))
        rest = self._waiting[count:]
        self._waiting = rest if len(rest) else None
        return out[count - 1 :]

    def read_features(self, tokens: Sequence[int], features: Tensor) -> None:
        following = tokens if self._waiting is not None else tokens[1:]
        self._read(features)
        if following:
            self._catch_up(following)

    def observe(self, outcome: RoundOutcome) -> list[Exhibit]:
        """The true states of what was accepted take the place of those that were guessed."""
        path = [ROOT, *outcome.path][: len(outcome.tokens) - 1 - self._known]
        if path:
            self._read(outcome.features_at(path))
        return []

    def propose(self, context: DraftContext) -> Proposal:
        proposal = Proposal(DraftTree.from_root(context.tokens[-1]))
        stop_policy = self.draft_policies.stop_policy
        self._last.report(stop_policy, context)
        depth = context.max_depth if (wanted := stop_policy.levels()) is None else min(context.max_depth, wanted)
        parallel = self._network.options.parallel
        depth = min(depth, parallel or depth)
        self._cache.keep([])
        self._outputs.clear()
        if depth >= 1 and self._known:
            chain = partial(self._chain, context, proposal)
            if parallel or not self._chains.drawn((self.tree_policy, stop_policy), context, proposal, depth, chain):
                draft = GrowingDraft(
                    context,
                    proposal,
                    stop_policy,
                    depth,
                    (lambda nodes, at: self._of_slots(context, proposal, nodes, depth))
                    if parallel
                    else (lambda nodes, at: self._answer(context, proposal, nodes, at)),
                    self.name,
                )
                self.tree_policy.grow(draft)
            proposal.note.update(stop_policy.state())
        self._last.remember(proposal.tree, context.tokens)
        return proposal

    def _of_slots(self, context: DraftContext, proposal: Proposal, nodes: Sequence[int], slots: int) -> Tensor:
        """Logits [len(nodes), V] of the slots at the nodes' depths, whatever was drafted before them; the first asked
        fills them all."""
        if nodes == [ROOT]:
            device, cached = self._lean.block.device, self._cache.length
            began = now(device)
            following = context.tokens[self._cache.base + 1 :]
            self._slots = self._lean.logits(self._catch_up(following, slots - 1))  # [S, V]
            read = self._reads + self._fuse_reads
            rows = len(following) + slots - 1
            proposal.passes.append(Pass(rows, cached, now(device) - began, None, read))
            proposal.note["depths"] = ",".join(map(str, self.depths()))
            proposal.note["slots"] = self._network.options.parallel
        assert self._slots is not None, "the root is asked first."
        depths = proposal.tree.depths
        return self._slots[[depths[node] for node in nodes]]

    def _answer(self, context: DraftContext, proposal: Proposal, level: Sequence[int], depth: int) -> Tensor:
        """Logits [len(level), V] after the nodes of a level; the root's pass also reads what the last round left."""
        device = self._lean.block.device
        began, cached, read = now(device), self._cache.length, self._reads
        if level == [ROOT]:
            read += self._fuse_reads
            proposal.note["states_read"] = 0 if self._waiting is None else len(self._waiting)
            proposal.note["depths"] = ",".join(map(str, self.depths()))
            out = self._catch_up(context.tokens[self._cache.base + 1 :])  # [1, H + extra]
            self._outputs[ROOT] = self._cache.length - 1, out[0]
        else:
            out = self._extend(proposal.tree, level)
        logits = self._lean.logits(out)
        proposal.passes.append(Pass(self._cache.length - cached, cached, now(device) - began, depth, read))
        return logits

    def _extend(self, tree: DraftTree, level: Sequence[int]) -> Tensor:
        """Rows of drafted nodes, each from its token and the output at its parent; outputs [len(level), H + extra]."""
        before = [self._outputs[tree.parents[node]] for node in level]
        hidden = self._network.hidden_size
        states = before[0][1][None] if len(before) == 1 else torch.stack([output for _, output in before])
        start = self._cache.length
        tokens = [tree.tokens[node] for node in level]
        out = self._lean.run(tokens, states[:, :hidden], self._cache, [row for row, _ in before])
        for offset, node in enumerate(level):
            self._outputs[node] = start + offset, out[offset]
        return out
