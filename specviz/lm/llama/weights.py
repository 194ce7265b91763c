"""From a checkpoint's tensors to the layers of the lean forward: what reads the same input is one projection, and what
a pass over a few rows multiplies stays as it is stored and lies on large pages.

Such a pass waits for memory, and processors lose their stride at the end of a page: from pages of 2 MB a Zen 4 reads 31
GB a second, from those of 4 KB 18 to 26. Asked for before anything lies there, they take no longer to get.

Place in the flow: `LlamaModel` is made of these; nothing here runs a pass.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import torch
from torch import Tensor

from specviz.core.compiled import library
from specviz.lm.base import ModelInfo
from specviz.lm.checkpoint import StoredTensors
from specviz.lm.kernels import ONE_COPY_BYTES, Projection
from specviz.lm.llama.few_rows import SOURCE
from specviz.lm.llama.rows import Layer, Norm
from specviz.lm.llama.shape import LlamaShape
from specviz.lm.products import Short
from specviz.lm.rotary import paired

EMBEDDING = "model.embed_tokens.weight"
LARGE_PAGE = 2 << 20
ROOM = 64 << 20
"""bytes taken at a time; where nobody has written, no memory is needed"""
LINE = 64
"""bytes that a processor's cache reads together"""


class LargePages:
    """Memory for weights that a compiled pass reads, one after the other; it goes when the last of them does."""

    def __init__(self) -> None:
        self._room = mmap.mmap(-1, mmap.PAGESIZE)
        self._next = self._end = 0
        """between which of its bytes there is nothing yet"""

    @torch.no_grad()
    def joined(self, parts: Sequence[Tensor]) -> Tensor:
        """Tensors [some, in], one below the other. What no compiled pass reads lies where torch puts it, and everything
        where the system has no large pages to ask for."""
        first, rows = parts[0], sum(map(len, parts))
        if first.device.type != "cpu" or library(SOURCE) is None or not hasattr(mmap, "MADV_HUGEPAGE"):
            return first if len(parts) == 1 else torch.cat(list(parts))
        count = rows * first.shape[1]
        size = count * first.element_size()
        if self._next + size > self._end:
            self._take(max(size, ROOM) + LARGE_PAGE)
        here = torch.frombuffer(self._room, dtype=first.dtype, count=count, offset=self._next).view(rows, -1)
        self._next += -(-size // LINE) * LINE
        return torch.cat(list(parts), out=here)

    def _take(self, size: int) -> None:
        """From the system, not from the C library, which hands out small pages that somebody has given back."""
        self._room = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with suppress(OSError):  # a system built without them
            self._room.madvise(mmap.MADV_HUGEPAGE)
        start = torch.frombuffer(self._room, dtype=torch.uint8, count=1).data_ptr()
        self._next, self._end = -start % LARGE_PAGE, size


def for_lookup(weights: Mapping[str, Tensor]) -> Tensor:
    """The embedding, of which a pass reads a few rows: on a CPU as it is stored, so that only those take memory."""
    if isinstance(weights, StoredTensors) and weights.device.type == "cpu":
        return weights.as_stored(EMBEDDING)
    return weights[EMBEDDING]


def as_stored(weights: Mapping[str, Tensor], info: ModelInfo) -> Callable[[str], Tensor | None]:
    """A tensor's name → the tensor in bfloat16, where the checkpoint holds it so, float32 is asked for, and a few rows
    are to be multiplied by what is stored: a second copy, half as large, of a model that is not large."""
    if (
        not isinstance(weights, StoredTensors)
        or (weights.dtype, weights.device.type) != (torch.float32, "cpu")
        or info.parameters * 4 > ONE_COPY_BYTES
        or library(SOURCE) is None
    ):
        return lambda name: None

    def stored(name: str) -> Tensor | None:
        tensor = weights.as_stored(name)
        return tensor if tensor.dtype == torch.bfloat16 else None

    return stored


def layer(
    weights: Mapping[str, Tensor],
    prefix: str,
    shape: LlamaShape,
    short_of: Callable[[str], Tensor | None],
    pages: LargePages,
) -> Layer:
    """Fuse projections that read the same input; query and key rows are put in rotary pair order."""

    def fused(norm: Norm | None, *names: str) -> Projection:
        def turned(name: str, rows: Tensor) -> Tensor:
            return paired(rows, shape.head_size) if name.endswith(("q_proj", "k_proj")) else rows

        biases = [turned(name, weights[key]) for name in names if (key := f"{prefix}{name}.bias") in weights]
        keys = {name: f"{prefix}{name}.weight" for name in names}
        stored = [turned(name, tensor) for name, key in keys.items() if (tensor := short_of(key)) is not None]
        short: Short | None = None
        if len(stored) == len(names):
            short = Short(pages.joined(stored))
            weight = short.weight.to(torch.float32)
        else:
            weight = pages.joined([turned(name, weights[key]) for name, key in keys.items()])
        if norm and norm.absorbed:
            weight *= norm.factor
        return Projection(weight, torch.cat(biases) if biases else None, short)

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
