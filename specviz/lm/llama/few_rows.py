"""A pass of the lean forward over a few rows by one compiled call: what decoding and judging do all the time.

    weights as they lie ─► structs of pointers ─► `few_rows.c` ─► residual stream, cache, logits

As fast as memory gives the weights, in float32 and in bfloat16, and nearly the same time for 1 to 16 rows: a product by
torch costs more with every row, and between products a small model waits for calls. What leaves it is float32. Used
where torch computes on one thread of the CPU and a compiler is at hand; the plain forward does the same without it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
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
        *((name, _whole) for name in ("count", "hidden", "heads", "groups", "size", "ffn", "half")),
        ("eps", ctypes.c_float),
    )


class _Cache(ctypes.Structure):
    _fields_ = (("rows", _pointer), ("layer", _whole), ("head", _whole), ("start", _whole))


class FewRows:
    """The compiled pass over one model's weights, which it keeps alive and does not copy."""

    def __init__(
        self, compiled: ctypes.CDLL, shape: LlamaShape, layers: Sequence[Layer], norm: Norm, head: Projection
    ) -> None:
        self._compiled = compiled
        self._held: list[Tensor] = []
        """what the structs point into"""
        self._layers = (_Layer * len(layers))(*map(self._layer, layers))
        self._model = _Model(
            layers=ctypes.cast(self._layers, _pointer),
            head=self._matrix(head),
            norm=self._factor(norm),
            count=len(layers),
            hidden=shape.hidden_size,
            heads=shape.heads,
            groups=shape.kv_heads,
            size=shape.head_size,
            ffn=shape.ffn_size,
            half=head.weight.dtype == torch.bfloat16,
            eps=shape.norm_eps,
        )
        self._outs = len(head.weight)

    @classmethod
    def of(cls, shape: LlamaShape, layers: Sequence[Layer], norm: Norm, head: Projection) -> FewRows | None:
        """None where the weights are not on the CPU, in another format, or there is no compiler."""
        if head.weight.device.type != "cpu" or head.weight.dtype not in FORMATS:
            return None
        compiled = library(SOURCE)
        return None if compiled is None else cls(compiled, shape, layers, norm, head)

    def takes(self, n: int) -> bool:
        """Whether a pass over so many rows is one for it."""
        return n <= MOST_ROWS and torch.get_num_threads() == 1

    def run(self, x: Tensor, chosen: bytes, cached: Tensor, placement: Placement, turns: Tensor) -> Tensor:
        """The residual stream [n, hidden] after the blocks that `chosen` names, one byte for each layer; their keys and
        values are then in `cached` [layers, 2 * G, rows, D]. `turns` complex [n, 1, D / 2]."""
        x = x.to(torch.float32, copy=True).contiguous()
        rows = _Cache(cached.data_ptr(), cached.stride(0), cached.stride(1), placement.start)
        seen = None if placement.visible is None else placement.visible.ctypes.data
        failed = self._compiled.run_blocks(
            ctypes.byref(self._model),
            ctypes.byref(rows),
            chosen,
            _pointer(x.data_ptr()),
            _whole(len(x)),
            _pointer(turns.data_ptr()),
            _pointer(seen),
        )
        if failed:
            raise MemoryError(f"no memory for a pass over {len(x)} rows.")
        return x

    def read_out(self, x: Tensor) -> Tensor:
        """Final norm and head: x [n, hidden] → logits float32 [n, V]."""
        x = x.to(torch.float32).contiguous()
        logits = x.new_empty(len(x), self._outs)
        failed = self._compiled.read_out(
            ctypes.byref(self._model), _pointer(x.data_ptr()), _whole(len(x)), _pointer(logits.data_ptr())
        )
        if failed:
            raise MemoryError(f"no memory for a pass over {len(x)} rows.")
        return logits

    def _layer(self, layer: Layer) -> _Layer:
        return _Layer(
            *map(self._matrix, (layer.qkv, layer.output, layer.gate_up, layer.down)),
            self._factor(layer.attention_norm),
            self._factor(layer.ffn_norm),
        )

    def _matrix(self, projection: Projection) -> _Matrix:
        weight, bias = projection.weight, projection.bias
        return _Matrix(self._hold(weight), None if bias is None else self._hold(bias.float()), *weight.shape)

    def _factor(self, norm: Norm) -> int | None:
        return None if norm.absorbed else self._hold(norm.weight.float())

    def _hold(self, tensor: Tensor) -> int:
        self._held.append(tensor.contiguous())
        return self._held[-1].data_ptr()
