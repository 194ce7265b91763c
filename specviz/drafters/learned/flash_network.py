"""The network that drafts a block in one pass, from all that the target read: `dflash`, and the trunk of `dspark`.

    target's states at several depths ─ fc, norm ─► context, one row for each token of the text before the root
    root + [mask] … [mask] ─► layers: attention over the context and the block, MLP ─► norm ─► target's head ─► logits

A block's rows see every context row before the root and each other, both ways (DFlash, 2602.06036); the root's own
state is not known yet, so it enters as an embedding alone. One pair of matrices makes keys and values of context and
block. Names of the weights are those of published checkpoints. DFlash 2 also mixes each row of a block with the one
before it, on both sides of every sublayer (vllm-project/vllm; there is no paper).

Shapes: B texts, T tokens, A blocks in each text, R rows of a block, S slots that it drafts, K depths, H hidden size,
h heads, G heads of keys, D head size, C groups of channels, V vocabulary, V' tokens that are read out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from specviz.drafters.base import bytes_of
from specviz.drafters.learned.module import DrafterModule, FeatureBatch, TargetParts, drawn
from specviz.errors import OptionError
from specviz.lm.rotary import turned
from specviz.options import Options, option

LARGE_VOCABULARY, KEPT_OF_LARGE = 16_384, 8_192
"""with more tokens than the first so many are read out, unless the options say otherwise"""
FADE = 4.0
"""slots after which one weighs e times less in the loss: a constant of its own, whatever the block's size"""
Context = list[tuple[Tensor, Tensor]]
"""of each layer keys and values [B, G, T, D] of the text, turned to their positions"""


@dataclass(frozen=True)
class FlashShape(Options):
    """Size of the network, and how it learns."""

    slots: int = option(7, help="masked tokens that it fills in one pass", minimum=1, maximum=16)
    layers: int = option(2, help="layers of the block", minimum=1, maximum=8)
    depths: tuple[int, ...] = option(
        (), help="after how many layers the target is read; nothing: three, spread over its depth", minimum=1
    )
    heads: int = option(0, help="attention heads; 0: one for every 64 of the hidden size", minimum=0, maximum=128)
    kv_heads: int = option(0, help="key and value heads; 0: as many", minimum=0, maximum=128)
    head_size: int = option(0, help="size of a head; 0: the hidden size shared out", minimum=0)
    ffn: int = option(0, help="inner size of the MLP; 0: the hidden size", minimum=0)
    from_root: bool = option(
        True, help="whether the root's row drafts the first token; otherwise only the masks' rows draft"
    )
    causal: bool = option(
        False, help="whether a row sees none behind it, and some blocks of training show their first tokens"
    )
    convolution: int = option(
        0,
        help="channels that share a tap, where each row is mixed with the one before it (DFlash 2: 16); 0: it is not",
        minimum=0,
        maximum=4096,
    )
    draft_tokens: int = option(
        0,
        help=f"tokens that it can draft; 0: all, or {KEPT_OF_LARGE} where there are more than {LARGE_VOCABULARY}",
        minimum=0,
    )
    anchors: int = option(32, help="blocks of each text that a step of training learns from", minimum=1, maximum=1024)
    theta: float = option(10000.0, help="base of the rotary positions", minimum=1.0)
    eps: float = option(1e-6, help="of the norms", minimum=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.heads and self.kv_heads and self.heads % self.kv_heads:
            raise OptionError(f"{self.heads} heads cannot share {self.kv_heads} key and value heads evenly.")
        if self.head_size % 2:
            raise OptionError(f"head_size is {self.head_size}, but positions turn pairs; choose an even one.")

    @property
    def rows(self) -> int:
        """Of a block: the root's, and a mask's for every slot that the root's row does not fill."""
        return self.slots if self.from_root else 1 + self.slots

    def taps(self, layers: int) -> tuple[int, ...]:
        """After how many of the target's layers it is read."""
        if self.depths:
            return self.depths
        spread = {2 + round(i * (layers - 4) / 2) for i in range(3)}  # DFlash counts layers from 0
        return tuple(sorted({min(max(depth, 1), layers) for depth in spread}))

    def sizes(self, hidden: int) -> FlashSizes:
        """For a target of this hidden size."""
        heads = self.heads or max(1, hidden // 64)
        head_size = self.head_size or 2 * ((hidden // heads + 1) // 2)
        kv_heads, ffn = self.kv_heads or heads, self.ffn or hidden
        if self.convolution and hidden % self.convolution:
            raise OptionError(
                f"convolution is {self.convolution}, but a hidden size of {hidden} has no groups of so many channels; "
                "choose a divisor of it."
            )
        return FlashSizes(hidden, heads, kv_heads, head_size, ffn, self.theta, self.eps, self.convolution)


@dataclass(frozen=True, slots=True)
class FlashSizes:
    """Of one layer."""

    hidden: int
    heads: int
    kv_heads: int
    head_size: int
    ffn: int
    theta: float
    eps: float
    convolution: int


class Norm(nn.RMSNorm):
    """In its weight's format, also where the products around it run in a shorter one."""

    def forward(self, rows: Tensor) -> Tensor:
        return super().forward(rows.to(self.weight.dtype))


class FlashAttention(nn.Module):
    """Of a block's rows over the text before it and over themselves, by one softmax."""

    def __init__(self, sizes: FlashSizes) -> None:
        super().__init__()
        self.sizes = sizes
        queries, keys = sizes.heads * sizes.head_size, sizes.kv_heads * sizes.head_size
        self.q_proj = nn.Linear(sizes.hidden, queries, bias=False)
        self.k_proj = nn.Linear(sizes.hidden, keys, bias=False)
        self.v_proj = nn.Linear(sizes.hidden, keys, bias=False)
        self.o_proj = nn.Linear(queries, sizes.hidden, bias=False)
        self.q_norm, self.k_norm = (Norm(sizes.head_size, sizes.eps) for _ in range(2))

    def keys_values(self, rows: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Keys, turned to positions [..., n], and values [..., G, n, D] of rows [..., n, H]."""
        keys = self._turned(self.k_proj(rows), self.k_norm, positions)
        return keys, self.v_proj(rows).unflatten(-1, (-1, self.sizes.head_size)).transpose(-2, -3)

    def _turned(self, rows: Tensor, norm: nn.Module, positions: Tensor) -> Tensor:
        """[..., n, heads · D] → [..., heads, n, D]."""
        heads = norm(rows.unflatten(-1, (-1, self.sizes.head_size))).transpose(-2, -3)
        return turned(heads, positions.unsqueeze(-2), self.sizes.theta)

    def forward(self, rows: Tensor, positions: Tensor, context: tuple[Tensor, Tensor], seen: Tensor) -> Tensor:
        """rows [B, A, R, H] at positions [B, A, R] → the same; context keys and values [B, G, T, D]; seen
        [B, A, R, T + R]: whom a row sees of the text, then of its block."""
        groups = self.sizes.kv_heads
        blocks, length = rows.shape[1], context[0].shape[2]
        queries = self._turned(self.q_proj(rows), self.q_norm, positions)  # [B, A, h, R, D]
        keys, values = self.keys_values(rows, positions)  # [B, A, G, R, D] each
        # heads that share keys stand beside each other: [B, G, A, h / G · R, D]
        queries = queries.unflatten(2, (groups, -1)).flatten(3, 4).transpose(1, 2)
        keys, values = keys.transpose(1, 2), values.transpose(1, 2)  # [B, G, A, R, D]
        before = (queries.flatten(2, 3) @ context[0].mT).unflatten(2, (blocks, -1))  # [B, G, A, h / G · R, T]
        scores = torch.cat([before, queries @ keys.mT], -1) * self.sizes.head_size**-0.5
        unseen = ~seen.repeat(1, 1, self.sizes.heads // groups, 1)[:, None]  # [B, 1, A, h / G · R, T + R]
        weights = scores.masked_fill(unseen, -torch.inf).softmax(-1).to(values.dtype)
        read = (weights[..., :length].flatten(2, 3) @ context[1]).unflatten(2, (blocks, -1))
        read = read + weights[..., length:] @ values  # [B, G, A, h / G · R, D]
        # back to the order of heads: [B, A, R, h · D]
        read = read.transpose(1, 2).unflatten(3, (-1, rows.shape[2])).flatten(2, 3).transpose(2, 3).flatten(3)
        merged: Tensor = self.o_proj(read)
        return merged


class FlashMlp(nn.Module):
    """Gated."""

    def __init__(self, sizes: FlashSizes) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(sizes.hidden, sizes.ffn, bias=False)
        self.up_proj = nn.Linear(sizes.hidden, sizes.ffn, bias=False)
        self.down_proj = nn.Linear(sizes.ffn, sizes.hidden, bias=False)

    def forward(self, rows: Tensor) -> Tensor:
        """[..., H] → the same."""
        down: Tensor = self.down_proj(functional.silu(self.gate_proj(rows)) * self.up_proj(rows))
        return down


def mixed(rows: Tensor, taps: Tensor, above: Tensor | None = None) -> Tensor:
    """Rows [..., R, H] of blocks, each with the one before it, by taps [..., R, 2, H]; before the first are zeros. In a
    tree `above` [R - 1] says which row comes before each but the first."""
    before = functional.pad(rows, (0, 0, 1, -1)) if above is None else functional.pad(rows[above], (0, 0, 1, 0))
    return taps[..., 0, :] * rows + taps[..., 1, :] * before


class BlockConvolution(nn.Module):
    """Mixes rows of a block with the row before, as they go into a sublayer and as they come out of it, by taps that
    depend on what goes in. At first it changes nothing."""

    def __init__(self, hidden: int, group: int) -> None:
        super().__init__()
        self.group = group
        first = torch.zeros(2, 2, hidden)  # sides, taps: of the row and of the one before it
        first[:, 0] = 1.0
        self.base = nn.Parameter(first)
        self.changes = nn.Linear(hidden, 4 * (hidden // group), bias=False)
        nn.init.zeros_(self.changes.weight)

    def taps(self, changes: Tensor) -> Tensor:
        """[..., R, 2, 2, H] of what `changes` makes of the rows that go in [..., R, 4 · C]."""
        taps: Tensor = self.base + changes.unflatten(-1, (2, 2, -1)).repeat_interleave(self.group, -1)
        return taps

    def around(self, sublayer: Callable[[Tensor], Tensor], rows: Tensor) -> Tensor:
        """What comes out [..., R, H] where rows [..., R, H] go in."""
        taps = self.taps(self.changes(rows))
        return mixed(sublayer(mixed(rows, taps[..., 0, :, :])), taps[..., 1, :, :])


class FlashLayer(nn.Module):
    """Attention and MLP, before each a norm, around each a convolution where there is one."""

    def __init__(self, sizes: FlashSizes) -> None:
        super().__init__()
        self.self_attn, self.mlp = FlashAttention(sizes), FlashMlp(sizes)
        self.input_layernorm, self.post_attention_layernorm = (Norm(sizes.hidden, sizes.eps) for _ in range(2))
        group = sizes.convolution
        self.convolutions = nn.ModuleList(BlockConvolution(sizes.hidden, group) for _ in range(2 if group else 0))

    def mixing(self) -> list[BlockConvolution]:
        """Around attention and MLP; none where rows are not mixed."""
        return [each for each in self.convolutions if isinstance(each, BlockConvolution)]

    def forward(self, rows: Tensor, positions: Tensor, context: tuple[Tensor, Tensor], seen: Tensor) -> Tensor:
        """As `FlashAttention.forward`."""

        def attend(normed: Tensor) -> Tensor:
            read: Tensor = self.self_attn(normed, positions, context, seen)
            return read

        around_attention, around_mlp = [each.around for each in self.mixing()] or [_bare, _bare]
        rows = rows + around_attention(attend, self.input_layernorm(rows))
        after: Tensor = rows + around_mlp(self.mlp, self.post_attention_layernorm(rows))
        return after


def _bare(sublayer: Callable[[Tensor], Tensor], rows: Tensor) -> Tensor:
    return sublayer(rows)


class FlashNetwork(nn.Module):
    """From the target's states and the block's words to a state for every row, which the target's head reads out."""

    def __init__(self, sizes: FlashSizes, layers: int, depths: int) -> None:
        super().__init__()
        self.fc = nn.Linear(depths * sizes.hidden, sizes.hidden, bias=False)
        self.hidden_norm, self.norm = (Norm(sizes.hidden, sizes.eps) for _ in range(2))
        self.layers = nn.ModuleList(FlashLayer(sizes) for _ in range(layers))
        self.mask = nn.Parameter(drawn(sizes.hidden))

    def stack(self) -> list[FlashLayer]:
        """Its layers, first to last."""
        return [layer for layer in self.layers if isinstance(layer, FlashLayer)]

    def context(self, features: Tensor, positions: Tensor) -> Context:
        """What the layers see of the target's states [B, T, K, H] at these positions [T]."""
        rows = self.hidden_norm(self.fc(features.flatten(-2)))  # [B, T, H]
        return [layer.self_attn.keys_values(rows, positions) for layer in self.stack()]

    def forward(self, context: Context, words: Tensor, positions: Tensor, seen: Tensor) -> Tensor:
        """States [B, A, R, H] of the rows whose words [B, A, R, H] stand at positions [B, A, R]; `seen` as in
        `FlashAttention.forward`."""
        rows = words
        for layer, keys_values in zip(self.stack(), context, strict=True):
            rows = layer(rows, positions, keys_values, seen)
        normed: Tensor = self.norm(rows)
        return normed


@dataclass(frozen=True, slots=True)
class Roots:
    """Blocks behind tokens of a batch of texts: what their rows hold, and what the target says where they draft."""

    at: Tensor
    """[B, A] places of the roots in their texts, 1 at least: something was read before them"""
    slots: int
    """that are held to the target: fewer than the block's where a text is too short"""

    @classmethod
    def of(cls, batch: FeatureBatch, slots: int, most: int | None) -> Roots:
        """`most` random ones of each text, or all."""
        texts, length = batch.tokens.shape
        slots = min(slots, length - 1)
        room = length - slots
        if most is None or most >= room:
            at = torch.arange(1, 1 + room).expand(texts, -1)
        else:
            at = 1 + torch.rand(texts, room).topk(most).indices
        return cls(at.to(batch.tokens.device), slots)

    def tokens(self, tokens: Tensor, count: int) -> Tensor:
        """[B, A, count] of tokens [B, T]: from each root on, zeros behind a text's end."""
        padded = functional.pad(tokens, (0, count))
        steps = torch.arange(count, device=tokens.device)
        wanted = (self.at[..., None] + steps).flatten(1)  # [B, A · count]
        behind: Tensor = padded.gather(1, wanted).unflatten(1, (-1, count))
        return behind

    def wanted(self, said: Tensor) -> Tensor:
        """Of what the target says [B, T, V'] what stands at each slot [B, A, slots, V']."""
        text = torch.arange(len(said), device=said.device)[:, None, None]
        return said[text, self.at[..., None] + torch.arange(self.slots, device=said.device)]


FlashShapeT = TypeVar("FlashShapeT", bound=FlashShape)


class FlashTrunk(DrafterModule[FlashShapeT]):
    """A subclass is registered, and may add to what the rows say."""

    relearnt = frozenset({"causal", "anchors"})
    added = frozenset({"convolution"})

    def __init__(self, target: TargetParts, options: FlashShapeT) -> None:
        super().__init__(target, options)
        vocabulary, hidden = target.head.shape
        wrong = [depth for depth in options.depths if depth > self.target.layers]
        if wrong:
            raise OptionError(
                f"depths name {wrong[0]}, but {self.target.name} has {self.target.layers} layers; choose fewer."
            )
        kept = options.draft_tokens or (KEPT_OF_LARGE if vocabulary > LARGE_VOCABULARY else vocabulary)
        self.keep_tokens(kept if kept != vocabulary else 0)
        self.network = FlashNetwork(options.sizes(hidden), options.layers, len(self.depths()))
        self.as_it_runs: object | None = None
        """see `flash_drafting.lean_of`"""
        with torch.no_grad():
            self.network.mask.mul_(float(target.embedding.float().std()))

    def depths(self) -> Sequence[int]:
        return self.options.taps(self.target.layers)

    def weights_read(self) -> int:
        """Less what the target's states go through before the layers, which is done once a round."""
        return bytes_of(self.network) + self.head_bytes() - bytes_of(self.network.fc, self.network.hidden_norm)

    def states(self, batch: FeatureBatch, roots: Roots, shown: Tensor | None = None) -> Tensor:
        """States [B, A, S, H] of the blocks' slots. shown [B, A]: how many tokens behind the root a block is given."""
        rows, length = self.options.rows, batch.tokens.shape[1]
        step = torch.arange(rows, device=batch.tokens.device)
        context = self.network.context(batch.features, torch.arange(length, device=step.device))
        words = functional.embedding(roots.tokens(batch.tokens, rows), self.embedding)  # [B, A, R, H]
        given = step == 0 if shown is None else step <= shown[..., None]  # [R] or [B, A, R]
        words = torch.where(given[..., None], words, self.network.mask.to(words.dtype))
        positions = roots.at[..., None] + step  # [B, A, R]
        seen = torch.arange(length, device=step.device) < roots.at[..., None, None]  # [B, A, 1, T]
        beside = step <= step[:, None] if self.options.causal else torch.ones_like(step[:, None] + step).bool()
        seen = torch.cat([seen.expand(-1, -1, rows, -1), beside.expand(*roots.at.shape, -1, -1)], -1)
        states: Tensor = self.network(context, words, positions, seen)[:, :, -self.options.slots :]
        return states

    def shown(self, roots: Roots) -> Tensor | None:
        """How many tokens behind its root each block of a step of training is given [B, A]: half the blocks some, where
        rows see none behind them (JetSpec, 2606.18394, in our reading); else none."""
        if not (self.options.causal and self.training):
            return None
        some = torch.randint(0, self.options.slots, roots.at.shape) * (torch.rand(roots.at.shape) < 0.5)
        return some.to(roots.at.device)

    def weights_of(self, slots: int) -> list[float]:
        """How much each slot counts in the loss; together 1."""
        shares = [exp(-k / FADE) for k in range(slots)]
        return [share / sum(shares) for share in shares]

    @torch.no_grad()
    def begin(self, batch: FeatureBatch) -> None:
        """Its states as large as those that the head is used to, component by component."""
        self.network.norm.weight.copy_(batch.final.flatten(0, 1).square().mean(0).sqrt())
