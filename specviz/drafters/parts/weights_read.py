"""How many bytes of weights a pass of a drafter reads, for MBSU: papers that compare small drafters count nothing else.

A table of which a pass looks up a few rows is not read; a matrix that all rows of a pass go through is read once.
Registers nothing.
"""

from __future__ import annotations

from torch import Tensor, nn

from specviz.lm.base import Blocks, LanguageModel, SplitModel
from specviz.trace.weights import bytes_per_pass


def bytes_of(*weights: Tensor | nn.Module | None) -> int:
    """Of tensors, and of the parameters of modules; None counts nothing."""
    tensors: list[Tensor] = []
    for one in weights:
        if isinstance(one, nn.Module):
            tensors += one.parameters()
        elif one is not None:
            tensors.append(one)
    return sum(one.numel() * one.element_size() for one in tensors)


def by_model(model: LanguageModel) -> int | None:
    """By a whole pass of a language model; None where nobody counted its weights."""
    return bytes_per_pass(model.info) or None


def by_blocks(target: SplitModel, blocks: Blocks) -> int | None:
    """By a pass that runs these blocks alone and reads out through the model's own norm and head; None where nobody
    counted its weights."""
    layers = frozenset(range(target.info.layers))
    missed = Blocks(layers - blocks.attention, layers - blocks.mlp)
    whole, left_out = by_model(target), target.block_bytes(missed)
    return None if whole is None or left_out is None else whole - left_out
