"""Captions of a scene, from a small grammar with real choices, and the words of captions and talk as token strings.

    scene ─► a way of saying it, drawn by weight ─► words, each grounded or not

Sizes, colours, shapes, numbers, places and relations are grounded: a drafter that does not see the picture can only
guess them. All else is grammar. One limit: whether a caption goes on after a shape depends on the picture too, through
a word of grammar (a comma, "and", a full stop).

Talk about shapes without a picture is what a drafter reads that knows the words but never read a caption: the same
words in other sentences, questions and answers, sums and consequences.

Each word is one token, with the space before it: 0 the end · 1 an unknown word · 2 … 17 what the eyes see, cell by
cell · then marks and words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from random import Random

from specviz.scenes.scene import COLOURS, RADII, SHAPES, SIDE, PlacedShape, Scene, scene_of
from specviz.trace.header import GROUNDED as GROUNDED

OPENINGS = (
    ("there is", 5),
    ("the picture shows", 4),
    ("we can see", 2),
    ("in this picture there is", 2),
    ("this is a picture of", 1),
)
GROUND_REMARKS = (("", 6), (", on a dark ground", 3), (", and nothing else", 2), (", and the rest of it is dark", 1))
"""how a caption may end; the same for every scene"""
_WORD = re.compile(r"[a-z]+|[,.:;?]")
_NAMED = re.compile(rf"({'|'.join(RADII)}) ({'|'.join(COLOURS)}) ({'|'.join(SHAPES)})")

Weighted = Sequence[tuple[str, int]]


def caption(scene: Scene, random: Random) -> str:
    """One caption, drawn from all that the grammar has for the scene; lower case, ends with a full stop."""
    first, *others = scene.in_order()
    if not others:
        text = _choose(random, _alone(first))
    elif len(others) == 1:
        text = _choose(random, _pair(first, others[0]))
    else:
        text = _choose(random, _three(first, *others))
    return text.replace("OPENING", _choose(random, OPENINGS)) + _choose(random, GROUND_REMARKS) + "."


def words(text: str) -> list[str]:
    """The words and marks of a caption, in order."""
    return _WORD.findall(text.lower())


def named(text: str) -> Counter[tuple[str, str, str]]:
    """Size, colour and shape of everything that a text names in full, and how often."""
    return Counter((found[1], found[2], found[3]) for found in _NAMED.finditer(text))


def shown(scene: Scene) -> Counter[tuple[str, str, str]]:
    """Size, colour and shape of everything in the scene: what a right caption names."""
    return Counter((shape.size, shape.colour, shape.shape) for shape in scene.shapes)


def _choose(random: Random, ways: Weighted) -> str:
    return random.choices([text for text, _ in ways], [weight for _, weight in ways])[0]


def _a(placed_shape: PlacedShape) -> str:
    return f"a {placed_shape.size} {placed_shape.colour} {placed_shape.shape}"


def _alone(placed_shape: PlacedShape) -> Weighted:
    return (
        (f"OPENING {_a(placed_shape)} at the {_place(placed_shape)} of the picture", 4),
        (f"OPENING one shape: {_a(placed_shape)} at the {_place(placed_shape)}", 2),
        (f"{_a(placed_shape)} is at the {_place(placed_shape)} of the picture", 3),
    )


def _pair(left: PlacedShape, right: PlacedShape) -> Weighted:
    return (
        (f"OPENING {_a(left)} {_relation(left, right)} {_a(right)}", 4),
        (f"OPENING two shapes: {_a(left)} and {_a(right)}", 3),
        (f"{_a(left)} is {_relation(left, right)} {_a(right)}", 3),
        (f"OPENING {_a(left)} at the {_place(left)} and {_a(right)} at the {_place(right)}", 2),
    )


def _three(left: PlacedShape, between: PlacedShape, right: PlacedShape) -> Weighted:
    return (
        (f"OPENING three shapes: {_a(left)}, {_a(between)} and {_a(right)}", 4),
        (f"OPENING {_a(left)} {_relation(left, between)} {_a(between)}, and then {_a(right)}", 3),
        (f"across the picture we can see {_a(left)}, {_a(between)} and {_a(right)}", 3),
    )


def _place(placed_shape: PlacedShape) -> str:
    """In which ninth of the picture a shape's centre lies."""
    down = ("top ", "", "bottom ")[3 * placed_shape.y // SIDE]
    across = ("left", "", "right")[3 * placed_shape.x // SIDE]
    return (down + across).strip() or "middle"


def _relation(placed_shape: PlacedShape, other: PlacedShape) -> str:
    """Where `one` lies as seen from `other`, along the axis on which they are further apart."""
    if abs(placed_shape.x - other.x) >= abs(placed_shape.y - other.y):
        return "left of" if placed_shape.x < other.x else "right of"
    return "above" if placed_shape.y < other.y else "below"


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
