"""A language model in the vocabulary of another: for drafters whose tokenizer has a few other special tokens.

Place in the flow: between a loaded drafter and the target whose tokens it is to draft. Logits of tokens that the two do
not share are minus infinity, so their probability is exactly zero; where the text holds such a token, the model reads
another one in its place, which changes what it guesses and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from specviz.lm.base import Cache, LanguageModel, ModelInfo


class SharedVocabulary:
    """`model`, asked and answering in the ids of a vocabulary of `vocab_size` tokens."""

    def __init__(self, model: LanguageModel, shared: Sequence[int], vocab_size: int) -> None:
        """`shared`: ids that mean the same in both, ascending, at least one."""
        info = model.info
        self._inner = model
        self._shared = torch.tensor(shared, device=model.device)
        self._known = frozenset(shared)
        self._stand_in = next((token for token in info.eos_ids if token in self._known), shared[0])
        self._info = replace(info, vocab_size=vocab_size, adapter=f"{info.adapter}, {len(shared)} shared tokens")

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
        """Logits [n, vocab_size], or [1, vocab_size] with `last_only` (see `LanguageModel.forward`)."""
        read = [token if token in self._known else self._stand_in for token in tokens]
        found = self._inner.forward(read, cache, parents, last_only)[:, self._shared]
        logits = found.new_full((found.shape[0], self._info.vocab_size), -torch.inf)
        return logits.index_copy_(1, self._shared, found)
