"""A pass of the lean forward over a few rows by one compiled call: what decoding and judging do all the time.

    weights as they lie ─► structs of pointers ─► `few_rows.c` ─► residual stream, cache, logits

As fast as memory gives the weights, in float32 and in bfloat16, and nearly the same time for 1 to 16 rows: a product by
torch costs more with every row, and between products a small model waits for calls. What leaves it is float32. A
float32 model whose checkpoint holds bfloat16 is read as it is stored: the same numbers from half the bytes. Used where
torch computes on one thread of the CPU and a compiler is at hand; the plain forward does the same without it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from specviz.lm.compiled import library

if TYPE_CHECKING:
    from specviz.lm.kernels import Projection
    from specviz.lm.llama.rows import Layer, Norm
    from specviz.lm.llama.shape import LlamaShape
    from specviz.lm.rows import Placement

SOURCE = Path(__file__).with_name("few_rows.c")
MOST_ROWS = 16
"""of such a pass; the file's scratch memory is made for as many"""
FORMATS = (torch.float32, torch.bfloat16)
ATTENTION, MLP = 1, 2
"""what is run of a layer: either, both (3) or neither (0)"""

_pointer, _whole = ctypes.c_void_p, ctypes.c_int64


class _Matrix(ctypes.Structure):
    _fields_ = (("weight", _pointer), ("bias", _pointer), ("outs", _whole), ("ins", _whole))


class _Layer(ctypes.Structure):
    _fields_ = (
        *((name, _Matrix) for name in ("qkv", "output", "gate_up", "down")),
        *((name, _pointer) for name in ("attention_norm", "ffn_norm")),
    )


class _Model(ctypes.Structure):
    _fields_ = (
        ("layers", _pointer),
        ("head", _Matrix),
        ("norm", _pointer),
        ("turns", _pointer),
        *((name, _whole) for name in ("count", "hidden", "heads", "groups", "size", "ffn", "half", "half_rows")),
        ("eps", ctypes.c_float),
    )


class _Cache(ctypes.Structure):
    _fields_ = (("rows", _pointer), ("layer", _whole), ("head", _whole), ("start", _whole))


class FewRows:
    """The compiled pass over one model's weights, which it keeps alive and does not copy."""

    def __init__(
        self,
        compiled: ctypes.CDLL,
        shape: LlamaShape,
        layers: Sequence[Layer],
        norm: Norm,
        head: Projection,
        turns: Tensor,
    ) -> None:
        self._compiled = compiled
        self._held: list[Tensor] = []
        """what the structs point into"""
        self.as_stored = all(projection.stored is not None for projection in (head, *_projections(layers)))
        """whether float32 numbers are multiplied by bfloat16 weights"""
        short = head.weight.dtype == torch.bfloat16
        self._layers = (_Layer * len(layers))(*map(self._layer, layers))
        self._model = _Model(
            layers=ctypes.cast(self._layers, _pointer),
            head=self._matrix(head),
            norm=self._factor(norm),
            turns=self._hold(turns),
            count=len(layers),
            hidden=shape.hidden_size,
            heads=shape.heads,
            groups=shape.kv_heads,
            size=shape.head_size,
            ffn=shape.ffn_size,
            half=short or self.as_stored,
            half_rows=short,
            eps=shape.norm_eps,
        )
        self._at = ctypes.byref(self._model)
        self._outs = len(head.weight)

    @classmethod
    def of(
        cls, shape: LlamaShape, layers: Sequence[Layer], norm: Norm, head: Projection, turns: Tensor
    ) -> FewRows | None:
        """None where the weights are not on the CPU, in another format, or there is no compiler. `turns` complex
        [context, 1, D / 2]."""
        if head.weight.device.type != "cpu" or head.weight.dtype not in FORMATS:
            return None
        compiled = library(SOURCE)
        return None if compiled is None else cls(compiled, shape, layers, norm, head, turns)

    def takes(self, n: int) -> bool:
        """Whether a pass over so many rows is one for it."""
        return n <= MOST_ROWS and torch.get_num_threads() == 1

    def reads(self, table: Tensor) -> bool:
        """Whether `forward` looks embeddings up in this table: as it is, none of its numbers need be rounded."""
        return table.dtype == torch.bfloat16 or (table.dtype == torch.float32 and not self._model.half_rows)

    def forward(self, table: Tensor, cached: Tensor, placement: Placement, last_only: bool) -> Tensor:
        """Logits [n, V], or [1, V] of the last row: embeddings from `table` [V, hidden], all blocks, norm and head."""
        n = len(placement.tokens)
        first = n - 1 if last_only else 0
        logits = torch.empty(n - first, self._outs)
        failed = self._compiled.forward(
            self._at,
            ctypes.byref(_cache(cached, placement)),
            (_whole * n)(*placement.tokens),
            _pointer(table.data_ptr()),
            _whole(table.dtype == torch.bfloat16),
            _whole(n),
            *_stand(placement),
            _whole(first),
            _pointer(logits.data_ptr()),
        )
        _check(failed, n)
        return logits

    def run(self, x: Tensor, chosen: bytes, cached: Tensor, placement: Placement) -> Tensor:
        """The residual stream [n, hidden] after the blocks that `chosen` names, one byte for each layer; their keys and
        values are then in `cached` [layers, 2 * G, rows, D]."""
        x = x.to(torch.float32, copy=True).contiguous()
        rows, at = ctypes.byref(_cache(cached, placement)), _pointer(x.data_ptr())
        failed = self._compiled.run_blocks(self._at, rows, chosen, at, _whole(len(x)), *_stand(placement))
        _check(failed, len(x))
        return x

    def read_out(self, x: Tensor) -> Tensor:
        """Final norm and head: x [n, hidden] → logits float32 [n, V]."""
        x = x.to(torch.float32).contiguous()
        logits = x.new_empty(len(x), self._outs)
        failed = self._compiled.read_out(self._at, _pointer(x.data_ptr()), _whole(len(x)), _pointer(logits.data_ptr()))
        _check(failed, len(x))
        return logits

    def _layer(self, layer: Layer) -> _Layer:
        return _Layer(
            *map(self._matrix, (layer.qkv, layer.output, layer.gate_up, layer.down)),
            self._factor(layer.attention_norm),
            self._factor(layer.ffn_norm),
        )

    def _matrix(self, projection: Projection) -> _Matrix:
        weight, bias = projection.stored if self.as_stored else projection.weight, projection.bias
        assert weight is not None, "all are read as they are stored, or none."
        return _Matrix(self._hold(weight), None if bias is None else self._hold(bias.float()), *weight.shape)

    def _factor(self, norm: Norm) -> int | None:
        return None if norm.absorbed and not self.as_stored else self._hold(norm.weight.float())

    def _hold(self, tensor: Tensor) -> int:
        self._held.append(tensor.contiguous())
        return self._held[-1].data_ptr()


def _projections(layers: Sequence[Layer]) -> Iterator[Projection]:
    for layer in layers:
        yield from (layer.qkv, layer.output, layer.gate_up, layer.down)


def _cache(cached: Tensor, placement: Placement) -> _Cache:
    return _Cache(cached.data_ptr(), cached.stride(0), cached.stride(1), placement.start)


def _stand(placement: Placement) -> tuple[ctypes.Array[ctypes.c_int64] | None, ctypes.c_void_p]:
    """Positions and what each row sees; None for a chain, which needs neither."""
    visible = placement.visible
    if visible is None:
        return None, _pointer(None)
    positions = placement.positions
    return (_whole * len(positions))(*positions), _pointer(visible.ctypes.data)


def _check(failed: int, n: int) -> None:
    if failed:
        raise MemoryError(f"no memory for a pass over {n} rows.")
