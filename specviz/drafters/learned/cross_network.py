"""The network of `cross_kv`: small layers between the target's embedding and its head, which also read what the target
keeps of the text. Three published shapes of it.

    token ─ embedding ─► [ own attention ─► attention to the target ─► MLP ] ─► norm ─► target's head
                              own rows            its keys and values, or projected states

A layer is told how to attend, by a function over its queries, so that the same layer is trained over whole texts, every
token as a draft would reach it, and runs row by row (`cross_kv.DraftRows`).

Shapes: B texts, T tokens, n rows, A heads, D components, K depths, H hidden size, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from specviz.drafters.base import bytes_of
from specviz.drafters.learned.module import QUIET, DrafterModule, FeatureBatch, RowShape, TargetParts, least_squares
from specviz.errors import OptionError
from specviz.lm.kernels import Projection, settle
from specviz.lm.rotary import angles, turned_by
from specviz.options import Options, option

LONGSPEC, GLIDE, TANDEM = "longspec", "glide", "tandem"
PRESETS = (LONGSPEC, GLIDE, TANDEM)
WINDOW = 64
ANCHORS = 4
"""most tokens at the front of a text whose positions are left as they are (LongSpec's code draws 0 to 4)"""


@dataclass(frozen=True)
class CrossKVShape(Options):
    """Which of the three it is, its size, and how it learns."""

    preset: str = option(
        LONGSPEC,
        help="longspec: a window of its own and the target's last keys and values; glide: its own rows of the whole "
        "text beside them; tandem: two layers on projected states of the target",
        choices=PRESETS,
    )
    window: int = option(
        0, help=f"longspec: tokens of the text that its own attention sees; 0: {WINDOW}", minimum=0, maximum=4096
    )
    block: int = option(
        4, help="tokens from the last one that the target has read, at most, in training", minimum=1, maximum=16
    )
    noisy: bool = option(True, help="whether training leaves out the target's last rows, as a draft has to")
    anchors: str = option(
        "auto",
        help="whether training puts texts at positions further on, but for their first tokens; auto: for longspec",
        choices=("auto", "on", "off"),
    )
    text_weight: float = option(
        -1.0,
        help="weight of the cross entropy to the text beside the distance to the target; -1: 0.5 for tandem, else 0",
        minimum=-1.0,
        maximum=10.0,
    )
    heads: int = option(0, help="heads of its own attention; 0: by the target's size", minimum=0, maximum=64)
    ffn: int = option(0, help="inner size of the MLP; 0: by the target's size", minimum=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.window and self.preset != LONGSPEC:
            raise OptionError(f"window is {self.window}, but {self.preset} has none; leave it at 0.")

    @property
    def text_tokens(self) -> int | None:
        """Tokens of the text whose own rows a draft sees, the root's aside; None: all of them."""
        return {LONGSPEC: (self.window or WINDOW) - 1, GLIDE: None, TANDEM: 0}[self.preset]

    @property
    def projects(self) -> bool:
        """Whether it attends to projected states, by one softmax with its own rows; else to keys and values."""
        return self.preset == TANDEM

    @property
    def moves_text(self) -> bool:
        """Whether it is trained on texts at positions further on."""
        return self.anchors == "on" or (self.anchors == "auto" and self.preset == LONGSPEC)

    @property
    def share_of_text(self) -> float:
        """Weight of the cross entropy to the text."""
        return self.text_weight if self.text_weight >= 0 else 0.5 * self.projects

    def own_heads(self, hidden: int) -> tuple[int, int]:
        """Heads of its own attention and their size, an even one."""
        heads = self.heads or max(1, hidden // (192 if self.projects else 128))
        return heads, max(2, 2 * (hidden // ((6 if self.projects else 4) * heads)))

    def inner(self, hidden: int) -> int:
        """Inner size of the MLP."""
        return self.ffn or max(2, hidden * 7 // 24 if self.projects else hidden // 2)

    def depths(self, layers: int) -> tuple[int, ...]:
        """After how many of the target's layers its own layers read states, one each."""
        return tuple(sorted({max(1, layers // 2), layers})) if self.projects else ()


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
        rows = heads_of(self.qkv(self.norm(x)), 3 * self.heads)  # [..., n, H] → [..., 3·A, n, D]
        both, values = rows.split([2 * self.heads, self.heads], -3)  # [..., 2·A, n, D] and [..., A, n, D]
        queries, keys = turned_by(both, *turns).chunk(2, -3)  # values are not turned
        return queries, keys, values

    def state_rows(self, states: Tensor, turns: Turns) -> tuple[Tensor, Tensor]:
        """Keys and values [..., A, n, D] of the target's states [..., n, H]."""
        assert self.project is not None, "this preset reads keys and values, not states."
        # [..., n, H] → [..., 2·A, n, D] → two of [..., A, n, D]
        keys, values = heads_of(self.project(self.state_norm(states)), 2 * self.heads).chunk(2, -3)
        return turned_by(keys, *turns), values

    def forward(self, x: Tensor, turns: Turns, own: Own, across: Across | None) -> Tensor:
        """x [..., n, H] → [..., n, H]; `across` where it reads keys and values and there are any."""
        x = x + self.out(joined(own(*self.own_rows(x, turns))))
        if self.across is not None and across is not None:
            x = x + self.across_out(joined(across(heads_of(self.across(self.across_norm(x)), self.queries))))
        gate, up = self.gate_up(self.mlp_norm(x)).chunk(2, -1)  # [..., n, 2·F] → two of [..., n, F]
        found: Tensor = x + self.down(functional.silu(gate) * up)
        return found


def as_they_run(layers: Sequence[CrossLayer], *beside: Projection) -> list[CrossLayer]:
    """The same layers, whose products take the routines that are the fastest here for few rows; they and those `beside`
    are timed together."""
    fast = [copy(layer) for layer in layers]
    for layer in fast:
        for name, product in layer.named_children():
            if isinstance(product, nn.Linear):
                vars(layer)[name] = Projection(product.weight.detach())  # found before the module of that name
    products = [one for layer in fast for one in vars(layer).values() if isinstance(one, Projection)]
    settle([*products, *beside])
    return fast


def look(queries: Tensor, keys: Tensor, values: Tensor, seen: Tensor | None = None) -> Tensor:
    """Attention of queries [..., A, n, D] over [..., G, m, D], where A / G heads share one; seen [n, m]. Zeros where a
    query sees nothing."""
    groups = keys.shape[-3]
    shared, n = queries.shape[-3] // groups, queries.shape[-2]
    # heads that share keys become rows of one: [..., A, n, D] → [..., G, A / G · n, D]
    rows = queries.unflatten(-3, (groups, shared)).flatten(-3, -2)
    if seen is None:
        attended = functional.scaled_dot_product_attention(rows, keys, values)
    else:
        some = seen.any(-1)  # [n]; a query that sees nothing sees all, against NaN, and is nulled behind
        mask = (seen | ~some[:, None]).repeat(shared, 1)  # [A / G · n, m]
        attended = functional.scaled_dot_product_attention(rows, keys, values, mask)
        attended = attended * some.repeat(shared)[:, None]
    apart: Tensor = attended.unflatten(-2, (shared, n)).flatten(-4, -3)
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
        self.own = place <= place[:, None]  # row: who asks, column: who is seen
        """[T, T]"""
        if text_tokens is not None:
            self.own &= place >= (self.root - text_tokens)[:, None]


def by_blocks(length: int, block: int, phase: int, device: torch.device) -> Tensor:
    """Gaps [T] of texts cut into blocks: 1 … block and over again, `phase` tokens into it at first."""
    return (torch.arange(length, device=device) + phase) % block + 1


class CrossTrunk(DrafterModule[CrossKVShape]):
    """A subclass is registered."""

    reads_rows: ClassVar[bool] = True

    def __init__(self, target: TargetParts, options: CrossKVShape) -> None:
        super().__init__(target, options)
        hidden = target.head.shape[1]
        count = max(1, len(options.depths(self.target.layers)))
        self.layers = nn.ModuleList(CrossLayer(hidden, options, target.row) for _ in range(count))
        self.enter = nn.Linear(hidden, hidden, bias=False)
        spread = float(target.embedding.float().std())
        self.scale = 1.0 / spread if spread > 0 else 1.0
        self._lean: LeanCross | None = None

    @classmethod
    def folder_name(cls, options: Options) -> str:
        assert isinstance(options, CrossKVShape), "these are options of another module."
        return cls.name if options.preset == LONGSPEC else f"{cls.name}_{options.preset}"

    def stack(self) -> list[CrossLayer]:
        """Its layers, first to last."""
        return [layer for layer in self.layers if isinstance(layer, CrossLayer)]

    def depths(self) -> Sequence[int]:
        return self.options.depths(self.target.layers)

    def positions(self, length: int) -> Tensor | None:
        """Anchor-offset positions: the first tokens stay, the others move on together, up to the end of the context."""
        if not (self.options.moves_text and self.training):
            return None
        most = max(0, self.target.context_length - length)
        anchors, offset = int(torch.randint(0, ANCHORS + 1, ())), int(torch.randint(0, most + 1, ()))
        index = torch.arange(length)
        return torch.where(index < anchors, index, index + offset)

    @torch.no_grad()
    def begin(self, batch: FeatureBatch) -> None:
        """Tokens enter as the least squares of the target's state there, to which the layers add little at first."""
        self.enter.weight.copy_(least_squares(self._scaled(batch.tokens).flatten(0, 1), batch.final.flatten(0, 1)))
        for layer in self.stack():
            layer.out.weight.mul_(QUIET)
            layer.down.weight.mul_(QUIET)
            if layer.across is not None:
                layer.across_out.weight.mul_(QUIET)

    def _scaled(self, tokens: Tensor) -> Tensor:
        return functional.embedding(tokens, self.embedding) * self.scale

    def embedded(self, tokens: Tensor) -> Tensor:
        """What the layers read of tokens [...]; [..., H]."""
        found: Tensor = self.enter(self._scaled(tokens))
        return found

    def weights_read(self) -> int:
        """Its layers and the target's head, less what projects the target's states, which is done once a round; what a
        token enters as is looked up."""
        return bytes_of(self.layers, self.head) - bytes_of(*self.projections())

    def projections(self) -> list[nn.Module]:
        """What the target's states go through, where they do."""
        return [one for layer in self.stack() if layer.project is not None for one in (layer.state_norm, layer.project)]

    def read(self, states: Tensor) -> Tensor:
        """Logits [..., V] of the last layer's states [..., H], which stand for the target's behind its norm."""
        return functional.linear(states, self.head)

    def states(self, batch: FeatureBatch, masks: Masks) -> Tensor:
        """The last layer's [B, T, H] at all tokens of the texts, each as a draft with this root would reach it; where
        the batch holds the ends of texts alone, `masks` knows how many of the target's rows stand before them."""
        rows = batch.rows
        assert rows is not None, "the target's rows are missing in this batch."
        positions, x = rows.positions[-batch.tokens.shape[1] :], self.embedded(batch.tokens)  # [T], [B, T, H]

        def across(queries: Tensor) -> Tensor:
            return look(rows.turned(queries, positions), rows.keys, rows.values, masks.target)

        turns = self.stack()[0].turns(positions)
        for number, layer in enumerate(self.stack()):
            x = layer(x, turns, self._own(layer, number, batch, turns, masks), across)
        return x

    def _own(self, layer: CrossLayer, number: int, batch: FeatureBatch, turns: Turns, masks: Masks) -> Own:
        """Attention of a layer to its own rows, and by the same softmax to projected states where it reads those."""
        if not self.options.projects:
            return lambda queries, keys, values: look(queries, keys, values, masks.own)
        kept, held = layer.state_rows(batch.features[:, :, number], turns)  # [B, A, T, D] each, of states [B, T, H]
        seen = torch.cat([masks.target, masks.own], 1)  # [T, 2·T]: the target's rows, then its own
        return lambda queries, keys, values: look(
            queries, torch.cat([kept, keys], -2), torch.cat([held, values], -2), seen
        )

    def loss(self, batch: FeatureBatch) -> dict[str, Tensor]:
        """The distance of the target to it wherever the target has read something, and its cross entropy to the text;
        the target's last rows are left out as `noisy` and the preset say."""
        length, device = batch.tokens.shape[1], batch.tokens.device
        masks = Masks(self._gaps(length, device), self.options.text_tokens)
        places = (masks.root >= 1).nonzero()[:, 0]  # [n] of the T tokens
        logits = self.read(self.states(batch, masks)[:, places])  # [B, n, H] → [B, n, V]
        known = batch.target_logits(self.head)[:, places].log_softmax(-1)  # [B, n, V]
        terms = {"token": batch.distance(logits, known)}
        if self.options.share_of_text:
            # [B · (n - 1), V] against the tokens [B · (n - 1)] that follow
            said, follows = logits[:, :-1].flatten(0, 1).float(), batch.tokens[:, places[:-1] + 1].flatten()
            terms["text"] = self.options.share_of_text * functional.cross_entropy(said, follows)
        return terms

    def _gaps(self, length: int, device: torch.device) -> Tensor:
        """Flash-noisy training leaves out as many rows for all of a text; the block mask of the other two goes by where
        in a block a token stands."""
        if not self.options.noisy:
            return torch.ones(length, dtype=torch.int64, device=device)
        drawn = int(torch.randint(0, self.options.block, ()))
        if self.options.preset == LONGSPEC:
            return torch.full((length,), 1 + drawn, device=device)
        return by_blocks(length, self.options.block, drawn, device)

    def drafts(self, batch: FeatureBatch, most: int) -> list[Tensor]:
        """Of drafts begun at every place: with blocks of `most` tokens, cut at each of their places in turn. Of a text
        whose end alone the batch holds (longspec; see `TargetRows`), those are right whose window lies within it."""
        texts, length = batch.tokens.shape
        before = 0 if batch.rows is None else batch.rows.keys.shape[2] - length
        assert before == 0 or self.options.preset == LONGSPEC, "own rows of the whole text are needed."
        most = min(most, length - 1)
        found = [batch.final.new_empty(texts, length - 1 - k, self.head.shape[0]) for k in range(most)]
        place = torch.arange(length, device=batch.tokens.device)
        for phase in range(most):
            gaps = by_blocks(length, most, phase, batch.tokens.device)  # [T]
            logits = self.read(self.states(batch, Masks(gaps, self.options.text_tokens, before)))  # [B, T, V]
            for k in range(most):
                here = place[(gaps == k + 1) & (place > k)]  # [n]: tokens whose root is k back
                found[k][:, here - 1 - k] = logits[:, here].to(found[k].dtype)
        return found

    def lean(self) -> LeanCross:
        """As it runs, with the weights it has now; made once."""
        if self._lean is None:
            self._lean = LeanCross(self)
        return self._lean


class LeanCross:
    """The network as it runs: the fastest products for few rows, and what enters for a token looked up."""

    @torch.inference_mode()
    def __init__(self, trunk: CrossTrunk) -> None:
        self._head = Projection(trunk.head)
        self.layers = as_they_run(trunk.stack(), self._head)
        self._entering = trunk.embedded(torch.arange(len(trunk.embedding), device=trunk.embedding.device))

    def embedded(self, tokens: Tensor) -> Tensor:
        """What the layers read of tokens [n]; [n, H]."""
        return functional.embedding(tokens, self._entering)

    def read(self, states: Tensor) -> Tensor:
        """Logits [n, V] of the last layer's states [n, H]."""
        return self._head(states)
