"""Runs a transformers model less some of its layers, or halves of layers, through its own loop over them.

Every architecture prepares positions, masks and the head in its own way. So the model's own forward is run each time,
and a switch before each layer decides whether the layer runs, hands its input on, or hands on states computed before. A
switch before each layer's attention and MLP lets them add nothing. Whether the result is right for an architecture is
measured on a few tokens (`error_when_split`), not presumed.

Shapes: n rows, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from specviz.lm.base import Blocks, SplitModel

ATTENTION_NAMES = ("self_attn", "attn", "attention", "self_attention")
MLP_NAMES = (("mlp",), ("feed_forward",), ("ffn",), ("block_sparse_moe",), ("fc1", "fc2"))
"""Names that architectures give to the two halves of a layer, checked by measuring what a layer without both does."""


@dataclass
class Plan:
    """What the model's next forward call runs."""

    blocks: Blocks
    states: Tensor | None = None
    """[n, hidden], in place of what would enter layer 0, which is then not among the blocks"""
    every_layer: bool = False
    """layers outside `blocks` are called too, less both their halves, instead of being passed by"""
    left: Tensor | None = None
    """[n, hidden], what left the last layer"""


PLAN: ContextVar[Plan | None] = ContextVar("plan", default=None)
"""Per thread: the same weights may serve several at once. None: everything runs."""


@contextmanager
def running(plan: Plan) -> Iterator[Plan]:
    """Forward calls inside follow the plan."""
    token = PLAN.set(plan)
    try:
        yield plan
    finally:
        PLAN.reset(token)


class Switch:
    """Stands before the forward of one module of the loaded model; without a plan it is not noticed."""

    def __init__(self, module: nn.Module, instead: Callable[[Plan, Tensor], Tensor | None]) -> None:
        """`instead` says what the module gives under a plan, or None where it is to run."""
        self._forward = module.forward
        self._instead = instead
        self._companions: int | None = None
        """how many further values the module returns beside its states; None: it returns a bare tensor"""
        module.forward = self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        plan = PLAN.get()
        if plan is not None:
            given = self._instead(plan, args[0] if args else kwargs["hidden_states"])
            if given is not None:
                return given if self._companions is None else (given, *[None] * self._companions)
        out = self._forward(*args, **kwargs)
        self._companions = len(out) - 1 if isinstance(out, tuple) else None
        return out


class HubLayers:
    """The switches of one loaded model."""

    def __init__(self, layers: Sequence[nn.Module]) -> None:
        self.halves = True
        """whether attention and MLP were found in every layer"""
        self._parts: list[tuple[list[nn.Module], list[nn.Module]]] = []
        """per layer its attention and its MLP"""
        self._whole = list(layers)
        for i, layer in enumerate(layers):
            Switch(layer, _layer(i))
            attention = [getattr(layer, name) for name in ATTENTION_NAMES if hasattr(layer, name)][:1]
            mlp = next((names for names in MLP_NAMES if all(hasattr(layer, name) for name in names)), ())
            for module in attention:
                Switch(module, _attention(i))
            for name in mlp:
                Switch(getattr(layer, name), _mlp(i))
            self._parts.append((attention, [getattr(layer, name) for name in mlp]))
            self.halves = self.halves and bool(attention) and bool(mlp)
        layers[-1].register_forward_hook(_remember)

    def block_bytes(self, blocks: Blocks) -> int | None:
        """See `SplitModel.block_bytes`: whole layers with all that is in them; None where halves of them were not
        found."""
        total = 0
        for i, (attention, mlp) in enumerate(self._parts):
            wanted = [*(attention if i in blocks.attention else []), *(mlp if i in blocks.mlp else [])]
            if i in blocks.attention and i in blocks.mlp:
                wanted = [self._whole[i]]
            elif wanted and not self.halves:
                return None
            total += sum(
                parameter.numel() * parameter.element_size() for module in wanted for parameter in module.parameters()
            )
        return total

    @classmethod
    def of(cls, model: Any, layers: int) -> HubLayers | None:
        """Puts switches into the model, or returns None where not exactly one list of so many modules stands in it."""
        found: dict[str, nn.ModuleList] = {}
        for name, module in model.base_model.named_modules():
            inside = any(name.startswith(f"{outer}.") for outer in found)
            if isinstance(module, nn.ModuleList) and len(module) == layers and not inside:
                found[name] = module
        return cls(list(next(iter(found.values())))) if len(found) == 1 else None


def _layer(i: int) -> Callable[[Plan, Tensor], Tensor | None]:
    def instead(plan: Plan, x: Tensor) -> Tensor | None:
        if plan.every_layer or i in plan.blocks.attention or i in plan.blocks.mlp:
            return None
        return x if i or plan.states is None else plan.states[None]

    return instead


def _attention(i: int) -> Callable[[Plan, Tensor], Tensor | None]:
    return lambda plan, x: None if i in plan.blocks.attention else torch.zeros_like(x)


def _mlp(i: int) -> Callable[[Plan, Tensor], Tensor | None]:
    return lambda plan, x: None if i in plan.blocks.mlp else torch.zeros_like(x)


def _remember(module: nn.Module, args: Any, out: Any) -> None:
    plan = PLAN.get()
    if plan is not None:
        plan.left = (out[0] if isinstance(out, tuple) else out)[0]


def relative(actual: Tensor, expected: Tensor) -> float:
    """The largest difference as a share of the largest value."""
    return float((actual.float() - expected.float()).abs().max()) / (float(expected.float().abs().max()) or 1.0)


def error_when_split(target: SplitModel, blocks: Blocks, tokens: Sequence[int]) -> float:
    """How far logits go wrong where states are read out and where a partial pass precedes a whole one.

    A share of the largest logit, on a tree of four tokens. Passes go on after first layers; rows of other blocks are
    dropped, as the drafters do.
    """
    (root, *tree), parents = tokens, [0, 0, 2]

    def after_root() -> Any:
        cache = target.new_cache()
        target.forward([root], cache)
        cache.keep([0])
        return cache

    expected = target.forward(tree, after_root(), parents)
    whole = Blocks.first(target.info.layers)
    read = target.read_out(target.partial(tree, after_root(), parents, whole))
    cache = after_root()
    states = target.partial(tree, cache, parents, blocks)
    first = len(blocks.attention)
    if blocks == Blocks.first(first):
        unfinished = target.set_aside(cache, [1, 2, 3], states, first)
        actual = target.finish(tree, cache, parents, unfinished)
    else:
        cache.keep([])
        actual = target.forward(tree, cache, parents)
    return relative(torch.cat([read, actual]), torch.cat([expected, expected]))


def error_of_idle_layers(left: Callable[[Plan], Tensor]) -> float:
    """How much layers change their input with both their halves left out; nothing, where each adds to the stream.

    `left` runs a plan on a few tokens and gives what left the last layer.
    """
    none = Blocks.first(0)
    return relative(left(Plan(none, every_layer=True)), left(Plan(none)))
