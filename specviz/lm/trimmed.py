"""A language model whose output head answers for some tokens only: for drafters, where a smaller head is faster.

Logits of all other tokens are minus infinity, so their probability is exactly zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from specviz.lm.base import Cache, LanguageModel, ModelInfo


@runtime_checkable
class TrimsHead(Protocol):
    """A language model that can be had with fewer rows in its head."""

    def with_head(self, tokens: Sequence[int]) -> LanguageModel:
        """The same model (weights shared, same caches) with logits [n, len(tokens)] of these tokens, in this order."""
        ...


class TrimmedModel:
    """`model` with a head for `kept` alone. Where the model cannot leave rows out (`TrimsHead`) all are computed and
    the others covered up: the same distribution, without the saving."""

    def __init__(self, model: LanguageModel, kept: Sequence[int]) -> None:
        """`kept`: ids in ascending order, at least one."""
        self._vocab_size = model.info.vocab_size
        self._kept = torch.tensor(kept, device=model.device)
        self._inner = model.with_head(kept) if isinstance(model, TrimsHead) else model
        self.computes_less = self._inner is not model
        info = self._inner.info
        self._info = replace(info, adapter=f"{info.adapter}, {len(kept)} head rows")

    @property
    def info(self) -> ModelInfo:
        return self._info

    @property
    def device(self) -> torch.device:
        return self._inner.device

    def new_cache(self) -> Cache:
        return self._inner.new_cache()

    @torch.inference_mode()
    def forward(
        self, tokens: Sequence[int], cache: Cache, parents: Sequence[int] | None = None, last_only: bool = False
    ) -> Tensor:
        """Logits [n, V], or [1, V] with `last_only` (see `LanguageModel.forward`)."""
        found = self._inner.forward(tokens, cache, parents, last_only)
        if not self.computes_less:
            found = found[:, self._kept]
        logits = found.new_full((found.shape[0], self._vocab_size), -torch.inf)
        return logits.index_copy_(1, self._kept, found)
