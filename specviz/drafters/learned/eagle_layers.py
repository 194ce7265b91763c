"""What EAGLE's network is made of: one Llama block that drafts from states.

    DraftBlock (torch module, whole texts at once) ─ lean ─► LeanBlock (fused projections, tree cache, row by row)

In training a draft is unrolled from every place of a text together: step 0 reads the target's states, step s what step
s - 1 made of them. A row of step s sees the rows of step 0 up to its own place, and of every later step the one of its
own place alone (EAGLE-3, 2503.01840, training-time test).

Where a compiler is at hand, a pass over a few rows is one call, what reads it out another, and a chain of both a third;
a chain's numbers are those of its passes, bit for bit. Between products they are float32, in bfloat16 too.

`log_normaliser` never holds all logits of a frozen head: a few rows at a time stay in the processor's cache, where
[rows, V] would be written to memory and read again many times.

Shapes: B texts, T rows, n rows of a pass, H hidden size, D head size, V vocabulary, V' tokens that it can draft.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from specviz.core.draws import Chooser
from specviz.lm.base import Chain
from specviz.lm.kernels import Projection, calibrate
from specviz.lm.llama.few_rows import FewRows, Join
from specviz.lm.llama.rows import Attends, Layer, LlamaCache, LlamaRows, Norm, head_factors, projected
from specviz.lm.llama.shape import LlamaShape
from specviz.lm.products import Matrix, Product
from specviz.lm.rotary import paired
from specviz.lm.rows import Placement


@dataclass(frozen=True, slots=True)
class BlockShape:
    """Sizes of one block."""

    hidden: int
    inputs: int
    """what queries, keys and values are made of: H, or 2·H where the embedding stands beside the state"""
    heads: int
    kv_heads: int
    head_size: int
    ffn: int
    extra: int = 0
    """outputs beside the state"""
    theta: float = 10000.0
    eps: float = 1e-6
    head_norms: bool = False
    """queries and keys are normed head by head"""


@dataclass(slots=True)
class Memory:
    """Keys and values [B, heads, T, D] of the steps of an unrolled draft, step 0 first."""

    keys: list[Tensor] = field(default_factory=list)
    values: list[Tensor] = field(default_factory=list)


class Attention(nn.Module):
    """Names of the weights as in transformers."""

    def __init__(self, shape: BlockShape) -> None:
        super().__init__()
        self.shape = shape
        queries, keys = shape.heads * shape.head_size, shape.kv_heads * shape.head_size
        self.q_proj = nn.Linear(shape.inputs, queries, bias=False)
        self.k_proj = nn.Linear(shape.inputs, keys, bias=False)
        self.v_proj = nn.Linear(shape.inputs, keys, bias=False)
        self.o_proj = nn.Linear(queries, shape.hidden, bias=False)
        norms = [nn.RMSNorm(shape.head_size, shape.eps) if shape.head_norms else None for _ in range(2)]
        self.q_norm, self.k_norm = norms

    def forward(self, inputs: Tensor, memory: Memory) -> Tensor:
        """inputs [B, T, inputs] of the next step → [B, T, H]."""
        step, rows = len(memory.keys), inputs.shape[1]
        queries = self._turned(self.q_proj(inputs), self.q_norm, step)  # [B, heads, T, D]
        shared = self.shape.heads // self.shape.kv_heads
        # [B, kv_heads, T, D] → [B, heads, T, D], each head of keys standing beside its copies
        memory.keys.append(self._turned(self.k_proj(inputs), self.k_norm, step).repeat_interleave(shared, 1))
        memory.values.append(self._split(self.v_proj(inputs)).repeat_interleave(shared, 1))
        if step == 0:
            found = functional.scaled_dot_product_attention(queries, memory.keys[0], memory.values[0], is_causal=True)
        else:
            found = self._unrolled(queries, memory, rows)
        merged: Tensor = self.o_proj(found.transpose(1, 2).flatten(2))  # [B, heads, T, D] → [B, T, H]
        return merged

    def _unrolled(self, queries: Tensor, memory: Memory, rows: int) -> Tensor:
        first, later = memory.keys[0][:, :, :rows], memory.keys[1:]
        ahead = torch.ones(rows, rows, dtype=torch.bool, device=queries.device).triu(1)  # [T, T]
        scores = (queries @ first.mT).masked_fill(ahead, -torch.inf)  # [B, heads, T, T]: step 0 up to the own place
        beside = torch.stack([(queries * keys[:, :, :rows]).sum(-1) for keys in later], -1)  # [B, heads, T, steps - 1]
        # [B, heads, T, T + steps - 1], by one softmax
        weights = (torch.cat([scores, beside], -1) * self.shape.head_size**-0.5).softmax(-1).to(queries.dtype)
        attended: Tensor = weights[..., :rows] @ memory.values[0][:, :, :rows]  # [B, heads, T, D]
        for number, values in enumerate(memory.values[1:]):
            attended = attended + weights[..., rows + number, None] * values[:, :, :rows]
        return attended

    def _split(self, x: Tensor) -> Tensor:
        heads: Tensor = x.unflatten(-1, (-1, self.shape.head_size)).transpose(1, 2)  # [B, T, A · D] → [B, A, T, D]
        return heads

    def _turned(self, x: Tensor, norm: nn.RMSNorm | None, step: int) -> Tensor:
        """Normed where there is a norm, and rotated to positions `step`, `step` + 1, … (2104.09864), halves as in
        transformers."""
        x = self._split(x)
        if norm is not None:
            x = norm(x.to(norm.weight.dtype))
        size = self.shape.head_size
        exponents = torch.arange(0, size, 2, dtype=torch.float32, device=x.device) / size
        positions = torch.arange(step, step + x.shape[2], dtype=torch.float32, device=x.device)
        angles = torch.outer(positions, 1.0 / self.shape.theta**exponents)  # [T, D / 2]
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        low, high = x.chunk(2, -1)  # [B, A, T, D / 2] each
        return torch.cat([low * cos - high * sin, high * cos + low * sin], -1)


class Mlp(nn.Module):
    """Gated; its last `extra` outputs stand beside the state."""

    def __init__(self, shape: BlockShape) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.hidden, shape.ffn, bias=False)
        self.up_proj = nn.Linear(shape.hidden, shape.ffn, bias=False)
        self.down_proj = nn.Linear(shape.ffn, shape.hidden + shape.extra, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))
        return found


class DraftBlock(nn.Module):
    """As it is trained."""

    def __init__(self, shape: BlockShape) -> None:
        super().__init__()
        self.shape = shape
        self.self_attn = Attention(shape)
        self.mlp = Mlp(shape)
        self.post_attention_layernorm = nn.RMSNorm(shape.hidden, shape.eps)

    def forward(self, inputs: Tensor, x: Tensor, memory: Memory) -> Tensor:
        """The next step of an unrolled draft: inputs [B, T, inputs], residual x [B, T, H] → [B, T, H + extra]."""
        x = x + self.self_attn(inputs, memory)
        normed = self.post_attention_layernorm(x.to(self.post_attention_layernorm.weight.dtype))
        out: Tensor = self.mlp(normed) + functional.pad(x, (0, self.shape.extra))
        return out


@dataclass(slots=True)
class Wiring:
    """How a call makes rows of tokens and states, and reads the block's outputs (`Join` in `few_rows.c`)."""

    state: Product | None = None
    """of the state, on top of the token's word"""
    picks: Product | None = None
    """of a word: a gate, and what it adds"""
    up: Product | None = None
    """of the state, of which the gate lets something through to `state`"""
    beside: Product | None = None
    """of the outputs beside the state, on top of it before the head"""
    norms: Sequence[nn.RMSNorm] = ()
    """of words, of states and before the head, where words and states stand side by side"""

    @property
    def products(self) -> tuple[Product | None, ...]:
        """In the order in which the call has them."""
        return self.state, self.picks, self.up, self.beside


class LeanBlock(LlamaRows):
    """The same block as it runs. Rows are put into a tree cache as those of the target are."""

    def __init__(self, block: DraftBlock, context_length: int) -> None:
        shape, weight = block.shape, block.self_attn.o_proj.weight.detach()
        norm = Norm(block.post_attention_layernorm.weight.detach(), shape.eps)
        attention, mlp = block.self_attn, block.mlp
        q_norm, k_norm = attention.q_norm, attention.k_norm
        turned = [paired(one.weight.detach(), shape.head_size) for one in (attention.q_proj, attention.k_proj)]
        qkv = torch.cat([*turned, attention.v_proj.weight.detach()])
        joined = torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight]).detach()
        down = mlp.down_proj.weight.detach()
        self._extra = shape.extra
        self.layer = Layer(
            attention_norm=norm,  # never asked: what the projections read is made outside
            qkv=projected(qkv),
            output=projected(weight),
            ffn_norm=norm,
            gate_up=projected(joined, norm),
            down=projected(down),
            head_norms=None if q_norm is None or k_norm is None else head_factors(q_norm.weight, k_norm.weight, shape),
        )
        super().__init__(LlamaShape.of_blocks(shape, 1, context_length), [self.layer], weight.device, weight.dtype)
        self._few_rows = FewRows.of(self.shape, [self.layer], self.turns.cos)
        self._joined: tuple[FewRows, Join, Wiring] | None = None
        self._held: list[Tensor] = []
        """what the join points into"""
        if self._few_rows is None:
            calibrate([[one] for one in (self.layer.qkv, self.layer.output, self.layer.gate_up, self.layer.down)])

    def join(self, words: Tensor, head: Projection, known: Tensor | None, vocab: int, wiring: Wiring) -> None:
        """Let a call make rows of tokens and the states before them, wired so, of words [V, H], and read them out:
        by a head that says `known` tokens [V'] of `vocab`, or all."""
        if self._few_rows is None or head.few is None:
            return
        self._held = [words.contiguous(), *(norm.weight.detach().float().contiguous() for norm in wiring.norms)]
        at = [tensor.data_ptr() for tensor in self._held]
        matrices = [Matrix() if product is None else product.matrix for product in wiring.products]
        join = Join(head.few.matrix, *matrices, *at, half_words=words.dtype == torch.bfloat16, vocab=vocab)
        if known is not None:
            self._held.append(known.contiguous())
            join.known = self._held[-1].data_ptr()
        self._joined = self._few_rows, join, wiring

    def joins(self, n: int) -> bool:
        """Whether a call makes so many rows of tokens and states."""
        return self._joined is not None and self._joined[0].takes(n)

    def run_states(self, states: Tensor, cache: LlamaCache, placement: Placement) -> Tensor:
        """Append rows of the placement's tokens and the states [n, H] before them: outputs [n, H + extra], in
        float32."""
        assert self._joined is not None, "nothing was joined."
        few_rows, join, _ = self._joined
        return few_rows.run_states(join, states, cache.seat(placement.stop), placement)

    def read_states(self, out: Tensor) -> Tensor:
        """What follows rows with the outputs [n, H + extra]; [n, V] in float32."""
        assert self._joined is not None, "nothing was joined."
        few_rows, join, _ = self._joined
        return few_rows.read_states(join, out)

    def write_chain(self, tokens: Sequence[int], states: Tensor, cache: LlamaCache, chooser: Chooser) -> Chain | None:
        """Rows of tokens and the states [n, H] before them, and on along a chain, of which only they stay in `cache`.
        None where that is not one call."""
        start, stop = cache.length, cache.length + len(tokens) + chooser.steps - 1
        if self._joined is None or not self.joins(len(tokens)) or stop > self.shape.context_length:
            return None
        few_rows, join, _ = self._joined
        chain = few_rows.write_states(join, cache.seat(stop), start, tokens, states, chooser)
        cache.go_on(tokens)
        return chain

    def run(self, inputs: Tensor, x: Tensor, step: Attends) -> Tensor:
        """inputs [n, inputs], residual x [n, H] → [n, H + extra]; keys and values are then in the cache."""
        x = self.attend(inputs, x, step, 0)
        if not self._extra:
            return self._mlp(x, 0)
        gate, up = self.layer.gate_up(self.layer.ffn_norm(x)).chunk(2, -1)  # [n, ffn] each
        return self.layer.down(functional.silu(gate).mul_(up), functional.pad(x, (0, self._extra)))


ROWS = 64
"""rows whose logits are held together"""


class _LogNormaliser(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor) -> Tensor:
        """rows [n, H], weight [V, H] → [n] float32."""
        transposed, slopes, found = weight.t(), torch.empty_like(rows), []
        for start in range(0, len(rows), ROWS):
            part = (rows[start : start + ROWS] @ transposed).float()
            highest = part.amax(-1, keepdim=True)
            total = part.sub_(highest).exp_().sum(-1, keepdim=True)
            slopes[start : start + ROWS] = part.div_(total).to(weight.dtype) @ weight
            found.append((total.log() + highest)[:, 0])
        ctx.save_for_backward(slopes)
        return torch.cat(found)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (slopes,) = ctx.saved_tensors
        return slopes * gradients[0][:, None].to(slopes.dtype), None


def log_normaliser(rows: Tensor, weight: Tensor) -> Tensor:
    """log Σ_v exp(W_v · x) of rows x [..., H] under a frozen head W [V, H]: [...] in float32. Under autocast its
    products run in autocast's dtype."""
    device = rows.device.type
    if torch.is_autocast_enabled(device):
        dtype = torch.get_autocast_dtype(device)
        rows, weight = rows.to(dtype), weight.to(dtype)
    with torch.autocast(device, enabled=False):
        found: Tensor = _LogNormaliser.apply(rows.flatten(0, -2), weight.detach())  # type: ignore[no-untyped-call]
    return found.view(rows.shape[:-1])
