"""DFlash: a block of masked tokens behind the text, filled in one pass from all that the target read.

    states of the whole text (several depths) ─► context ─┐
    root + [mask] … [mask] ───────────────────────────────┴► layers ─► one row for each slot ─► chain, or tree

The network is in `learned/flash_network.py`. Given the text the slots are independent of each other: what is drafted at
one says nothing of the next, so q of a token is its own slot's distribution, whatever stands before it.

Shapes: B texts, T tokens, A blocks, S slots, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor
from torch.nn import functional

from specviz.drafters.learned.flash_network import FlashShape, FlashTrunk, Roots
from specviz.drafters.learned.module import MODULES, FeatureBatch


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
