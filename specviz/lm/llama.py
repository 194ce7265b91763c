"""The lean forward pass for Llama-architecture checkpoints: where the engine's speed comes from.

Preallocated keys and values, fused projections, the routine per row count that is fastest on this machine, a mask
only where rows leave the spine, and in-place compaction. Equal to transformers' `LlamaForCausalLM` up to rounding.
Knows nothing about files, drafters, verifiers or traces.

Shapes: n new rows, T rows visible at most, H query heads, G key/value heads, D head size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from specviz.lm.base import Cache, ModelInfo
from specviz.lm.kernels import Projection, calibrate
from specviz.lm.llama_config import LlamaShape
from specviz.lm.rows import Placement, TreeCache

FIRST_ROWS = 256
"""Rows a new cache has room for; it doubles when full."""
PREFILL_ROWS = 512
"""A longer chain is computed in pieces of this size, so that its mask stays small."""


class LlamaCache(TreeCache):
    """Keys and values of all layers in one tensor [layers * 2, 1, G, rows, D]."""

    def __init__(self, shape: LlamaShape, device: torch.device, dtype: torch.dtype) -> None:
        super().__init__()
        self._kv = torch.empty(
            shape.layers * 2, 1, shape.kv_heads, FIRST_ROWS, shape.head_size, device=device, dtype=dtype
        )

    def views(self, rows: int) -> tuple[Tensor, ...]:
        """Keys and values in turn, layer by layer, each [1, G, rows, D]; makes room where needed."""
        room = self._kv.shape[3]
        if rows > room:
            while room < rows:
                room *= 2
            grown = self._kv.new_empty(*self._kv.shape[:3], room, self._kv.shape[4])
            grown[:, :, :, : self.length] = self._kv[:, :, :, : self.length]
            self._kv = grown
        return self._kv[:, :, :, :rows].unbind(0)

    def _move_rows(self, rows: list[int], start: int) -> None:
        index = torch.tensor(rows, device=self._kv.device)
        self._kv[:, :, :, start : start + len(rows)] = self._kv.index_select(3, index)

    def _drop_rows(self, length: int) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Layer:
    """Weights of one block."""

    attention_norm: Tensor
    qkv: Projection
    output: Projection
    ffn_norm: Tensor
    gate_up: Projection
    down: Projection


@dataclass(frozen=True, slots=True)
class Step:
    """What all layers of one forward call share."""

    start: int
    cos: Tensor
    """[n, 1, D]"""
    sin: Tensor
    """[n, 1, D], the first half negated, so that a rotation is x·cos + roll(x, D/2)·sin"""
    mask: Tensor | None
    """additive [n, T]; None: every row sees everything"""
    kv: tuple[Tensor, ...]


class LlamaModel:
    """Runs under inference mode; one instance serves any number of caches."""

    def __init__(self, shape: LlamaShape, weights: Mapping[str, Tensor], info: ModelInfo) -> None:
        self.shape = shape
        self._info = info
        self._embedding = weights["model.embed_tokens.weight"]
        self._final_norm = weights["model.norm.weight"]
        self._layers = [_layer(weights, f"model.layers.{i}.", shape) for i in range(shape.layers)]
        self._head = Projection(self._embedding if shape.tied else weights["lm_head.weight"])
        self._cos, self._sin = shape.rotations(self.device, self._embedding.dtype)
        self._zeros: dict[int, Tensor] = {}
        self.kernels = self._calibrate()

    @property
    def info(self) -> ModelInfo:
        return self._info

    @property
    def device(self) -> torch.device:
        return self._embedding.device

    def new_cache(self) -> LlamaCache:
        return LlamaCache(self.shape, self.device, self._embedding.dtype)

    @torch.inference_mode()
    def _calibrate(self) -> dict[str, dict[int, str]]:
        """Which matrix routine serves which row count, per kind of projection; kept for the curious."""
        groups = {
            "qkv": [layer.qkv for layer in self._layers],
            "output": [layer.output for layer in self._layers],
            "gate_up": [layer.gate_up for layer in self._layers],
            "down": [layer.down for layer in self._layers],
            "head": [self._head],
        }
        return dict(zip(groups, calibrate(list(groups.values())), strict=True))

    @torch.inference_mode()
    def forward(
        self,
        tokens: Sequence[int],
        cache: Cache,
        parents: Sequence[int] | None = None,
        last_only: bool = False,
    ) -> Tensor:
        """Logits [n, V], or [1, V] with `last_only` (see `LanguageModel.forward`)."""
        assert isinstance(cache, LlamaCache), "this cache belongs to another adapter."
        if parents is None and last_only:
            while len(tokens) > PREFILL_ROWS:
                self._hidden(tokens[:PREFILL_ROWS], cache, None)
                tokens = tokens[PREFILL_ROWS:]
        x = self._hidden(tokens, cache, parents)
        if last_only:
            x = x[-1:]
        return self._head(F.rms_norm(x, x.shape[-1:], self._final_norm, self.shape.norm_eps))

    def _hidden(self, tokens: Sequence[int], cache: LlamaCache, parents: Sequence[int] | None) -> Tensor:
        """Residual stream [n, hidden] after the last layer; the rows are then in the cache."""
        placement = cache.place(tokens, parents, self._info.context_length)
        x = F.embedding(torch.tensor(placement.tokens, device=self.device), self._embedding)
        x = self.layers(x, 0, self.shape.layers, self._step(placement, cache))
        cache.add(placement)
        return x

    def _step(self, placement: Placement, cache: LlamaCache) -> Step:
        start, stop = placement.start, placement.stop
        kv = cache.views(stop)
        if placement.on_spine == stop - start:
            cos, sin = self._cos[start:stop], self._sin[start:stop]
        else:
            positions = torch.tensor(placement.positions, device=self.device)
            cos, sin = self._cos[positions], self._sin[positions]
        return Step(start, cos, sin, self._mask(placement), kv)

    def _mask(self, placement: Placement) -> Tensor | None:
        """Additive mask [n, T], a view of a stored one for chains."""
        n, start = placement.stop - placement.start, placement.start
        dtype = self._embedding.dtype
        lowest = torch.finfo(dtype).min
        if placement.visible is not None:
            visible = torch.from_numpy(placement.visible).to(self.device)
            return torch.zeros(visible.shape, device=self.device, dtype=dtype).masked_fill_(~visible, lowest)
        if n == 1:
            return None
        stored = self._zeros.get(n)
        if stored is None or stored.shape[1] < start + n:
            stored = torch.full((n, n), lowest, device=self.device, dtype=dtype).triu_(1)
            stored = F.pad(stored, (max(FIRST_ROWS, 2 * start), 0))
            self._zeros[n] = stored
        return stored[:, stored.shape[1] - start - n :]

    def layers(self, x: Tensor, first: int, last: int, step: Step) -> Tensor:
        """Run blocks `first` … `last` - 1 on the residual stream x [n, hidden] and write their keys and values."""
        for i in range(first, last):
            x = self._block(x, self._layers[i], step, step.kv[2 * i], step.kv[2 * i + 1])
        return x

    def _block(self, x: Tensor, layer: Layer, step: Step, keys: Tensor, values: Tensor) -> Tensor:
        shape, n = self.shape, x.shape[0]
        normed = F.rms_norm(x, x.shape[-1:], layer.attention_norm, shape.norm_eps)
        qkv = layer.qkv(normed).view(n, -1, shape.head_size)
        rotated = qkv[:, : shape.heads + shape.kv_heads]
        rolled = rotated.roll(shape.head_size // 2, -1)
        rotated.mul_(step.cos).addcmul_(rolled, step.sin)
        keys[0, :, step.start :] = qkv[:, shape.heads : shape.heads + shape.kv_heads].transpose(0, 1)
        values[0, :, step.start :] = qkv[:, shape.heads + shape.kv_heads :].transpose(0, 1)
        x = x + layer.output(self._attend(qkv[:, : shape.heads], keys, values, step.mask))
        normed = F.rms_norm(x, x.shape[-1:], layer.ffn_norm, shape.norm_eps)
        gate, up = layer.gate_up(normed).chunk(2, -1)
        return x + layer.down(F.silu(gate) * up)

    def _attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        """queries [n, H, D] → [n, H*D]. Query heads that share keys become rows of one head."""
        n, heads, size = queries.shape
        shared = heads // self.shape.kv_heads
        q = queries.view(n, -1, shared, size).permute(1, 2, 0, 3).reshape(1, -1, shared * n, size)
        if mask is not None and shared > 1:
            mask = mask.repeat(shared, 1)
        out = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
        return out.view(-1, shared, n, size).permute(2, 0, 1, 3).reshape(n, -1)


def _layer(weights: Mapping[str, Tensor], prefix: str, shape: LlamaShape) -> Layer:
    def fused(*names: str) -> Projection:
        biases = [weights[f"{prefix}{name}.bias"] for name in names if f"{prefix}{name}.bias" in weights]
        weight = torch.cat([weights[f"{prefix}{name}.weight"] for name in names])
        return Projection(weight, torch.cat(biases) if biases else None)

    return Layer(
        attention_norm=weights[f"{prefix}input_layernorm.weight"],
        qkv=fused("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        output=fused("self_attn.o_proj"),
        ffn_norm=weights[f"{prefix}post_attention_layernorm.weight"],
        gate_up=fused("mlp.gate_proj", "mlp.up_proj"),
        down=fused("mlp.down_proj"),
    )
