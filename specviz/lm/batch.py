"""Several sequences in one pass: what a model's batch is asked for, and the plain way that any model has.

Rows of several sequences are computed together, and none sees another's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from torch import Tensor

from specviz.lm.base import Cache, LanguageModel


@dataclass(frozen=True, slots=True)
class Share:
    """What one sequence asks of a pass: the arguments of `LanguageModel.forward`."""

    tokens: Sequence[int]
    cache: Cache
    parents: Sequence[int] | None = None
    last_only: bool = False


class Batch(Protocol):
    """Sequences of one model that are computed together."""

    def new_cache(self) -> Cache:
        """The cache of one more sequence."""
        ...

    def forward(self, shares: Sequence[Share]) -> list[Tensor]:
        """One pass over the rows of all shares, each of a cache of its own; in their order what `forward` would give of
        each alone, up to rounding. Raises ModelError where one would exceed the context length."""
        ...

    def leave(self, cache: Cache) -> None:
        """This sequence is over; its cache is not used again, and no later pass pays for it."""
        ...


@runtime_checkable
class GivesBatches(LanguageModel, Protocol):
    """A language model that computes several sequences in one pass."""

    def new_batch(self) -> Batch:
        """A batch without sequences yet."""
        ...


class OneByOne:
    """The batch of any model: each share alone, one after the other. Gives the right answers and saves no time."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    def new_cache(self) -> Cache:
        return self._model.new_cache()

    def forward(self, shares: Sequence[Share]) -> list[Tensor]:
        return [self._model.forward(share.tokens, share.cache, share.parents, share.last_only) for share in shares]

    def leave(self, cache: Cache) -> None:
        """Nothing is shared."""
