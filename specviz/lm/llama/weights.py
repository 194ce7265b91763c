"""From a checkpoint's tensors to the layers of the lean forward: what reads the same input is one projection, and what
a pass over a few rows multiplies stays as it is stored and lies on large pages (`lm/pages`).

Place in the flow: `LlamaModel` is made of these; nothing here runs a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from specviz.core.compiled import library
from specviz.lm.base import ModelInfo
from specviz.lm.checkpoint import StoredTensors
from specviz.lm.kernels import ONE_COPY_BYTES, Projection
from specviz.lm.llama.few_rows import SOURCE
from specviz.lm.llama.rows import Layer, Norm
from specviz.lm.llama.shape import LlamaShape
from specviz.lm.pages import LargePages
from specviz.lm.products import Short
from specviz.lm.rotary import paired

EMBEDDING = "model.embed_tokens.weight"


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
