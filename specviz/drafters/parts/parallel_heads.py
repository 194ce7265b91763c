"""Medusa's network: heads on the target's last state that do not know of each other. Registers nothing.

What `medusa` drafts with as it is, `markov` under a lattice, and `hydra`, block by block, from more than the state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from specviz.drafters.parts.head_learning import Accuracies, Places, held_to
from specviz.drafters.parts.trained import DrafterModule, FeatureBatch, TargetParts
from specviz.drafters.parts.weights_read import bytes_of
from specviz.options import Options, option


class ResidualBlock(nn.Module):
    """x + SiLU(A x + b), A and b zero at first, so that an untrained head says what the target's own head says."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(size, size)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, states: Tensor) -> Tensor:
        return states + functional.silu(self.linear(states))


@dataclass(frozen=True)
class HeadsShape(Options):
    """Size of the heads."""

    heads: int = option(4, help="how many places on they guess, one head each", minimum=1, maximum=16)
    layers: int = option(1, help="residual blocks per head, each with weights of its own", minimum=1, maximum=8)
    own_head: bool = option(
        False, help="each reads out through a matrix of its own; otherwise through a small one and the target's"
    )


HeadsShapeT = TypeVar("HeadsShapeT", bound=HeadsShape)


class ParallelHeads(DrafterModule[HeadsShapeT]):
    """The network (2401.10774, §2.1.1), its loss and what it drafts."""

    def __init__(self, target: TargetParts, options: HeadsShapeT) -> None:
        super().__init__(target, options)
        vocabulary, size = target.head.shape
        self.heads = nn.ModuleList()
        for _ in range(options.heads):
            blocks = [ResidualBlock(size) for _ in range(options.layers)]
            last = nn.Linear(size, vocabulary if options.own_head else size, bias=False)
            with torch.no_grad():
                last.weight.copy_(target.head if options.own_head else torch.eye(size))
            self.heads.append(nn.Sequential(*blocks, last))
        self.accuracies = Accuracies(options.heads)

    def depths(self) -> Sequence[int]:
        return (self.target.layers,)

    def logits(self, states: Tensor) -> Tensor:
        """What each head says [..., heads, V] from the target's last states [..., H]."""
        found = torch.stack([head(states) for head in self.heads], -2)
        return found if self.options.own_head else functional.linear(found, self.head)

    def weights_read(self) -> int:
        return bytes_of(self.heads, None if self.options.own_head else self.head)

    def loss(self, batch: FeatureBatch) -> dict[str, Tensor]:
        places = Places.of(batch, self.options.heads, self.training)
        logits = self.logits(places.states(batch))[:, : places.heads].unbind(1)
        counted = self.accuracies if self.training else None
        return held_to(logits, places.wanted(batch, self.head), batch.distance, counted)

    def drafts(self, batch: FeatureBatch, most: int) -> list[Tensor]:
        logits = self.logits(batch.features[:, :, 0])
        places = batch.tokens.shape[1]
        return [logits[:, : places - 1 - k, k] for k in range(min(most, self.options.heads, places - 1))]
