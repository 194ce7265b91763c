"""Scenes by number: which shapes stand where follows from a seed, and some pairs are kept out of training.

A pair of colour and shape in `HELD_OUT` never stands in a training scene, so a model that names it right has put it
together from two things it knows.
"""

from __future__ import annotations

from random import Random
from typing import Literal

from specviz.scenes.scene import COLOURS, MOST_SHAPES, RADII, SHAPES, SIDE, PlacedShape, Scene

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
