"""Blocks of the Llama architecture run over rows of a tree, with a cache of their keys and values.

Place in the flow: the lean forward is all blocks of a checkpoint; a drafter's own block runs here too.

Shapes: n new rows, T rows visible at most, H query heads, G key/value heads, D head size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor
from torch.nn import functional

from specviz.lm.kernels import Projection
from specviz.lm.llama.few_rows import ATTENTION, MLP, Seat
from specviz.lm.llama.shape import BlockSizes, LlamaShape
from specviz.lm.products import shortened
from specviz.lm.rotary import Turns, paired
from specviz.lm.rows import Placement, TreeCache

if TYPE_CHECKING:
    from specviz.lm.llama.replay import Replays

FIRST_ROWS = 256
"""Rows a new cache has room for; it doubles when full."""
STORED_ROWS = 64
"""Masks of chains up to this long are kept from one call to the next."""


class Norm:
    """RMSNorm (Zhang, Sennrich 1910.07467, eq. 4), in float32 as x / hypot(‖x‖, √(H·ε)) with weight and √H moved into
    the projection that follows. Half precision keeps the usual order of roundings."""

    def __init__(self, weight: Tensor, eps: float, alone: bool = False) -> None:
        """`alone`: what follows is to find its weight in the rows."""
        self.weight = weight
        self._eps = eps
        self.absorbed = weight.dtype == torch.float32 and not alone
        """whether the projection that follows carries the weight"""
        self._floor = torch.tensor((weight.shape[0] * eps) ** 0.5, device=weight.device)

    @property
    def factor(self) -> Tensor:
        """[H], by which the weight [out, H] of the projection that follows is multiplied where it is absorbed."""
        factor: Tensor = self.weight * self.weight.shape[0] ** 0.5
        return factor

    def absorbed_by(self, weight: Tensor) -> Tensor:
        """The following projection's weight [out, H], carrying this norm's factor."""
        return weight * self.factor if self.absorbed else weight

    def __call__(self, x: Tensor) -> Tensor:
        """x [n, H] → [n, H]."""
        if self.absorbed:
            return x / torch.hypot(torch.linalg.vector_norm(x, dim=-1, keepdim=True), self._floor)
        return functional.rms_norm(x, self.weight.shape, self.weight, self._eps)

    def whole(self, x: Tensor) -> Tensor:
        """The norm of x [n, H] with its factor, for readers that have not absorbed it."""
        return functional.rms_norm(x, self.weight.shape, self.weight, self._eps)


def with_room(stored: Tensor, rows: int, kept: int) -> Tensor:
    """`stored` [layers, 2 * G, room, D], or where it would not hold `rows` rows a larger one with its first `kept`."""
    room = stored.shape[2]
    if rows <= room:
        return stored
    while room < rows:
        room *= 2
    grown = stored.new_empty(*stored.shape[:2], room, stored.shape[3])
    grown[:, :, :kept] = stored[:, :, :kept]
    return grown


class LlamaCache(TreeCache):
    """Keys and values of all layers in one tensor [layers, 2 * G, rows, D]; keys are the first G heads of a layer."""

    _seat: Seat | None = None

    def __init__(self, shape: LlamaShape, device: torch.device, dtype: torch.dtype) -> None:
        super().__init__()
        self._kv = torch.empty(
            shape.layers, 2 * shape.kv_heads, FIRST_ROWS, shape.head_size, device=device, dtype=dtype
        )

    def room(self, rows: int) -> Tensor:
        """The storage, grown where it would not hold `rows` rows."""
        self._kv = with_room(self._kv, rows, self.length)
        return self._kv

    def seat(self, rows: int) -> Seat:
        """Of compiled passes, with room for `rows` rows: the same for as long as the storage is."""
        seat = self._seat
        if seat is None or seat.cached is not self._kv or rows > seat.room:
            seat = self._seat = Seat(self.room(rows))
        return seat

    @torch.inference_mode()
    def _move_rows(self, rows: list[int], start: int) -> None:
        index = torch.tensor(rows, device=self._kv.device)
        self._kv[:, :, start : start + len(rows)] = self._kv.index_select(2, index)

    def _drop_rows(self, length: int) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Layer:
    """Weights of one block."""

    attention_norm: Norm
    qkv: Projection
    output: Projection
    ffn_norm: Norm
    gate_up: Projection
    down: Projection
    head_norms: Tensor | None = None
    """[H + G, D], factors of queries and keys where each head of them is normed before it turns"""


def head_factors(queries: Tensor, keys: Tensor, sizes: BlockSizes) -> Tensor:
    """`Layer.head_norms`, of the weights [D] of the two norms: for every head, in the order of its paired rows."""
    pairs = ((queries, sizes.heads), (keys, sizes.kv_heads))
    return torch.cat([paired(weight.detach(), sizes.head_size).expand(heads, -1) for weight, heads in pairs])


def normed_heads(heads: Tensor, factors: Tensor, eps: float) -> Tensor:
    """Heads [n, A, D], of which the first, as many as there are factors [B, D], are normed."""
    turning = len(factors)
    normed = functional.rms_norm(heads[:, :turning], heads.shape[-1:], None, eps) * factors
    return torch.cat([normed, heads[:, turning:]], 1)


def projected(weight: Tensor, norm: Norm | None = None) -> Projection:
    """By a weight [out, in] of a drafter's, behind a norm or none, read from half the bytes where its numbers allow."""
    return Projection(norm.absorbed_by(weight) if norm else weight, short=shortened(weight))


class Attends(Protocol):
    """What all layers of one pass share: where its rows stand, and how they read each other and the cache."""

    @property
    def turns(self) -> Turns: ...

    def attend(self, i: int, rows: Tensor) -> Tensor:
        """See `Step.attend`."""
        ...


@dataclass(frozen=True, slots=True)
class Step:
    """What all layers of one forward call over one sequence share."""

    turns: Turns
    mask: Tensor | None
    """additive [n, T]; None: every row sees everything"""
    new_rows: tuple[Tensor, ...]
    """per layer, where the keys and values of the new rows go [2 * G, n, D]"""
    keys: tuple[Tensor, ...]
    """per layer [1, G, T, D]"""
    values: tuple[Tensor, ...]

    def attend(self, i: int, rows: Tensor) -> Tensor:
        """Store the keys and values of block i and give what its queries read [n, H * D]. rows [H + 2 * G, n, D]."""
        heads = rows.shape[0] - self.new_rows[i].shape[0]
        self.new_rows[i].copy_(rows[heads:])
        return attention(rows[:heads].unsqueeze(0), self.keys[i], self.values[i], self.mask)


def attention(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
    """Queries [B, H, n, D], keys and values [B, G, T, D], mask [n, T] or [B, 1, n, T] → [B * n, H * D].

    Query heads that share keys become rows of one head."""
    batch, heads, n, size = queries.shape
    shared = heads // keys.shape[1]
    if shared == 1:
        out = functional.scaled_dot_product_attention(queries, keys, values, mask)
        return out.transpose(1, 2).reshape(batch * n, -1)
    queries = queries.reshape(batch, -1, shared * n, size)
    if mask is not None:
        mask = mask.repeat(*(1,) * (mask.dim() - 2), shared, 1)
    out = functional.scaled_dot_product_attention(queries, keys, values, mask)
    return out.view(batch, -1, shared, n, size).permute(0, 3, 1, 2, 4).reshape(batch * n, -1)


class LlamaRows:
    """The blocks and what every pass over them needs; one instance serves any number of caches."""

    def __init__(self, shape: LlamaShape, layers: Sequence[Layer], device: torch.device, dtype: torch.dtype) -> None:
        self.shape = shape
        self._layers = list(layers)
        self._place = device, dtype
        self.turns = Turns.of(shape, device)
        self._chains: dict[int, Tensor] = {}
        self.replays: Replays | None = None
        """passes of few rows at fixed addresses, where they are replayed"""

    @property
    def device(self) -> torch.device:
        return self._place[0]

    @property
    def dtype(self) -> torch.dtype:
        return self._place[1]

    def new_cache(self) -> LlamaCache:
        return self.replays.new_cache() if self.replays else LlamaCache(self.shape, *self._place)

    def step(self, placement: Placement, cache: LlamaCache) -> Step:
        start, stop = placement.start, placement.stop
        kv = cache.room(stop)[:, :, :stop]
        keys, values = kv.unsqueeze(1).chunk(2, 2)
        new_rows = kv[:, :, start:].unbind(0)
        return Step(self.turns_of(placement), self._mask(placement), new_rows, keys.unbind(0), values.unbind(0))

    def turns_of(self, placement: Placement) -> Turns:
        """Rotations of the new rows."""
        if placement.on_spine == len(placement.tokens):
            return self.turns.between(placement.start, placement.stop)
        return self.turns.at(torch.tensor(placement.positions, device=self.device))

    def _mask(self, placement: Placement) -> Tensor | None:
        """Additive mask [n, T], a view of a stored one for chains."""
        n, start = placement.stop - placement.start, placement.start
        dtype = self.dtype
        lowest = torch.finfo(dtype).min
        if placement.visible is not None:
            visible = torch.from_numpy(placement.visible).to(self.device)
            return torch.zeros(visible.shape, device=self.device, dtype=dtype).masked_fill_(~visible, lowest)
        if n == 1:
            return None
        stored = self._chains.get(n)
        if stored is None or stored.shape[1] < start + n:
            stored = torch.full((n, n), lowest, device=self.device, dtype=dtype).triu_(1)
            stored = functional.pad(stored, (max(FIRST_ROWS, 2 * start) if n <= STORED_ROWS else start, 0))
            if n <= STORED_ROWS:
                self._chains[n] = stored
        mask = stored[:, stored.shape[1] - start - n :]
        return mask if mask.device.type == "cpu" else mask.contiguous()  # GPU kernels want aligned rows

    def layers(self, x: Tensor, first: int, last: int, step: Attends) -> Tensor:
        """Run blocks `first` … `last` - 1 on the residual stream x [n, hidden] and write their keys and values."""
        return self.run_chosen(x, self.between(first, last), step)

    def between(self, first: int, last: int) -> bytes:
        """The choice of blocks `first` … `last` - 1, whole, for `run_chosen`."""
        return bytes((ATTENTION + MLP) * (first <= i < last) for i in range(self.shape.layers))

    def run_chosen(self, x: Tensor, chosen: bytes, step: Attends) -> Tensor:
        """Run what `chosen` names of each block, in their order (as `FewRows.run`)."""
        for i, parts in enumerate(chosen):
            x = self._attention(x, step, i) if parts & ATTENTION else x
            x = self._mlp(x, i) if parts & MLP else x
        return x

    def _attention(self, x: Tensor, step: Attends, i: int) -> Tensor:
        return self.attend(self._layers[i].attention_norm(x), x, step, i)

    def attend(self, inputs: Tensor, x: Tensor, step: Attends, i: int) -> Tensor:
        """x [n, hidden] plus what attention of block i makes of `inputs` [n, what its projections read]."""
        layer, shape = self._layers[i], self.shape
        n, turning = x.shape[0], shape.heads + shape.kv_heads
        heads = layer.qkv(inputs).view(n, -1, shape.head_size)  # [n, heads + 2 * kv_heads, D]
        if layer.head_norms is not None:
            heads = normed_heads(heads, layer.head_norms, shape.norm_eps)
        step.turns.rotate(heads.view(n, -1, shape.head_size // 2, 2), turning)
        return layer.output(step.attend(i, heads.transpose(0, 1)), x)

    def _mlp(self, x: Tensor, i: int) -> Tensor:
        layer = self._layers[i]
        gate, up = layer.gate_up(layer.ffn_norm(x)).chunk(2, -1)
        return layer.down(functional.silu(gate).mul_(up), x)
