"""A model behind another vocabulary: its output head trimmed to some tokens, or asked and answering in another's ids.

Place in the flow: between a loaded drafter and the target whose tokens it is to draft. Logits of tokens that it cannot
say are minus infinity, so their probability is exactly zero. Two tokenizers have those tokens in common that are the
same bytes; where a translated model is given any other, it reads a stand-in, which changes what it guesses and nothing
else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from specviz.errors import VocabularyMismatch
from specviz.lm.base import Cache, LanguageModel, ModelInfo
from specviz.lm.text import BYTE_TOKEN, TextCodec


@runtime_checkable
class TrimsHead(Protocol):
    """A language model that can be had with fewer rows in its head."""

    def with_head(self, tokens: Sequence[int]) -> LanguageModel:
        """The same model (weights shared, same caches) with logits [n, len(tokens)] of these tokens, in this order."""
        ...


class _Around:
    """A model whose caches and device are those of the one within."""

    _inner: LanguageModel
    _info: ModelInfo

    @property
    def info(self) -> ModelInfo:
        return self._info

    @property
    def device(self) -> torch.device:
        return self._inner.device

    def new_cache(self) -> Cache:
        return self._inner.new_cache()


class TrimmedModel(_Around):
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


class TranslatedModel(_Around):
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


Key = tuple[bool, bytes]
"""(special, bytes): a special token is the same only as another special one"""


def token_pairs(target: TextCodec, own: TextCodec) -> list[tuple[int, int]]:
    """(target's id, own id) of every token that is the same bytes in both, by the target's id; each id once. The first
    end-of-text tokens are a pair whatever they are called.

    Raises VocabularyMismatch where there is none."""
    theirs, mine = _ids(target), _ids(own)
    if target.eos_ids and own.eos_ids:
        ends = target.eos_ids[0], own.eos_ids[0]
        theirs = {key: token for key, token in theirs.items() if token != ends[0]}
        mine = {key: token for key, token in mine.items() if token != ends[1]}
        theirs[True, b""], mine[True, b""] = ends
    pairs = sorted((theirs[key], mine[key]) for key in theirs.keys() & mine.keys())
    if not pairs:
        raise VocabularyMismatch(
            f"{target.name} and {own.name} have no token in common, so that nothing could be drafted; choose another "
            "drafter."
        )
    return pairs


def _ids(codec: TextCodec) -> dict[Key, int]:
    """Every token once; of two with the same bytes the one that is not a lone byte of byte fallback."""
    special, found = frozenset(codec.special_ids), dict[Key, int]()
    for token in range(codec.size):
        string = codec.token(token)
        if string is None:
            continue
        key = (token in special, codec.token_bytes(token))
        if key not in found or BYTE_TOKEN.fullmatch(codec.token(found[key]) or ""):
            found[key] = token
    return found


class Reencoder:
    """Texts of the target in own ids. The whole text is encoded anew each time, as tokens at a seam would differ; that
    is a small share of a pass, and its time counts as drafting."""

    def __init__(self, target: TextCodec, own: TextCodec) -> None:
        self._target, self._own = target, own
        known = {own.token_bytes(token) for token in own.special_ids}
        self._dropped = frozenset(token for token in target.special_ids if target.token_bytes(token) not in known)

    def __call__(self, tokens: Sequence[int]) -> list[int]:
        """Own ids of the text: special tokens that only the target has are left out, those that either tokenizer puts
        before a text are put there by `own`, and the bytes of an unfinished character wait for its end."""
        kept = (token for token in self._target.without_added(tokens) if token not in self._dropped)
        data = b"".join(map(self._target.token_bytes, kept))
        return self._own.encode(data.decode("utf-8", errors="ignore"))
