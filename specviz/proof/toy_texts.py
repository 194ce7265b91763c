"""Tokenizers for toy models: one letter per token, and a second vocabulary that has most of the letters under other
ids, one of its own, and lacks one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from specviz.lm.text import TextCodec

FIRST_LETTER = 0x4E00
"""one of many that no tokenizer changes"""
STRANGE = "x"


@cache
def toy_texts(size: int) -> tuple[TextCodec, TextCodec]:
    """(target's, drafter's), of `size` tokens each: the target's last letter is the drafter's first, and so on; the
    target's first letter has no counterpart, nor has the drafter's last token."""
    letters = [chr(FIRST_LETTER + i) for i in range(size)]
    return _codec("target", letters), _codec("drafter", [*reversed(letters[1:]), STRANGE])


def _codec(name: str, letters: Sequence[str]) -> TextCodec:
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({letter: i for i, letter in enumerate(letters)}, unk_token=letters[-1]))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    return TextCodec(tokenizer, name)
