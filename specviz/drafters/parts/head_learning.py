"""How heads that look several tokens ahead learn: what each is held to, and how often it is right. Registers nothing.

Shapes: B texts, T tokens each, V vocabulary, K heads, R ranks counted. Head k (from 0) at token t speaks of token
t + 2 + k: the target itself speaks of t + 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

RANKS = 10
"""candidates per head whose accuracy is counted"""
FADE = 0.8
"""each further head counts so much less (2401.10774, §2.2.1)"""
MEMORY = 0.99
"""share of the accuracies measured before that stays at each batch"""


class Accuracies(nn.Module):
    """How often the target's first choice is a head's first, second, … candidate. Kept in the weights' file, for the
    shape of a static tree follows from it."""

    def __init__(self, heads: int) -> None:
        """Where nothing was measured: a shape to begin with."""
        super().__init__()
        ranks = 0.5 * 0.4 ** torch.arange(RANKS, dtype=torch.float32)
        self.register_buffer("rates", ranks * 0.7 ** torch.arange(heads, dtype=torch.float32)[:, None])
        self.register_buffer("batches", torch.zeros(heads, dtype=torch.int64))

    rates: Tensor
    """[heads, RANKS]"""
    batches: Tensor
    """[heads], how many batches they were measured on"""

    @property
    def measured(self) -> bool:
        """Otherwise the rates are a guess, and not for showing."""
        return bool(self.batches.all())

    @torch.no_grad()
    def count(self, head: int, logits: Tensor, target_log_probs: Tensor) -> None:
        """Mix in a batch [..., V], before it is learnt from: no text is counted that was learnt already."""
        ranks = min(RANKS, logits.shape[-1])
        found = logits.topk(ranks, dim=-1).indices == target_log_probs.argmax(-1, keepdim=True)
        share = max(1 - MEMORY, 1 / (1 + int(self.batches[head])))
        self.rates[head, :ranks].lerp_(found.flatten(0, -2).to(self.rates.dtype).mean(0), share)
        self.batches[head] += 1


def divergence(logits: Tensor, target_log_probs: Tensor) -> Tensor:
    """KL(target ‖ drafter) in nats, in the mean over all places [..., V]."""
    own = logits.log_softmax(-1)
    total = functional.kl_div(own, target_log_probs, log_target=True, reduction="sum")
    return total / (own.numel() // own.shape[-1])


def held_to(
    rows: Sequence[Tensor], target_log_probs: Tensor, accuracies: Accuracies | None = None
) -> dict[str, Tensor]:
    """Σ 0.8^k KL(target ‖ head k): rows[k] [B, T - 1 - k, V] is what head k says from every place of a text, of which
    the target says target_log_probs [B, T, V]. With `accuracies` these are counted too."""
    terms = {}
    for k, own in enumerate(rows):
        wanted = target_log_probs[:, k + 1 :]
        if accuracies is not None:
            accuracies.count(k, own, wanted)
        terms[f"head_{k + 1}"] = FADE**k * divergence(own, wanted)
    return terms
