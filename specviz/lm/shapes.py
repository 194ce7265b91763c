"""Sizes of models one would like to time without having them, and whether a machine has room for such a model.

Layer counts, widths and vocabulary are those of Qwen2.5 (2412.15115, table 1, and its published configurations), laid
out as a plain Llama without biases: time depends on sizes, hardly on weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path

import psutil
import torch

from specviz.errors import ModelError, OptionError
from specviz.lm.llama_config import LlamaShape

CONTEXT = 32_768
RESERVE = 0.9
"""share of the free memory that may be used: the libraries need some too"""
GB = 1e9


def _shape(
    layers: int, hidden_size: int, heads: int, kv_heads: int, ffn_size: int, vocab: int, tied: bool
) -> LlamaShape:
    size = hidden_size // heads
    return LlamaShape(layers, hidden_size, heads, kv_heads, size, vocab, CONTEXT, 1e-6, 1e6, tied, ffn_size)


SHAPES: Mapping[str, LlamaShape] = {
    "0.5b": _shape(24, 896, 14, 2, 4864, 151_936, tied=True),
    "1.5b": _shape(28, 1536, 12, 2, 8960, 151_936, tied=True),
    "7b": _shape(28, 3584, 28, 4, 18_944, 152_064, tied=False),
    "14b": _shape(48, 5120, 40, 8, 13_824, 152_064, tied=False),
    "32b": _shape(64, 5120, 40, 8, 27_648, 152_064, tied=False),
}
"""by the number of parameters"""


def shape_named(name: str) -> LlamaShape:
    """Raises OptionError for a name there is not."""
    if name.lower() not in SHAPES:
        raise OptionError(f"there is no shape '{name}'; choose one of {', '.join(SHAPES)}.")
    return SHAPES[name.lower()]


def parameters(shape: LlamaShape) -> int:
    """All of them, embedding included."""
    return sum(map(prod, shape.weight_sizes().values()))


def read_parameters(shape: LlamaShape) -> int:
    """What a pass reads whatever its width: an embedding that is no head too gives only the rows of its tokens."""
    return parameters(shape) - (0 if shape.tied else shape.vocab_size * shape.hidden_size)


def pass_bytes(shape: LlamaShape, number_bytes: int, batch: int, context: int, n: int) -> int:
    """What the largest pass holds beside the weights: cached keys and values, and its widest intermediate results."""
    cached = 2 * shape.layers * shape.kv_heads * shape.head_size * batch * (context + n)
    passing = batch * n * (shape.vocab_size + 3 * shape.ffn_size + 4 * shape.hidden_size)
    return number_bytes * (cached + passing)


def check_room(what: str, weight_bytes: int, passing_bytes: int, device: torch.device) -> None:
    """Raises ModelError where weights and the largest pass do not fit into the device's free memory."""
    free = free_bytes(device)
    if weight_bytes + passing_bytes > RESERVE * free:
        raise ModelError(
            f"{what} needs {weight_bytes / GB:.1f} GB for weights and {passing_bytes / GB:.1f} GB for the largest "
            f"pass, but {device} has {free / GB:.1f} GB free; "
            "choose a smaller shape, batch or context, or a shorter dtype."
        )


def free_bytes(device: torch.device) -> int:
    """Memory that can still be taken."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    if device.type == "mps":
        return int(torch.mps.recommended_max_memory() - torch.mps.current_allocated_memory())
    left, available = _container(), psutil.virtual_memory().available
    return available if left is None else min(left, available)


def _container(folder: Path = Path("/sys/fs/cgroup")) -> int | None:
    """What a container's limit leaves; None where there is no limit."""
    try:
        limit, used = ((folder / name).read_text(encoding="ascii").strip() for name in ("memory.max", "memory.current"))
    except OSError:
        return None
    return int(limit) - int(used) if limit.isdigit() else None
