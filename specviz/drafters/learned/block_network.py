"""The network of `masked_block`: masked slots behind the text, which see each other and the target's last states.

    target's last states ─ context ─► keys and values ─┐
    root + [mask] … [mask] ─────────────────────────────┴► layers ─► a state for every slot

    BlockNetwork (torch module, many blocks at once) ─► BlockPass: one block, by one compiled call

That call (`block_network.c`) is used on the CPU, by one thread, where a compiler is at hand; otherwise
the network does the same on the same rows of the text, which are worked out once. What leaves it is float32.

Shapes: N blocks, n tokens, L tokens of the text that are kept, W of them seen at most, S slots, Q = 1 + S rows (the
root's and the slots'), H hidden size of the target, A attention heads of D = H / A, V vocabulary.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from math import gcd
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from specviz.core.compiled import library
from specviz.drafters.learned.module import drawn
from specviz.lm.products import FORMATS, Linear, Matrix, linear, matrix, most_rows, pointer, shortened, whole

SOURCE = Path(__file__).with_name("block_network.c")
ROOM = 4
"""windows of the text that there is room for; when it is full, the last one moves to the front"""
MATRICES = ("qkv", "states", "output", "gate_up", "down")


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
        self.qkv = Linear(size, 3 * size, bias=False)
        self.states = Linear(size, 2 * size, bias=False)
        self.output = Linear(size, size, bias=False)
        self.gate_up = Linear(size, 2 * WIDER * size, bias=False)
        self.down = Linear(WIDER * size, size, bias=False)
        self.places = nn.Parameter(torch.zeros(self.attention_heads, rows, window + rows))
        """added to scores: how far a row is from what it looks at"""

    def context(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values [..., A, D] of states [..., H]."""
        keys, values = self.states(states).unflatten(-1, (2 * self.attention_heads, -1)).chunk(2, -2)
        return keys, values

    def forward(self, rows: Tensor, keys: Tensor, values: Tensor, absent: Tensor) -> Tensor:
        """rows [N, Q, H] → the same; keys and values [N, W, A, D]; absent [N, W] where the text has not begun yet."""
        heads = self.attention_heads
        # each [N, Q, A, D]
        query, key, value = self.qkv(self.attention_norm(rows)).unflatten(-1, (3 * heads, -1)).chunk(3, -2)
        # context and block side by side: [N, A, W + Q, D]
        key, value = (torch.cat(pair, 1).transpose(1, 2) for pair in ((keys, key), (values, value)))
        unseen = functional.pad(absent, (0, rows.shape[1]))[:, None, None]  # [N, 1, 1, W + Q]: the block sees itself
        scores = self.places.masked_fill(unseen, float("-inf"))  # [A, Q, W + Q] → [N, A, Q, W + Q]
        found = functional.scaled_dot_product_attention(query.transpose(1, 2), key, value, scores)  # [N, A, Q, D]
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
        self.word = Linear(size, size, bias=False)
        self.masked = nn.Parameter(torch.zeros(size))
        self.position = nn.Parameter(drawn(1 + slots, size).mul_(0.02))
        self.states_norm, self.norm = nn.RMSNorm(size), nn.RMSNorm(size)
        self.layers = nn.ModuleList(BlockLayer(size, 1 + slots, window) for _ in range(layers))
        self.output, self.skip = Linear(size, size, bias=False), Linear(size, size, bias=False)
        nn.init.zeros_(self.output.weight)
        with torch.no_grad():
            self.skip.weight.zero_().fill_diagonal_(1.0)

    def stack(self) -> list[BlockLayer]:
        """Its layers, first to last."""
        return [layer for layer in self.layers if isinstance(layer, BlockLayer)]

    def context_weights(self) -> list[nn.Module]:
        """Which weights `context` goes through."""
        return [self.states_norm, *(layer.states for layer in self.stack())]

    def context(self, states: Tensor) -> Context:
        """What the layers look at of the target's states [..., T, H]: worked out once per token of a text."""
        states = self.states_norm(states)
        return [layer.context(states) for layer in self.stack()]

    def forward(self, context: Context, last: Tensor, absent: Tensor, words: Tensor, known: Tensor) -> Tensor:
        """States [N, S, H] of the slots. last [N, H]: the target's last state; words [N, Q, H]: embeddings of the root
        and of the slots; known [N, Q]: which of them count, the others are masked."""
        words = self.word(functional.rms_norm(words, words.shape[-1:]))
        rows = torch.where(known[..., None], words, self.masked) + self.position
        for layer, (keys, values) in zip(self.layers, context, strict=True):
            rows = layer(rows, keys, values, absent)
        found: Tensor = self.skip(last)[:, None] + self.output(self.norm(rows[:, 1:]))
        return found


class _LayerStruct(ctypes.Structure):
    _fields_ = (
        *((name, Matrix) for name in MATRICES),
        *((name, pointer) for name in ("attention_norm", "ffn_norm", "places")),
    )


class _Block(ctypes.Structure):
    _fields_ = (
        ("layers", pointer),
        *((name, Matrix) for name in ("word", "output", "skip", "head")),
        *((name, pointer) for name in ("masked", "position", "states_norm", "norm", "ones", "table")),
        *((name, whole) for name in ("half_table", "count", "hidden", "heads", "rows", "window", "parts")),
        ("eps", ctypes.c_float),
    )


class _Context(ctypes.Structure):
    _fields_ = (("rows", pointer), ("room", whole), ("length", whole))


class BlockText:
    """Keys beside values [layers, L, 2 · H] of the text's last tokens, float32."""

    def __init__(self, layers: int, window: int, hidden: int, device: torch.device) -> None:
        self.read = 0
        """tokens of the text whose states were read"""
        self.length = 0
        """rows that are kept of them"""
        self.window = window
        self.rows = torch.empty(layers, ROOM * window, 2 * hidden, device=device)

    def make_room(self, count: int) -> None:
        """For so many rows more, one window at most."""
        if self.length + count > self.rows.shape[1]:
            kept = min(self.length, self.window)
            self.rows[:, :kept] = self.rows[:, self.length - kept : self.length].clone()
            self.length = kept

    def seen(self) -> Tensor:
        """[layers, at most W, 2 · H]: what a block behind the text sees of it."""
        return self.rows[:, max(0, self.length - self.window) : self.length]


class BlockPass:
    """The network over the target's embedding and head, with the weights it has now."""

    def __init__(self, network: BlockNetwork, embedding: Tensor, head: Tensor) -> None:
        self._network, self._embedding, self._head = network, embedding, head
        self._held: list[Tensor] = []
        """what the structs point into"""
        fits = head.device.type == "cpu" and head.dtype in FORMATS
        self._compiled = library(SOURCE) if fits else None
        if self._compiled is not None:
            self._block = self._struct()
            self._most = most_rows(self._compiled, bool(self._block.head.half and self._block.word.half))

    def new_text(self) -> BlockText:
        """That nothing was read of yet."""
        network = self._network
        return BlockText(len(network.layers), network.window, self._head.shape[1], self._head.device)

    def read(self, states: Tensor, text: BlockText) -> None:
        """Lengthen the text by the target's last states [n, H] of its next tokens, one window at most."""
        count = len(states)
        text.make_room(count)
        if self._compiled is not None and count <= self._most:
            states = states.float().contiguous()
            context, at = _Context(text.rows.data_ptr(), text.rows.shape[1], text.length), pointer(states.data_ptr())
            _check(self._compiled.read_states(ctypes.byref(self._block), ctypes.byref(context), at, whole(count)))
        else:
            for i, pair in enumerate(self._network.context(states)):
                text.rows[i, text.length : text.length + count] = torch.cat(pair, -2).flatten(-2)
        text.length += count

    def fill(self, last: Tensor, text: BlockText, tokens: Sequence[int], known: Sequence[bool], used: int) -> Tensor:
        """Logits [used, V] of the first slots. last [H]: the target's last state; tokens [Q]: the root's, then the
        slots' where `known` [Q]."""
        if self._compiled is None or len(tokens) > self._most:
            return self._filled(last, text, tokens, known)[:used]
        last, logits = last.float().contiguous(), torch.empty(used, len(self._head))
        context = _Context(text.rows.data_ptr(), text.rows.shape[1], text.length)
        failed = self._compiled.fill(
            ctypes.byref(self._block),
            ctypes.byref(context),
            pointer(last.data_ptr()),
            (whole * len(tokens))(*tokens),
            bytes(known),
            whole(used),
            pointer(logits.data_ptr()),
        )
        _check(failed)
        return logits

    def _filled(self, last: Tensor, text: BlockText, tokens: Sequence[int], known: Sequence[bool]) -> Tensor:
        """[S, V], by the network itself."""
        network, device = self._network, self._head.device
        rows = text.seen().to(self._head.dtype)[:, None]  # [layers, 1, at most W, 2 · H]
        missing = network.window - rows.shape[2]  # places of the window before the text begins
        heads = 2 * network.stack()[0].attention_heads
        # [layers, 1, W, 2 · A, D]
        rows = functional.pad(rows, (0, 0, missing, 0)).unflatten(-1, (heads, -1))
        context = [(keys, values) for keys, values in (layer.chunk(2, -2) for layer in rows)]
        absent = torch.arange(network.window, device=device)[None] < missing  # [1, W]
        words = self._embedding[torch.tensor([tokens], device=device)]
        shown = torch.tensor([known], device=device)
        return linear(network(context, last[None], absent, words, shown), self._head)[0]

    def _struct(self) -> _Block:
        network, half = self._network, self._embedding.dtype == torch.bfloat16
        stack, hidden = network.stack(), self._head.shape[1]
        self._layers = (_LayerStruct * len(stack))(*map(self._layer, stack))
        return _Block(
            ctypes.cast(self._layers, pointer),
            *(self._matrix(each.weight) for each in (network.word, network.output, network.skip)),
            self._matrix(self._head),
            *map(self._numbers, (network.masked, network.position)),
            *(self._numbers(norm.weight) for norm in (network.states_norm, network.norm)),
            self._numbers(torch.ones(hidden)),
            self._hold(self._embedding),
            *(half, len(stack), hidden, stack[0].attention_heads, len(network.position), network.window),
            2 if half else 3,
            torch.finfo(self._head.dtype).eps,
        )

    def _layer(self, layer: BlockLayer) -> _LayerStruct:
        norms = layer.attention_norm, layer.ffn_norm
        return _LayerStruct(
            *(self._matrix(layer.get_submodule(name).get_parameter("weight")) for name in MATRICES),
            *(self._numbers(norm.weight) for norm in norms),
            self._numbers(layer.places),
        )

    def _matrix(self, weight: Tensor) -> Matrix:
        weight = weight.detach()
        return matrix(weight, None, shortened(weight), self._held)

    def _numbers(self, tensor: Tensor) -> int:
        return self._hold(tensor.detach().float())

    def _hold(self, tensor: Tensor) -> int:
        self._held.append(tensor.contiguous())
        return self._held[-1].data_ptr()


def _check(failed: int) -> None:
    if failed:
        raise MemoryError("no memory for a pass of a masked block.")
