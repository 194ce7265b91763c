"""Talk about shapes without a picture: what a drafter reads that knows the words but never read a caption.

The same words as in captions, in other sentences: questions and answers, sums, and what follows from what.
"""

from __future__ import annotations

from random import Random

from specviz.scenes.scene import COLOURS, RADII, SHAPES

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
