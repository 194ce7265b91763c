"""The words of captions and talk as token strings: one token per word, with the space before it. And the talk.

Talk about shapes without a picture is what a drafter reads that knows the words but never read a caption: the same
words in other sentences, questions and answers, sums, and what follows from what.

0 the end · 1 a word that is not known · 2 … 17 what the eyes see, cell by cell · then marks and words
"""

from __future__ import annotations

from random import Random

from specviz.scenes.captions import GROUNDED, caption, words
from specviz.scenes.generator import scene_of
from specviz.scenes.scene import COLOURS, RADII, SHAPES

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


_OPPOSITE = {"left of": "right of", "right of": "left of", "above": "below", "below": "above"}
_SUMS = (("one", "one", "two"), ("one", "two", "three"), ("two", "one", "three"))


def talk(random: Random) -> str:
    """One text of two to four sentences."""
    makers = (_question, _sum, _opposite, _kinds, _wish)
    return " ".join(random.choice(makers)(random) for _ in range(random.randint(2, 4)))


def _thing(random: Random) -> str:
    return f"{random.choice(tuple(RADII))} {random.choice(COLOURS)} {random.choice(SHAPES)}"


def _question(random: Random) -> str:
    shape, told, asked = random.choice(SHAPES), random.choice(COLOURS), random.choice(COLOURS)
    if told == asked:
        return f"is the {shape} {asked}? yes, the {shape} is {told}."
    return f"is the {shape} {asked}? no, the {shape} is {told}."


def _sum(random: Random) -> str:
    left, right, both = random.choice(_SUMS)
    colour = random.choice(COLOURS)
    return f"{left} {colour} shape and {right} more is {both}."


def _opposite(random: Random) -> str:
    relation, one, other = random.choice(tuple(_OPPOSITE)), _thing(random), _thing(random)
    return f"if the {one} is {relation} the {other}, then the {other} is {_OPPOSITE[relation]} the {one}."


def _kinds(random: Random) -> str:
    one, other = random.sample(SHAPES, 2)
    left, right = random.sample(COLOURS, 2)
    return f"{one} and {other} are shapes; {left} and {right} are not."


def _wish(random: Random) -> str:
    return f"we want a {_thing(random)} and not a {_thing(random)}."
