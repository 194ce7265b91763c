"""Captions of a scene: a small grammar with real choices, which says of every word whether the picture decides it.

    scene ─► a way of saying it, drawn by weight ─► words, each grounded or not

Grounded are sizes, colours, shapes, numbers, places and relations: a drafter that does not see the picture can only
guess them. All else is grammar. One limit: whether a caption goes on after a shape depends on the picture too,
through a word of grammar (a comma, "and", a full stop).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from random import Random

from specviz.scenes.scene import COLOURS, RADII, SHAPES, SIDE, PlacedShape, Scene
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
