"""The lean forward pass for Llama-architecture checkpoints: where the engine's speed comes from.

Preallocated keys and values, fused projections, the routine per row count that is fastest on this machine, a mask only
where rows leave the spine, and in-place compaction. Equal to transformers' `LlamaForCausalLM` up to rounding.

Shapes: n new rows, T rows visible at most, H query heads, G key/value heads, D head size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from specviz.lm.base import Blocks, Cache, ModelInfo, Unfinished
from specviz.lm.kernels import Projection, calibrate
from specviz.lm.llama_config import LlamaShape
from specviz.lm.llama_parts import Norm, Turns, paired
from specviz.lm.rows import Placement, TreeCache

FIRST_ROWS = 256
"""Rows a new cache has room for; it doubles when full."""
STORED_ROWS = 64
"""Masks of chains up to this long are kept from one call to the next."""
PREFILL_ROWS = 512
"""A longer chain is computed in pieces of this size, so that its mask stays small."""


class LlamaCache(TreeCache):
    """Keys and values of all layers in one tensor [layers, 2 * G, rows, D]; keys are the first G heads of a layer."""

    def __init__(self, shape: LlamaShape, device: torch.device, dtype: torch.dtype) -> None:
        super().__init__()
        self._kv = torch.empty(
            shape.layers, 2 * shape.kv_heads, FIRST_ROWS, shape.head_size, device=device, dtype=dtype
        )

    def room(self, rows: int) -> Tensor:
        """The storage, grown where it would not hold `rows` rows."""
        room = self._kv.shape[2]
        if rows > room:
            while room < rows:
                room *= 2
            grown = self._kv.new_empty(*self._kv.shape[:2], room, self._kv.shape[3])
            grown[:, :, : self.length] = self._kv[:, :, : self.length]
            self._kv = grown
        return self._kv

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


@dataclass(frozen=True, slots=True)
class Step:
    """What all layers of one forward call share."""

    turns: Turns
    mask: Tensor | None
    """additive [n, T]; None: every row sees everything"""
    new_rows: tuple[Tensor, ...]
    """per layer, where the keys and values of the new rows go [2 * G, n, D]"""
    keys: tuple[Tensor, ...]
    """per layer [1, G, T, D]"""
    values: tuple[Tensor, ...]


class LlamaModel:
    """Runs under inference mode; one instance serves any number of caches."""

    def __init__(self, shape: LlamaShape, weights: Mapping[str, Tensor], info: ModelInfo) -> None:
        self.shape = shape
        self._info = info
        self._embedding = weights["model.embed_tokens.weight"]
        self._norm = Norm(weights["model.norm.weight"], shape.norm_eps)
        self._layers = [_layer(weights, f"model.layers.{i}.", shape) for i in range(shape.layers)]
        head = self._embedding if shape.tied else weights["lm_head.weight"]
        self._head_weight = head[: info.vocab_size]
        self._head = Projection(self._norm.absorbed_by(self._head_weight))
        self._turns = Turns.of(shape, self.device, self._embedding.dtype)
        self._chains: dict[int, Tensor] = {}
        self._last_trimmed: tuple[tuple[int, ...], LlamaModel] | None = None
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
    def with_head(self, tokens: Sequence[int]) -> LlamaModel:
        """See `lm.trimmed.TrimsHead`. The head's rows are read by asking the head itself, in whatever form its routines
        keep them: products with 0 and 1 are exact. The last one made is kept for the next run."""
        key = tuple(tokens)
        if self._last_trimmed is None or self._last_trimmed[0] != key:
            trimmed = copy(self)
            ones = torch.eye(self.shape.hidden_size, device=self.device, dtype=self._embedding.dtype)
            trimmed._head_weight = self._head_weight[list(tokens)]
            left_out = (self.shape.vocab_size - len(tokens)) * self.shape.hidden_size
            trimmed._info = replace(self._info, read_per_pass=self._info.read_per_pass - left_out)
            trimmed._head = Projection(self._head(ones).t()[list(tokens)].contiguous())
            trimmed.kernels = self.kernels | {"head": calibrate([[trimmed._head]])[0]}
            self._last_trimmed = key, trimmed
        return self._last_trimmed[1]

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
        return self._head(self._norm(x))

    @torch.inference_mode()
    def forward_hidden(
        self,
        tokens: Sequence[int],
        cache: Cache,
        parents: Sequence[int] | None = None,
        last_only: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """Logits as `forward` gives them, and the last hidden states [n, H] (see `lm.base.GivesHidden`)."""
        assert isinstance(cache, LlamaCache), "this cache belongs to another adapter."
        x = self._hidden(tokens, cache, parents)
        if last_only:
            x = x[-1:]
        return self._head(self._norm(x)), self._norm.whole(x)

    def _hidden(self, tokens: Sequence[int], cache: LlamaCache, parents: Sequence[int] | None) -> Tensor:
        """Residual stream [n, hidden] after the last layer; the rows are then in the cache."""
        placement = cache.place(tokens, parents, self._info.context_length)
        x = functional.embedding(torch.tensor(placement.tokens, device=self.device), self._embedding)
        step, layers, reached = self._step(placement, cache), self.shape.layers, 0
        states: dict[int, Tensor] = {}
        for depth in sorted(set(cache.watched)):
            x = self.layers(x, reached, depth, step)
            reached = depth
            states[depth] = x if depth < layers else self._norm.whole(x)
        x = self.layers(x, reached, layers, step)
        cache.see(states)
        cache.add(placement)
        return x

    def _step(self, placement: Placement, cache: LlamaCache) -> Step:
        start, stop = placement.start, placement.stop
        if placement.on_spine == stop - start:
            turns = self._turns.between(start, stop)
        else:
            turns = self._turns.at(torch.tensor(placement.positions, device=self.device))
        kv = cache.room(stop)[:, :, :stop]
        keys, values = kv.unsqueeze(1).chunk(2, 2)
        return Step(turns, self._mask(placement), kv[:, :, start:].unbind(0), keys.unbind(0), values.unbind(0))

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
        stored = self._chains.get(n)
        if stored is None or stored.shape[1] < start + n:
            stored = torch.full((n, n), lowest, device=self.device, dtype=dtype).triu_(1)
            stored = functional.pad(stored, (max(FIRST_ROWS, 2 * start) if n <= STORED_ROWS else start, 0))
            if n <= STORED_ROWS:
                self._chains[n] = stored
        mask = stored[:, stored.shape[1] - start - n :]
        return mask if mask.device.type == "cpu" else mask.contiguous()  # GPU kernels want aligned rows

    def layers(self, x: Tensor, first: int, last: int, step: Step) -> Tensor:
        """Run blocks `first` … `last` - 1 on the residual stream x [n, hidden] and write their keys and values."""
        for i in range(first, last):
            x = self._mlp(self._attention(x, step, i), i)
        return x

    def watch(self, cache: Cache, depths: Sequence[int]) -> None:
        """See `GivesFeatures.watch`."""
        assert isinstance(cache, LlamaCache), "this cache belongs to another adapter."
        cache.watch(depths, self.shape.layers)

    def seen(self, cache: Cache) -> Tensor:
        """See `GivesFeatures.seen`."""
        assert isinstance(cache, LlamaCache), "this cache belongs to another adapter."
        return cache.seen

    def keys_values(self, cache: Cache, layer: int) -> tuple[Tensor, Tensor]:
        """See `GivesFeatures.keys_values`; a key's components stand in rotary pair order."""
        assert isinstance(cache, LlamaCache), "this cache belongs to another adapter."
        keys, values = cache.room(cache.length)[layer, :, : cache.length].chunk(2)
        return keys, values

    def embedding(self) -> Tensor:
        """See `GivesFeatures.embedding`."""
        return self._embedding[: self._info.vocab_size]

    def head(self) -> Tensor:
        """See `GivesFeatures.head`."""
        return self._head_weight

    def why_not_split(self, blocks: Blocks) -> None:
        """See `SplitModel.why_not_split`: every choice of blocks runs."""

    @torch.inference_mode()
    def partial(self, tokens: Sequence[int], cache: Cache, parents: Sequence[int] | None, blocks: Blocks) -> Tensor:
        """See `SplitModel.partial`."""
        assert isinstance(cache, LlamaCache), "this cache belongs to another adapter."
        placement = cache.place(tokens, parents, self._info.context_length)
        step = self._step(placement, cache)
        x = functional.embedding(torch.tensor(placement.tokens, device=self.device), self._embedding)
        for i in range(self.shape.layers):
            x = self._attention(x, step, i) if i in blocks.attention else x
            x = self._mlp(x, i) if i in blocks.mlp else x
        cache.add(placement)
        return x

    @torch.inference_mode()
    def read_out(self, states: Tensor) -> Tensor:
        """See `SplitModel.read_out`."""
        return self._head(self._norm(states))

    @torch.inference_mode()
    def set_aside(self, cache: Cache, rows: Sequence[int], states: Tensor, layers: int) -> Unfinished:
        """See `SplitModel.set_aside`; kept is one tensor [layers, 2 * G, n, D]."""
        assert isinstance(cache, LlamaCache), "this cache belongs to another adapter."
        index = torch.tensor(rows, device=self.device)
        kept = cache.room(cache.length)[:layers].index_select(2, index)
        cache.keep([])
        return Unfinished(layers, states, (kept,))

    @torch.inference_mode()
    def finish(
        self, tokens: Sequence[int], cache: Cache, parents: Sequence[int] | None, unfinished: Unfinished
    ) -> Tensor:
        """See `SplitModel.finish`."""
        assert isinstance(cache, LlamaCache), "this cache belongs to another adapter."
        placement = cache.place(tokens, parents, self._info.context_length)
        step = self._step(placement, cache)
        layers = unfinished.layers
        cache.room(placement.stop)[:layers, :, placement.start : placement.stop] = unfinished.kept[0]
        x = self.layers(unfinished.states, layers, self.shape.layers, step)
        cache.add(placement)
        return self.read_out(x)

    def _attention(self, x: Tensor, step: Step, i: int) -> Tensor:
        layer = self._layers[i]
        n, heads = x.shape[0], self.shape.heads
        qkv = layer.qkv(layer.attention_norm(x))
        step.turns.rotate(qkv.view(n, -1, self.shape.head_size // 2, 2), heads + self.shape.kv_heads)
        rows = qkv.view(n, -1, self.shape.head_size).transpose(0, 1)
        step.new_rows[i].copy_(rows[heads:])
        return layer.output(self._attend(rows[:heads], step.keys[i], step.values[i], step.mask), x)

    def _mlp(self, x: Tensor, i: int) -> Tensor:
        layer = self._layers[i]
        gate, up = layer.gate_up(layer.ffn_norm(x)).chunk(2, -1)
        return layer.down(functional.silu(gate).mul_(up), x)

    def _attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        """queries [H, n, D] → [n, H*D]. Query heads that share keys become rows of one head."""
        heads, n, size = queries.shape
        shared = heads // self.shape.kv_heads
        if shared == 1:
            out = functional.scaled_dot_product_attention(queries.unsqueeze(0), keys, values, mask)
            return out.transpose(1, 2).reshape(n, -1)
        queries = queries.reshape(1, -1, shared * n, size)
        if mask is not None:
            mask = mask.repeat(shared, 1)
        out = functional.scaled_dot_product_attention(queries, keys, values, mask)
        return out.view(-1, shared, n, size).permute(2, 0, 1, 3).reshape(n, -1)


def _layer(weights: Mapping[str, Tensor], prefix: str, shape: LlamaShape) -> Layer:
    """Fuse projections that read the same input; query and key rows are put in rotary pair order."""

    def fused(norm: Norm | None, *names: str) -> Projection:
        parts, biases = [], []
        for name in names:
            weight, bias = weights[f"{prefix}{name}.weight"], weights.get(f"{prefix}{name}.bias")
            if name.endswith(("q_proj", "k_proj")):
                weight, bias = paired(weight, shape.head_size), None if bias is None else paired(bias, shape.head_size)
            parts.append(weight)
            biases += [] if bias is None else [bias]
        weight = torch.cat(parts)
        return Projection(norm.absorbed_by(weight) if norm else weight, torch.cat(biases) if biases else None)

    attention_norm = Norm(weights[f"{prefix}input_layernorm.weight"], shape.norm_eps)
    ffn_norm = Norm(weights[f"{prefix}post_attention_layernorm.weight"], shape.norm_eps)
    return Layer(
        attention_norm=attention_norm,
        qkv=fused(attention_norm, "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        output=fused(None, "self_attn.o_proj"),
        ffn_norm=ffn_norm,
        gate_up=fused(ffn_norm, "mlp.gate_proj", "mlp.up_proj"),
        down=fused(None, "mlp.down_proj"),
    )
