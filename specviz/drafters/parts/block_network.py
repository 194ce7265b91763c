"""The network of the masked block: a few slots that see each other and the target's last states. Registers nothing.

Shapes: N blocks, W states of context, S slots, Q = 1 + S rows (the root's and the slots'), H hidden size of the target,
A attention heads of D = H / A, V vocabulary.
"""

from __future__ import annotations

from math import gcd

import torch
from torch import Tensor, nn
from torch.nn import functional

ATTENTION_HEADS = 6
WIDER = 2
"""of the feed-forward's inner size"""
Context = list[tuple[Tensor, Tensor]]
"""per layer keys and values [..., W, A, D] of the target's states"""


class BlockLayer(nn.Module):
    """Attention over the context and the block itself, both ways, then a gated feed-forward; before each a norm."""

    def __init__(self, size: int, rows: int, window: int) -> None:
        super().__init__()
        self.attention_heads = gcd(size, ATTENTION_HEADS)
        self.attention_norm, self.ffn_norm = nn.RMSNorm(size), nn.RMSNorm(size)
        self.qkv = nn.Linear(size, 3 * size, bias=False)
        self.states = nn.Linear(size, 2 * size, bias=False)
        self.output = nn.Linear(size, size, bias=False)
        self.gate_up = nn.Linear(size, 2 * WIDER * size, bias=False)
        self.down = nn.Linear(WIDER * size, size, bias=False)
        self.places = nn.Parameter(torch.zeros(self.attention_heads, rows, window + rows))
        """added to scores: how far a row is from what it looks at"""

    def context(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values [..., A, D] of states [..., H]."""
        keys, values = self.states(states).unflatten(-1, (2 * self.attention_heads, -1)).chunk(2, -2)
        return keys, values

    def forward(self, rows: Tensor, keys: Tensor, values: Tensor, absent: Tensor) -> Tensor:
        """rows [N, Q, H] → the same; keys and values [N, W, A, D]; absent [N, W] where the text has not begun yet."""
        heads = self.attention_heads
        query, key, value = self.qkv(self.attention_norm(rows)).unflatten(-1, (3 * heads, -1)).chunk(3, -2)
        key, value = (torch.cat(pair, 1).transpose(1, 2) for pair in ((keys, key), (values, value)))
        unseen = functional.pad(absent, (0, rows.shape[1]))[:, None, None]
        scores = self.places.masked_fill(unseen, float("-inf"))
        found = functional.scaled_dot_product_attention(query.transpose(1, 2), key, value, scores)
        rows = rows + self.output(found.transpose(1, 2).flatten(-2))
        gate, up = self.gate_up(self.ffn_norm(rows)).chunk(2, -1)
        down: Tensor = self.down(functional.silu(gate) * up)
        return rows + down


class BlockNetwork(nn.Module):
    """From the target's last states, the root's token and what is known of the slots to a state for every slot, which
    the target's head reads out. Untrained it gives the last state, as untrained Medusa heads do."""

    def __init__(self, size: int, slots: int, window: int, layers: int) -> None:
        super().__init__()
        self.window = window
        self.word = nn.Linear(size, size, bias=False)
        self.masked = nn.Parameter(torch.zeros(size))
        self.position = nn.Parameter(torch.randn(1 + slots, size) * 0.02)
        self.states_norm, self.norm = nn.RMSNorm(size), nn.RMSNorm(size)
        self.layers = nn.ModuleList(BlockLayer(size, 1 + slots, window) for _ in range(layers))
        self.output, self.skip = nn.Linear(size, size, bias=False), nn.Linear(size, size, bias=False)
        nn.init.zeros_(self.output.weight)
        nn.init.eye_(self.skip.weight)

    def context_weights(self) -> list[nn.Module]:
        """Which weights `context` goes through."""
        return [self.states_norm, *(layer.get_submodule("states") for layer in self.layers)]

    def context(self, states: Tensor) -> Context:
        """What the layers look at of the target's states [..., T, H]: worked out once per token of a text."""
        states = self.states_norm(states)
        return [layer.context(states) for layer in self.layers]  # type: ignore[operator]  # a ModuleList knows no more

    def forward(self, context: Context, last: Tensor, absent: Tensor, words: Tensor, known: Tensor) -> Tensor:
        """States [N, S, H] of the slots. last [N, H]: the target's last state; words [N, Q, H]: embeddings of the root
        and of the slots; known [N, Q]: which of them count, the others are masked."""
        words = self.word(functional.rms_norm(words, words.shape[-1:]))
        rows = torch.where(known[..., None], words, self.masked) + self.position
        for layer, (keys, values) in zip(self.layers, context, strict=True):
            rows = layer(rows, keys, values, absent)
        found: Tensor = self.skip(last)[:, None] + self.output(self.norm(rows[:, 1:]))
        return found
