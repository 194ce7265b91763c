"""A chain through places whose logits are known beforehand, taken token by token in one compiled call.

    logits of places (+ a table of which token follows which) ─► `write_chain` ─► tokens

What draws a chain's tokens by steps draws them here too (`core/draws`), so both draw the same. Used on the
CPU where a compiler is at hand.

Shapes: V vocabulary, R rank of a table.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from specviz.core.compiled import library
from specviz.core.draws import Chooser
from specviz.lm.base import Chain
from specviz.lm.products import Matrix, Product, pointer, whole

SOURCE = Path(__file__).with_name("chains.c")


class _Pairs(ctypes.Structure):
    _fields_ = (("after", Matrix), ("before", pointer))


class PairTable:
    """before[a] · after[b] is added to the logit of token b behind token a."""

    def __init__(self, before: Tensor, product: Product) -> None:
        self._before, self._product = before.float().contiguous(), product
        self._pairs = _Pairs(product.matrix, self._before.data_ptr())
        self.at, self.parts = ctypes.byref(self._pairs), product.parts

    @classmethod
    def of(cls, before: Tensor, after: Tensor) -> PairTable | None:
        """Of before [V, R] and after [V, R]. None where they are not on the CPU, in another format, or there is no
        compiler."""
        product = Product.of(after.detach(), None)
        return None if product is None else cls(before.detach(), product)

    def takes(self, n: int) -> bool:
        """Whether so many tokens are few enough for it."""
        return self._product.takes(n)

    def behind(self, tokens: Sequence[int]) -> Tensor:
        """What these tokens [n] add to the logits of what follows them [n, V], float32."""
        return self._product(self._before[list(tokens)])


def write_chain(blind: Tensor, chooser: Chooser, root: int = 0, pairs: PairTable | None = None) -> Chain | None:
    """A chain through places that are known [at least as many as there are steps, V], with `pairs` but for what the
    token before each adds, the root before the first. None where no compiled loop can go through them."""
    blind, steps = blind[: chooser.steps], chooser.steps
    compiled = library(SOURCE) if blind.device.type == "cpu" else None
    if compiled is None:
        return None
    assert len(blind) == steps, "a chain goes on behind the last place that is known."
    # what is added to must not be what others look at
    logits = blind.to(torch.float32, copy=pairs is not None).contiguous()
    chosen, vocab = (whole * steps)(), logits.shape[1]
    failed = compiled.follow(
        None if pairs is None else pairs.at,
        whole(3) if pairs is None else pairs.parts,
        pointer(logits.data_ptr()),
        whole(vocab),
        whole(root),
        whole(steps),
        chooser.function,
        chooser.how(vocab),
        chosen,
    )
    if failed:
        raise MemoryError(f"no memory for a chain of {steps} steps.")
    return Chain(list(chosen), logits, [])


PassesT = TypeVar("PassesT")
_made: WeakKeyDictionary[nn.Module, tuple[tuple[int, ...], object]] = WeakKeyDictionary()
"""module → (the versions of its weights, its passes): training changes them"""


def as_it_runs(module: nn.Module, make: Callable[[], PassesT]) -> PassesT:
    """The passes of a module with the weights it has now, made once."""
    versions = tuple(-1 if each.is_inference() else each._version for each in module.parameters())
    known = _made.get(module)
    if known is None or known[0] != versions:
        _made[module] = known = versions, make()
    return known[1]  # type: ignore[return-value]  # what this module's own `make` gave
