"""Passes of heads' networks, each by one compiled call: all heads at once, a level of a tree, a chain with its draws.

    heads' weights ─► structs of pointers ─► `head_passes.c` ─► logits, and the tokens of a chain

Reading the weights is what a draft costs then: between products by torch, a small network waits for calls. A chain is
taken token by token by the code that draws one by steps. Used on the CPU, by one thread, where a compiler is at
hand; the modules do the same without it. What leaves it is float32.

Shapes: n rows, H hidden size, V vocabulary, V' tokens that are read out.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from specviz.core.compiled import library
from specviz.core.draws import Chooser
from specviz.drafters.learned.head_networks import HeadsShapeT, ParallelHeads, ResidualBlock
from specviz.lm.base import Chain
from specviz.lm.products import FORMATS, Matrix, matrix, most_rows, pointer, shortened, whole

SOURCE = Path(__file__).with_name("head_passes.c")
Weights = tuple[Tensor, Tensor | None]
"""of one product: [out, in], and its bias [out] or None"""


class _Heads(ctypes.Structure):
    _fields_ = (
        *((name, pointer) for name in ("blocks", "last", "read_out", "table", "ones")),
        *((name, whole) for name in ("half_table", "heads", "layers", "hidden", "parts")),
        ("eps", ctypes.c_float),
    )


def inner_weights(head: nn.Sequential) -> list[Weights]:
    """Of a head's residual blocks, first to last."""
    inner = [block.linear for block in head if isinstance(block, ResidualBlock)]
    return [(each.weight.detach(), each.bias.detach()) for each in inner]


class HeadPasses:
    """The compiled passes over one module's heads, whose weights it keeps alive."""

    def __init__(
        self,
        compiled: ctypes.CDLL,
        blocks: Sequence[Sequence[Weights]],
        last: Sequence[Weights],
        read_out: Tensor | None,
        table: Tensor,
    ) -> None:
        self._compiled = compiled
        self._held: list[Tensor] = []
        """what the structs point into"""
        matrices = [self._matrices(part) for part in ([each for head in blocks for each in head], last)]
        matrices.append(self._matrices([] if read_out is None else [(read_out, None)]))
        self._structs = matrices
        hidden, half = table.shape[1], table.dtype == torch.bfloat16
        self._held += [table.contiguous(), torch.ones(hidden)]
        self._heads = _Heads(
            *(ctypes.cast(each, pointer) if len(each) else None for each in matrices),
            self._held[-2].data_ptr(),
            self._held[-1].data_ptr(),
            *(half, len(blocks), len(blocks[0]), hidden, 2 if half else 3),
            torch.finfo(table.dtype).eps,
        )
        self._at = ctypes.byref(self._heads)
        self._vocab = matrices[-1][0].outs if len(matrices[-1]) else matrices[1][0].outs
        self._most = most_rows(compiled, all(each.half for part in matrices for each in part))

    @classmethod
    def of(
        cls,
        blocks: Sequence[Sequence[Weights]],
        last: Sequence[Weights],
        read_out: Tensor | None,
        table: Tensor,
    ) -> HeadPasses | None:
        """Of each head its blocks, as `head_passes.c` has them, and what stands behind them, if anything; `read_out`
        [V', H] where that does not read out itself; embeddings [V, H]. None where the weights are not on the CPU, in
        another format, or there is no compiler."""
        if table.device.type != "cpu" or table.dtype not in FORMATS:
            return None
        compiled = library(SOURCE)
        return None if compiled is None else cls(compiled, blocks, last, read_out, table)

    @classmethod
    def of_parallel(cls, module: ParallelHeads[HeadsShapeT]) -> HeadPasses | None:
        """Of Medusa's heads."""
        blocks, last = list[list[Weights]](), list[Weights]()
        for head in module.heads:
            assert isinstance(head, nn.Sequential), "a head is its blocks and a last product."
            blocks.append(inner_weights(head))
            last.append((head.get_submodule(str(len(head) - 1)).get_parameter("weight").detach(), None))
        return cls.of(blocks, last, None if module.options.own_head else module.read_head(), module.embedding)

    def takes(self, n: int) -> bool:
        """Whether a pass over so many rows is one for it."""
        return n <= self._most

    def say_all(self, state: Tensor) -> Tensor:
        """Of a state [H] what all heads say [heads, V']."""
        logits = torch.empty(self._heads.heads, self._vocab)
        state = state.float().contiguous()
        _check(self._compiled.say_all(self._at, pointer(state.data_ptr()), pointer(logits.data_ptr())))
        return logits

    def say_behind(self, head: int, state: Tensor, tokens: Sequence[Sequence[int]]) -> Tensor:
        """What a head says [n, V'] behind each of these rows of head + 1 tokens."""
        n, flat = len(tokens), [token for row in tokens for token in row]
        logits, state = torch.empty(n, self._vocab), state.float().contiguous()
        failed = self._compiled.say_behind(
            self._at,
            whole(head),
            pointer(state.data_ptr()),
            (whole * len(flat))(*flat),
            whole(n),
            pointer(logits.data_ptr()),
        )
        _check(failed)
        return logits

    def say_chain(self, state: Tensor, root: int, chooser: Chooser) -> Chain:
        """Head after head, each behind the root and the tokens that `chooser` took of those before it."""
        steps, state = chooser.steps, state.float().contiguous()
        logits, chosen, seconds = torch.empty(steps, self._vocab), (whole * steps)(), (ctypes.c_double * steps)()
        failed = self._compiled.say_chain(
            self._at,
            pointer(state.data_ptr()),
            whole(root),
            whole(steps),
            chooser.function,
            chooser.how(self._vocab),
            pointer(logits.data_ptr()),
            chosen,
            seconds,
        )
        _check(failed)
        return Chain(list(chosen), logits, list(seconds))

    def _matrices(self, weights: Sequence[Weights]) -> ctypes.Array[Matrix]:
        made = [matrix(weight, bias, shortened(weight), self._held) for weight, bias in weights]
        return (Matrix * len(made))(*made)


def _check(failed: int) -> None:
    if failed:
        raise MemoryError("no memory for a pass of a drafter's heads.")
