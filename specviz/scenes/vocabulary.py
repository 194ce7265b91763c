"""The words of captions and talk as token strings: one token per word, with the space before it.

0 the end · 1 a word that is not known · 2 … 17 what the eyes see, cell by cell · then marks and words
"""

from __future__ import annotations

from random import Random

from specviz.scenes.captions import GROUNDED, caption, words
from specviz.scenes.generator import scene_of
from specviz.scenes.talk import talk

END, UNKNOWN = "<end>", "<unknown>"
CELLS = 16
"""tokens that stand for the picture: a grid of 4 × 4 cells, row by row"""
PICTURE_TOKENS = tuple(f"<image{cell}>" for cell in range(CELLS))
PICTURE_IDS = tuple(range(2, 2 + CELLS))
MARKS = ",.:;?"
PIECES = f" ?[a-z]+|[{MARKS}]"
"""how a tokenizer cuts text: a regular expression"""
_TEXTS = 4000
"""texts of each kind that are read for words; a test holds that more bring no new ones"""


def token_strings() -> list[str]:
    """Every token in the order of its id."""
    met = {word for seed in range(_TEXTS) for word in words(caption(scene_of("train", seed), Random(seed)))}
    met |= {word for seed in range(_TEXTS) for word in words(talk(Random(seed)))}
    return [END, UNKNOWN, *PICTURE_TOKENS, *MARKS, *(f" {word}" for word in sorted(met - {*MARKS} | GROUNDED))]


def spelt(text: str) -> str:
    """A visitor's beginning of a caption as the tokenizer reads it: small letters, one space before each word."""
    return "".join(word if word in MARKS else f" {word}" for word in words(text))


def is_grounded(token_text: str) -> bool:
    """Whether the picture decides a token, by its text."""
    return token_text.strip() in GROUNDED
