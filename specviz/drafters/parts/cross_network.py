"""The network of `cross_kv`: small layers between the target's embedding and its head, which also read what the target
keeps of the text.

    token ─ embedding ─► [ own attention ─► attention to the target ─► MLP ] ─► norm ─► target's head
                              own rows            its keys and values, or projected states

A layer is told how to attend, by a function over its queries, so that the same layer is trained over whole texts and
runs row by row (`cross_rows`). Registers nothing.

Shapes: B texts, n rows of them, A heads, D components, H hidden size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy

import torch
from torch import Tensor, nn
from torch.nn import functional

from specviz.drafters.parts.cross_shape import CrossKVShape
from specviz.drafters.parts.trained import RowShape
from specviz.lm.kernels import Projection, calibrate
from specviz.lm.rotary import angles, turned_by

Turns = tuple[Tensor, Tensor]
"""cosines and sines [n, D / 2]"""
Own = Callable[[Tensor, Tensor, Tensor], Tensor]
"""(queries, keys, values [..., A, n, D] of the layer's rows, turned) → what attention finds [..., A, n, D]"""
Across = Callable[[Tensor], Tensor]
"""queries [..., A, n, D] as a checkpoint has them → what they find in the target's rows [..., A, n, D]"""


def heads_of(x: Tensor, count: int) -> Tensor:
    """[..., n, count · D] → [..., count, n, D]."""
    found: Tensor = x.unflatten(-1, (count, -1)).transpose(-2, -3)
    return found


def joined(heads: Tensor) -> Tensor:
    """[..., A, n, D] → [..., n, A · D]."""
    return heads.transpose(-2, -3).flatten(-2)


class CrossLayer(nn.Module):
    """One layer, whose own attention and MLP stand around attention to the target's rows (2502.17421, §3.1), or who
    attends to its own rows and projected states by one softmax (our reading of 2402.08644, §3)."""

    def __init__(self, hidden: int, shape: CrossKVShape, row: RowShape) -> None:
        super().__init__()
        self.heads, self.size = shape.own_heads(hidden)
        size = self.size
        inner = shape.inner(hidden)
        self.norm, self.mlp_norm = nn.RMSNorm(hidden), nn.RMSNorm(hidden)
        self.qkv = nn.Linear(hidden, 3 * self.heads * size, bias=False)
        self.out = nn.Linear(self.heads * size, hidden, bias=False)
        self.gate_up = nn.Linear(hidden, 2 * inner, bias=False)
        self.down = nn.Linear(inner, hidden, bias=False)
        self.queries = row.heads * max(1, round(hidden / (row.heads * row.key_size)))
        """heads that ask the target's rows; so many share a head of them as it takes to be as wide as the target"""
        self.across: nn.Linear | None = None
        self.project: nn.Linear | None = None
        if shape.projects:
            self.state_norm = nn.RMSNorm(hidden)
            self.project = nn.Linear(hidden, 2 * self.heads * size, bias=False)
        else:
            self.across_norm = nn.RMSNorm(hidden)
            self.across = nn.Linear(hidden, self.queries * row.key_size, bias=False)
            self.across_out = nn.Linear(self.queries * row.value_size, hidden, bias=False)

    def turns(self, positions: Tensor) -> Turns:
        """By how much its own rows turn at these positions [n]; the same for all layers of a network."""
        return angles(positions, self.size)

    def own_rows(self, x: Tensor, turns: Turns) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values [..., A, n, D] of rows x [..., n, H]."""
        rows = heads_of(self.qkv(self.norm(x)), 3 * self.heads)
        both, values = rows.split([2 * self.heads, self.heads], -3)
        queries, keys = turned_by(both, *turns).chunk(2, -3)
        return queries, keys, values

    def state_rows(self, states: Tensor, turns: Turns) -> tuple[Tensor, Tensor]:
        """Keys and values [..., A, n, D] of the target's states [..., n, H]."""
        assert self.project is not None, "this preset reads keys and values, not states."
        keys, values = heads_of(self.project(self.state_norm(states)), 2 * self.heads).chunk(2, -3)
        return turned_by(keys, *turns), values

    def forward(self, x: Tensor, turns: Turns, own: Own, across: Across | None) -> Tensor:
        """x [..., n, H] → [..., n, H]; `across` where it reads keys and values and there are any."""
        x = x + self.out(joined(own(*self.own_rows(x, turns))))
        if self.across is not None and across is not None:
            x = x + self.across_out(joined(across(heads_of(self.across(self.across_norm(x)), self.queries))))
        gate, up = self.gate_up(self.mlp_norm(x)).chunk(2, -1)
        found: Tensor = x + self.down(functional.silu(gate) * up)
        return found


def as_they_run(layers: Sequence[CrossLayer], *beside: Projection) -> list[CrossLayer]:
    """The same layers, whose products take the routines that are the fastest here for few rows; they and those `beside`
    are timed together."""
    found = [copy(layer) for layer in layers]
    for layer in found:
        for name, product in layer.named_children():
            if isinstance(product, nn.Linear):
                vars(layer)[name] = Projection(product.weight.detach())  # found before the module of that name
    products = [one for layer in found for one in vars(layer).values() if isinstance(one, Projection)]
    calibrate([[one] for one in (*products, *beside)])
    return found


def look(queries: Tensor, keys: Tensor, values: Tensor, seen: Tensor | None = None) -> Tensor:
    """Attention of queries [..., A, n, D] over [..., G, m, D], where A / G heads share one; seen [n, m]. Zeros where a
    query sees nothing."""
    groups = keys.shape[-3]
    shared, n = queries.shape[-3] // groups, queries.shape[-2]
    rows = queries.unflatten(-3, (groups, shared)).flatten(-3, -2)  # heads that share keys become rows of one
    if seen is None:
        found = functional.scaled_dot_product_attention(rows, keys, values)
    else:
        some = seen.any(-1)
        mask = (seen | ~some[:, None]).repeat(shared, 1)
        found = functional.scaled_dot_product_attention(rows, keys, values, mask)
        found = found * some.repeat(shared)[:, None]
    apart: Tensor = found.unflatten(-2, (shared, n)).flatten(-4, -3)
    return apart


class Masks:
    """Who sees whom over whole texts of T tokens, for drafts whose root is `gaps` - 1 tokens back: own rows and the
    target's."""

    def __init__(self, gaps: Tensor, text_tokens: int | None, before: int = 0) -> None:
        """gaps [T] ≥ 1; `text_tokens` as `CrossKVShape.text_tokens`; `before`: rows of the target before the T
        tokens, which all of them see."""
        place = torch.arange(len(gaps), device=gaps.device)
        self.root = place - gaps + 1
        """[T], below 1 where a text has no such root: the target has read nothing then"""
        self.target = torch.arange(-before, len(gaps), device=gaps.device) < self.root[:, None]
        """[T, before + T]"""
        self.own = place <= place[:, None]
        """[T, T]"""
        if text_tokens is not None:
            self.own &= place >= (self.root - text_tokens)[:, None]


def by_blocks(length: int, block: int, phase: int, device: torch.device) -> Tensor:
    """Gaps [T] of texts cut into blocks: 1 … block and over again, `phase` tokens into it at first."""
    return (torch.arange(length, device=device) + phase) % block + 1
