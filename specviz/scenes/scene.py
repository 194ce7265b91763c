"""A scene: one to three coloured shapes in a square of 32 × 32 pixels, in words, by number and as pixels.

`large red circle at 8,8; small blue square at 24,20` is a scene. Its pixels have one colour on a dark ground and are
not smoothed: the model sees these, and the page draws the same shapes as vectors (`assets/js`). Which shapes a scene of
a number has follows from that number. A pair of colour and shape in `HELD_OUT` never stands in a training scene, so a
model that names it right has put it together from two things it knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from specviz.errors import PromptError
from specviz.trace.header import COLOURS, MOST_SHAPES, RADII, SHAPES, SIDE, ShapeCard

__all__ = ["COLOURS", "MOST_SHAPES", "RADII", "SHAPES", "SIDE", "PlacedShape", "Scene"]

_SHAPE = re.compile(r"(\w+) (\w+) (\w+) at (\d{1,3}) ?, ?(\d{1,3})")
_EXAMPLE = "large red circle at 8,8; small blue square at 24,20"


@dataclass(frozen=True, slots=True)
class PlacedShape:
    """One shape. x counts pixels from the left, y from the top, of its centre."""

    size: str
    colour: str
    shape: str
    x: int
    y: int

    @property
    def radius(self) -> int:
        return RADII[self.size]

    def touches(self, other: PlacedShape) -> bool:
        """Whether the squares around both share a pixel."""
        reach = self.radius + other.radius
        return abs(self.x - other.x) <= reach and abs(self.y - other.y) <= reach

    def __str__(self) -> str:
        return f"{self.size} {self.colour} {self.shape} at {self.x},{self.y}"


@dataclass(frozen=True, slots=True)
class Scene:
    """What a picture shows; a later shape is painted over an earlier one."""

    shapes: tuple[PlacedShape, ...]

    def __post_init__(self) -> None:
        """Raises PromptError for a scene that cannot be drawn."""
        if not 1 <= len(self.shapes) <= MOST_SHAPES:
            raise PromptError(f"a scene has 1 to {MOST_SHAPES} shapes, but this one has {len(self.shapes)}.")
        for shape in self.shapes:
            for what, word, known in (
                ("size", shape.size, tuple(RADII)),
                ("colour", shape.colour, COLOURS),
                ("shape", shape.shape, SHAPES),
            ):
                if word not in known:
                    raise PromptError(f"there is no {what} {word[:40]!r} in a scene; choose one of {', '.join(known)}.")
            least, most = shape.radius, SIDE - 1 - shape.radius
            if not (least <= shape.x <= most and least <= shape.y <= most):
                raise PromptError(
                    f"the {shape.size} {shape.shape} at {shape.x},{shape.y} does not fit into the picture; "
                    f"choose both numbers between {least} and {most}."
                )

    @classmethod
    def parse(cls, text: str) -> Scene:
        """Read a scene in words. Raises PromptError with the cure."""
        shapes: list[PlacedShape] = []
        for part in filter(None, (piece.strip() for piece in text.lower().split(";"))):
            match = _SHAPE.fullmatch(part)
            if match is None:
                raise PromptError(f"{part[:80]!r} is no shape of a scene; write it like '{_EXAMPLE}'.")
            size, colour, shape, x, y = match.groups()
            shapes.append(PlacedShape(size, colour, shape, int(x), int(y)))
        return cls(tuple(shapes))

    @classmethod
    def of(cls, cards: Iterable[ShapeCard]) -> Scene:
        """From a trace's header. Raises PromptError as for any scene."""
        return cls(
            tuple(
                PlacedShape(shape_card.size, shape_card.colour, shape_card.shape, shape_card.x, shape_card.y)
                for shape_card in cards
            )
        )

    def cards(self) -> list[ShapeCard]:
        """As a trace's header holds it."""
        return [ShapeCard(shape.size, shape.colour, shape.shape, shape.x, shape.y) for shape in self.shapes]

    def __str__(self) -> str:
        return "; ".join(map(str, self.shapes))

    def in_order(self) -> list[PlacedShape]:
        """From left to right, as captions name them; of two at the same x the upper one comes first."""
        return sorted(self.shapes, key=lambda shape: (shape.x, shape.y))


Colour = tuple[int, int, int]
"""red, green, blue, of 255"""
GROUND = (24, 24, 32)
RGB = {
    "red": (220, 50, 47),
    "green": (46, 160, 67),
    "blue": (48, 110, 230),
    "yellow": (240, 200, 40),
    "white": (240, 240, 240),
    "purple": (150, 70, 190),
}


def pixels(scene: Scene) -> NDArray[np.uint8]:
    """[32, 32, 3]: row (from the top), column (from the left), red green blue."""
    return painted((covered(shape), RGB[shape.colour]) for shape in scene.shapes)


def painted(parts: Iterable[tuple[NDArray[np.bool_], Colour]]) -> NDArray[np.uint8]:
    """[32, 32, 3]: pixels [32, 32] in a colour on the ground, one after the other."""
    picture = np.empty((SIDE, SIDE, 3), dtype=np.uint8)
    picture[:] = GROUND
    for inside, colour in parts:
        picture[inside] = colour
    return picture


def covered(placed_shape: PlacedShape) -> NDArray[np.bool_]:
    """Which pixels belong to a shape [32, 32]."""
    rows, columns = np.mgrid[:SIDE, :SIDE]
    down, across, radius = rows - placed_shape.y, abs(columns - placed_shape.x), placed_shape.radius
    inside = (abs(down) <= radius) & (across <= radius)
    if placed_shape.shape == "circle":
        inside &= down**2 + across**2 <= (radius + 0.25) ** 2
    elif placed_shape.shape == "triangle":
        inside &= 2 * across <= down + radius
    elif placed_shape.shape == "cross":
        arm = radius // 3
        inside &= (abs(down) <= arm) | (across <= arm)
    return np.asarray(inside, dtype=np.bool_)


HELD_OUT = frozenset({("purple", "triangle"), ("yellow", "cross"), ("green", "circle")})
"""pairs of colour and shape that no training scene has"""
APART = 4
"""pixels between the centres of any two shapes along x, so that left and right are never in doubt"""

Split = Literal["train", "chance", "combination"]
"""`train`; `chance`: new scenes of the pairs of training; `combination`: each has a pair that training never had"""


def scene_of(split: Split, seed: int) -> Scene:
    """The scene of this number. The same number means another scene in another split."""
    random = Random(f"{split} {seed}")
    while True:
        scene = Scene(tuple(_shapes(random, split)))
        if split == "train" or not _is_training_scene(scene):
            return scene


def are_clear(placed_shape: PlacedShape, other: PlacedShape) -> bool:
    """Whether two shapes may stand in one scene of any split: not touching, and APART."""
    return abs(placed_shape.x - other.x) >= APART and not placed_shape.touches(other)


def _is_training_scene(scene: Scene) -> bool:
    """Whether the scene may have been met in training: so few numbers fit one shape that scenes of one repeat."""
    return len(scene.shapes) == 1 and _pairs(scene).isdisjoint(HELD_OUT)


def _shapes(random: Random, split: Split) -> list[PlacedShape]:
    placed: list[PlacedShape] = []
    wanted = random.randint(1, MOST_SHAPES)
    new_pair = random.randrange(wanted) if split == "combination" else -1
    while len(placed) < wanted:
        known = sorted((colour, shape) for colour in COLOURS for shape in SHAPES if (colour, shape) not in HELD_OUT)
        colour, shape = random.choice(sorted(HELD_OUT) if len(placed) == new_pair else known)
        size = random.choice(tuple(RADII))
        least, most = RADII[size], SIDE - 1 - RADII[size]
        placed_shape = PlacedShape(size, colour, shape, random.randint(least, most), random.randint(least, most))
        if all(are_clear(placed_shape, other) for other in placed):
            placed.append(placed_shape)
        elif random.random() < 0.02:  # large shapes can leave no room for another
            placed.clear()
    return placed


def _pairs(scene: Scene) -> set[tuple[str, str]]:
    return {(shape.colour, shape.shape) for shape in scene.shapes}
