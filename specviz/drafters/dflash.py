"""DFlash: a block of masked tokens behind the text, filled in one pass from all that the target read.

    states of the whole text (several depths) ─► context ─┐
    root + [mask] … [mask] ───────────────────────────────┴► layers ─► one row for each slot ─► chain, or tree

The network is in `learned/flash_network.py`. Given the text the slots are independent of each other: what is drafted at
one says nothing of the next, so q of a token is its own slot's distribution, whatever stands before it.

Shapes: B texts, T tokens, A blocks, S slots, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor
from torch.nn import functional

from specviz.core.tree import DraftTree
from specviz.drafters.base import DRAFTERS, Needs
from specviz.drafters.learned.flash_drafting import FlashDrafter, FlashOptions
from specviz.drafters.learned.flash_network import FlashShape, FlashTrunk, Roots
from specviz.drafters.learned.module import MODULES, FeatureBatch
from specviz.trace.declared_method import Candidates


@dataclass(frozen=True)
class DFlashShape(FlashShape):
    """Size of the network, and how it learns."""


@MODULES.register("dflash")
class DFlashModule(FlashTrunk[DFlashShape]):
    """The network, and slots that do not know of each other's tokens."""

    explanation: ClassVar[str] = "A block of masked places, filled in one pass from the states of the whole text."

    def logits_at(self, batch: FeatureBatch, roots: Roots, shown: Tensor | None = None) -> Tensor:
        """[B, A, S, V'] of the blocks' slots."""
        return functional.linear(self.states(batch, roots, shown), self.read_head())

    def loss(self, batch: FeatureBatch) -> dict[str, Tensor]:
        """The distance of the target to every slot, the nearer ones with more weight."""
        roots = Roots.of(batch, self.options.slots, self.options.anchors if self.training else None)
        wanted = roots.wanted(self.known(batch.target_logits(self.head))).log_softmax(-1)  # [B, A, S, V']
        logits = self.logits_at(batch, roots, self.shown(roots))  # [B, A, S, V']
        return {
            f"slot_{k + 1}": weight * batch.distance(logits[:, :, k], wanted[:, :, k])
            for k, weight in enumerate(self.weights_of(roots.slots))
        }

    def drafts(self, batch: FeatureBatch, most: int) -> list[Tensor]:
        """The same whatever stands between the root and the slot."""
        roots = Roots.of(batch, 1, None)
        states, count = self.states(batch, roots), len(roots.at[0])  # [B, T - 1, S, H]
        return [
            self.whole(functional.linear(states[:, : count - k, k], self.read_head()))
            for k in range(min(most, self.options.slots, count))
        ]


@dataclass(frozen=True)
class DFlashOptions(FlashOptions):
    """Weights, and shape of the draft."""


@DRAFTERS.register("dflash")
class DFlashDrafter(FlashDrafter[DFlashOptions]):
    """A small network fills a block of masked places in one pass, from the target's states of the whole text.

    The states of several depths of the target are worked into keys and values once for each token of the text; behind
    them stand the root and the masks, which see all of that and each other. However long the block, it is one pass.
    The places do not know of each other's tokens, so each is drawn from its own distribution, and judged by it.
    DFlash (2602.06036).
    """

    candidates: ClassVar[Candidates] = Candidates(deepest="gamma", from_states=True)
    needs: ClassVar[Needs | None] = Needs(
        guesses_from="the target's states of the whole text at several depths, a block of masked places at once",
        training="a network of two layers, on the target's states",
        memory="its weights, and keys and values of the text in its own layers",
    )
    pass_reads: ClassVar[str] = "its layers and the target's head, or the part of it that it drafts from"
    module_type = DFlashModule

    def answer(self, tree: DraftTree, nodes: Sequence[int]) -> Tensor:
        depths = tree.depths
        return self.slots[[depths[node] for node in nodes]]  # [n, V']: below a node of depth d is slot d (from 0)
