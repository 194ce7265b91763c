"""Pictures with things that have no name, and what the captioner's eyes are asked about them before any caption.

Eyes that only ever meet red, blue and white triangles learn those three, not what a triangle is, and misread a purple
one. So a third of the shapes is painted in a colour that has no name, and a third of the colours fills a form that has
no name; what has no name is not asked. The pairs that are kept out of training stay out. The eyes learn what lies in
each cell of the grid, and where; the same pictures stand before the captions that the language model learns from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from specviz.scenes.generator import scene_of
from specviz.scenes.scene import (
    COLOURS,
    GROUND,
    MOST_SHAPES,
    RADII,
    RGB,
    SHAPES,
    SIDE,
    Colour,
    PlacedShape,
    Scene,
    covered,
    painted,
)

SIDE_CELLS = 4
CELL = SIDE // SIDE_CELLS
"""pixels along a cell's side"""
KINDS = (len(COLOURS), len(SHAPES), len(RADII), MOST_SHAPES, CELL, CELL)
"""how many answers there are to each question about a cell: colour, shape, size, which of the picture's shapes from
left to right, pixels from the cell's left edge to the shape's centre, and from its top"""
NOT_ASKED = -100
"""an answer that no loss counts"""
FAR = 90
"""how far, of 255 in red, green and blue, a colour without a name is from every colour that has one"""
_NAMELESS_FORMS = ("diamond", "frame", "bar", "pole")


@dataclass(frozen=True)
class Lesson:
    """pictures uint8 [B, 32, 32, 3] · answers int64 [B, 16, 6]: 1 + the answer for the cell in which a shape's centre
    lies, 0 for a cell without one, NOT_ASKED for what has no name; in the order of KINDS."""

    pictures: Tensor
    answers: Tensor

    @property
    def n_tokens(self) -> int:
        """Pictures: what the training loop counts its budget in."""
        return len(self.pictures)

    def to(self, device: torch.device) -> Lesson:
        """The same on another device."""
        return Lesson(self.pictures.to(device), self.answers.to(device))


class Lessons:
    """Lessons from training scenes; each is a pure function of its step."""

    def __init__(self, batch_size: int, seed: int) -> None:
        self._batch_size, self._seed = batch_size, seed

    def batch(self, step: int) -> Lesson:
        """The lesson of one optimiser step."""
        first = (self._seed << 32) + step * self._batch_size
        numbers = range(first, first + self._batch_size)
        pictures, answers = [], []
        for number in numbers:
            scene = scene_of("train", number)
            picture, nameless = shown(scene, Random(number))
            pictures.append(picture)
            answers.append(answers_of(scene, nameless))
        return Lesson(torch.from_numpy(np.stack(pictures)), torch.stack(answers))


def shown(scene: Scene, random: Random) -> tuple[NDArray[np.uint8], dict[PlacedShape, str]]:
    """A scene with some colours and forms replaced by nameless ones: picture [32, 32, 3], and for each shape what of it
    has no name: "nothing", "colour" or "form"."""
    nameless: dict[PlacedShape, str] = {}
    parts = []
    for shape in scene.shapes:
        nameless[shape] = random.choice(("nothing", "colour", "form"))
        inside = _nameless_form(shape, random) if nameless[shape] == "form" else covered(shape)
        parts.append((inside, _nameless_colour(random) if nameless[shape] == "colour" else RGB[shape.colour]))
    return painted(parts), nameless


def answers_of(scene: Scene, nameless: Mapping[PlacedShape, str]) -> Tensor:
    """What is to be said of each cell [16, 6]; see `Lesson.answers`, and `shown` for what is nameless."""
    cells = torch.zeros(SIDE_CELLS**2, len(KINDS), dtype=torch.int64)
    for order, placed_shape in enumerate(scene.in_order()):
        named = (
            COLOURS.index(placed_shape.colour),
            SHAPES.index(placed_shape.shape),
            tuple(RADII).index(placed_shape.size),
        )
        cell = placed_shape.y // CELL * SIDE_CELLS + placed_shape.x // CELL
        cells[cell] = torch.tensor((*named, order, placed_shape.x % CELL, placed_shape.y % CELL)) + 1
        if nameless[placed_shape] != "nothing":
            cells[cell, 0 if nameless[placed_shape] == "colour" else 1] = NOT_ASKED
    return cells


def _nameless_colour(random: Random) -> Colour:
    while True:
        colour = (random.randrange(256), random.randrange(256), random.randrange(256))
        if all(
            sum((a - b) ** 2 for a, b in zip(colour, known, strict=True)) >= FAR**2 for known in (GROUND, *RGB.values())
        ):
            return colour


def _nameless_form(placed_shape: PlacedShape, random: Random) -> NDArray[np.bool_]:
    rows, columns = np.mgrid[:SIDE, :SIDE]
    down, across, radius = abs(rows - placed_shape.y), abs(columns - placed_shape.x), placed_shape.radius
    box = (down <= radius) & (across <= radius)
    inside = {
        "diamond": down + across <= radius,
        "frame": box & ((down == radius) | (across == radius)),
        "bar": box & (down <= radius // 2),
        "pole": box & (across <= radius // 2),
    }
    return np.asarray(inside[random.choice(_NAMELESS_FORMS)], dtype=np.bool_)
