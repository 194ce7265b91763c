"""A Markov lattice over Medusa's heads: each place's guesses, rescored by which token follows which.

    heads (blind of each other) ─► k tokens at each place ─► + bigram ─► the most probable prefixes ─► tree

The step between `medusa` and `hydra`: one matrix product more than the first, no pass per level as in the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from torch import Tensor

from specviz.core.draws import Chooser
from specviz.core.tree import ROOT, DraftTree
from specviz.drafters.base import DRAFTERS, DraftContext, Needs, Proposal, bytes_of
from specviz.drafters.learned.head_networks import (
    Bigram,
    HeadsShape,
    Lattice,
    ParallelHeads,
    Places,
    held_to,
    lattice_note,
    shown_lattice,
)
from specviz.drafters.learned.head_passes import HeadPasses
from specviz.drafters.learned.heads import FeatureText, HeadDrafter, HeadOptions, PlannedTree
from specviz.drafters.learned.module import MODULES, DrafterModule, FeatureBatch, TargetParts
from specviz.lm.base import Chain
from specviz.lm.chains import as_it_runs, write_chain
from specviz.options import Options, option
from specviz.trace.declared_method import Candidates


@dataclass(frozen=True)
class MarkovShape(HeadsShape):
    """Size of the heads and of the bigram."""

    rank: int = option(32, help="rank of the table of which token follows which", minimum=1, maximum=512)
    apart: bool = option(
        False, help="the table learns on heads that learn without it, as on finished Medusa heads; otherwise together"
    )


@MODULES.register("markov")
class MarkovModule(ParallelHeads[MarkovShape]):
    """Medusa's heads and a low-rank bigram over their guesses."""

    explanation: ClassVar[str] = (
        "Medusa's heads, and a table of which token follows which that makes their guesses fit."
    )

    def __init__(self, target: TargetParts, options: MarkovShape) -> None:
        super().__init__(target, options)
        self.bigram = Bigram(len(target.head), options.rank)

    def weights_read(self) -> int:
        return super().weights_read() + bytes_of(self.bigram.after)

    def loss(self, batch: FeatureBatch) -> dict[str, Tensor]:
        """The heads' own terms, for they choose what the lattice holds, and the same with the bigram."""
        places = Places.of(batch, self.options.heads, self.training)
        wanted = places.wanted(batch, self.head)
        blind = self.logits(places.states(batch))[:, : places.heads]
        told = (blind.detach() if self.options.apart else blind) + self.bigram(places.tokens(batch, 1, places.heads))
        terms = held_to(blind.unbind(1), wanted, batch.distance, self.accuracies if self.training else None)
        cascaded = held_to(told.unbind(1), wanted, batch.distance)
        return terms | {f"markov_{k + 1}": tensor for k, tensor in enumerate(cascaded.values())}

    def drafts(self, batch: FeatureBatch, most: int) -> list[Tensor]:
        blind = super().drafts(batch, most)
        return [one + self.bigram(batch.tokens[:, k + 1 :]) for k, one in enumerate(blind)]


@dataclass(frozen=True)
class MarkovOptions(HeadOptions):
    """Weights, shape of the draft, and width of the lattice."""

    width: int = option(
        8, help="tokens that each head hands to the lattice", minimum=1, maximum=32, needs="nodes", shape=True
    )


@DRAFTERS.register("markov")
class MarkovDrafter(HeadDrafter[MarkovOptions]):
    """Medusa's parallel guesses, made to fit together by a small table of which token follows which.

    Each head hands its k likeliest tokens to a lattice of γ × k; a low-rank bigram rescores every step between them,
    and the most probable beginnings become the tree, a path's shared start drafted once. It is the cascade of orders 0
    and 1 of Markov transformers (Deng and Rush, 2006.01112) over Medusa's heads (2401.10774); probabilities are
    normalised step by step, where the paper normalises whole paths.
    """

    candidates: ClassVar[Candidates] = Candidates(planned="nodes", deepest="gamma", from_states=True)
    needs: ClassVar[Needs | None] = Needs(
        guesses_from="the target's last state, trained heads, and which token follows which",
        training="the heads and the table, on the target's states",
        memory="the heads' and the table's weights",
    )
    pass_reads: ClassVar[str] = "all heads, the table and the target's head"
    module_type = MarkovModule

    def use_module(self, module: DrafterModule[Options]) -> None:
        assert isinstance(module, MarkovModule), f"'{module.name}' is no Markov lattice."
        self._module = module
        self._passes = as_it_runs(module, lambda: HeadPasses.of_parallel(module))
        self._pairs = as_it_runs(module.bigram, module.bigram.as_table)
        if module.accuracies.measured:
            self._measured["heads_right_percent"] = [round(100 * head[0]) for head in module.accuracies.rates.tolist()]

    def module(self) -> MarkovModule:
        return self._module

    def heads(self) -> int:
        return self._module.options.heads

    def start(self, context: DraftContext, states: FeatureText, proposal: Proposal) -> None:
        state = states.rows(states.length - 1)[0, 0]  # [1, depths, H] → [H]
        self._rows = self.timed(proposal, 1, None, self._blind, state)  # [heads, V]
        self._lattice: Lattice | None = None
        if self.options.nodes and self.draft_policies.tree_policy is None:
            places = self._rows[: min(self.options.gamma, context.max_depth)]  # [γ, V]
            self._lattice = self._module.bigram.lattice(places, context.tokens[-1], self.options.width)
            self._planned = PlannedTree(self._lattice.prefixes(self.options.nodes))

    def _blind(self, state: Tensor) -> Tensor:
        if self._passes is not None and self._passes.takes(self.heads()):
            return self._passes.say_all(state)
        return self._module.logits(state)

    def chain(self, proposal: Proposal, chooser: Chooser) -> Chain | None:
        if self._pairs is None:
            return None
        return write_chain(self._rows, chooser, proposal.tree.tokens[ROOT], self._pairs)

    def answer(self, tree: DraftTree, nodes: Sequence[int]) -> Tensor:
        depths = tree.depths
        added = self._module.bigram.behind([tree.tokens[node] for node in nodes], self._pairs)
        # [n, V] each: the head of the node's level, and what its token adds to what follows
        return self._rows[[depths[node] for node in nodes]] + added

    def done(self, proposal: Proposal) -> None:
        if self._lattice is not None:
            proposal.note.update(lattice_note(self._lattice))
            proposal.late_exhibits.append(partial(shown_lattice, proposal.tree, self._lattice))
