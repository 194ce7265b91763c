"""A language model asked and answering in the ids of another's vocabulary, as far as the two have tokens in common.

Place in the flow: between a loaded drafter and the target whose tokens it is to draft. Logits of tokens without a
counterpart are minus infinity, so their probability is exactly zero; where the model is given such a token, it reads
another one in its place, which changes what it guesses and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from specviz.lm.base import Cache, LanguageModel, ModelInfo


class TranslatedModel:
    """`model` in a vocabulary of `vocab_size` tokens."""

    def __init__(self, model: LanguageModel, theirs: Sequence[int], own: Sequence[int], vocab_size: int) -> None:
        """`theirs[i]` is the id in that vocabulary of the token that the model calls `own[i]`; no id twice, at least
        one."""
        info = model.info
        self._inner = model
        self._theirs = torch.tensor(theirs, device=model.device)
        self._own = torch.tensor(own, device=model.device)
        self._own_of = dict(zip(theirs, own, strict=True))
        known = frozenset(own)
        self.stand_in = next((token for token in info.eos_ids if token in known), own[0])
        """own id of what is read in place of a token that the model does not have"""
        self._info = replace(info, vocab_size=vocab_size, adapter=f"{info.adapter}, {len(own)} shared tokens")

    @property
    def info(self) -> ModelInfo:
        return self._info

    @property
    def device(self) -> torch.device:
        return self._inner.device

    def new_cache(self) -> Cache:
        return self._inner.new_cache()

    def own_id(self, token: int) -> int:
        """What the model calls a token of that vocabulary, or the one it reads in its place."""
        return self._own_of.get(token, self.stand_in)

    def forward(
        self, tokens: Sequence[int], cache: Cache, parents: Sequence[int] | None = None, last_only: bool = False
    ) -> Tensor:
        """Logits [n, vocab_size], or [1, vocab_size] with `last_only` (see `LanguageModel.forward`)."""
        return self.forward_own([self.own_id(token) for token in tokens], cache, parents, last_only)

    @torch.inference_mode()
    def forward_own(
        self, own: Sequence[int], cache: Cache, parents: Sequence[int] | None = None, last_only: bool = False
    ) -> Tensor:
        """The same for tokens given in the model's own ids."""
        found = self._inner.forward(own, cache, parents, last_only)[:, self._own]
        logits = found.new_full((found.shape[0], self._info.vocab_size), -torch.inf)
        return logits.index_copy_(1, self._theirs, found)
