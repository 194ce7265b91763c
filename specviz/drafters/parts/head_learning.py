"""How heads that look several tokens ahead learn: what each is held to, and how often it is right. Registers nothing.

Shapes: B texts, T tokens each, V vocabulary, K heads, R ranks counted. Head k (from 0) at token t speaks of token
t + 2 + k: the target itself speaks of t + 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from specviz.drafters.parts.trained import Distance, FeatureBatch

RANKS = 10
"""candidates per head whose accuracy is counted"""
FADE = 0.8
"""each further head counts so much less (2401.10774, §2.2.1)"""
NOTHING = -100
"""stands where a text is over; torch's cross entropy passes over it"""
PLACES = 512
"""of a batch that a step learns from"""
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


@dataclass(frozen=True, slots=True)
class Places:
    """Where in a batch of texts heads are held to the target in one step: n places, each with its next tokens.

    Not all places of a batch: what a head costs is the read-out through the whole vocabulary, and the target's own
    distributions say so much about each place that more steps over fewer places learn faster."""

    text: Tensor
    """[n], which text"""
    token: Tensor
    """[n], the last token whose state is read"""
    heads: int

    @classmethod
    def of(cls, batch: FeatureBatch, heads: int, some: bool) -> Places:
        """Random ones for training (`some`), or all; only those where every head has something to speak of, of fewer
        heads in texts too short for all."""
        texts, length = batch.tokens.shape
        heads = min(heads, length - 1)
        room = length - heads
        device = batch.tokens.device
        chosen = (torch.randperm(texts * room)[:PLACES] if some else torch.arange(texts * room)).to(device)
        return cls(chosen // room, chosen % room, heads)

    def states(self, batch: FeatureBatch) -> Tensor:
        """[n, H] at the module's first depth."""
        return batch.features[self.text, self.token, 0]

    def tokens(self, batch: FeatureBatch, first: int, count: int) -> Tensor:
        """[n, count]: those from `first` places on."""
        steps = torch.arange(first, first + count, device=self.token.device)
        return batch.tokens[self.text[:, None], self.token[:, None] + steps]

    def following(self, batch: FeatureBatch) -> Tensor:
        """[n, heads]: the token of the text itself where each head speaks, NOTHING behind the text's last."""
        tokens = functional.pad(batch.tokens, (0, 1), value=NOTHING)
        steps = torch.arange(2, 2 + self.heads, device=self.token.device)
        return tokens[self.text[:, None], self.token[:, None] + steps]

    def wanted(self, batch: FeatureBatch, head: Tensor) -> Tensor:
        """[n, heads, V]: what the target says where each head speaks, as logarithms."""
        steps = torch.arange(1, 1 + self.heads, device=self.token.device)
        return batch.target_logits(head)[self.text[:, None], self.token[:, None] + steps].log_softmax(-1)


def held_to(
    logits: Sequence[Tensor], wanted: Tensor, distance: Distance, accuracies: Accuracies | None = None
) -> dict[str, Tensor]:
    """0.8^k times the distance of the target to head k, for the logits [n, V] of each head; wanted [n, heads, V]. With
    `accuracies` these are counted too."""
    terms = {}
    for k, own in enumerate(logits):
        if accuracies is not None:
            accuracies.count(k, own, wanted[:, k])
        terms[f"head_{k + 1}"] = FADE**k * distance(own, wanted[:, k])
    return terms
