"""A drafter whose tokenizer has a few other special tokens than the target's: all shared ids mean the same in both."""

from __future__ import annotations

from collections.abc import Sequence

from specviz.lm.base import LanguageModel
from specviz.lm.translated import TranslatedModel


class SharedVocabulary(TranslatedModel):
    """`model`, asked and answering in the ids of a vocabulary of `vocab_size` tokens."""

    def __init__(self, model: LanguageModel, shared: Sequence[int], vocab_size: int) -> None:
        """`shared`: ids that mean the same in both, ascending, at least one."""
        super().__init__(model, shared, shared, vocab_size)
