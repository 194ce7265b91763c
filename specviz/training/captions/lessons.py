"""What captioners learn from: pictures with things that have no name, questions about them, and scenes with captions.

Eyes that only ever meet red, blue and white triangles learn those three, not what a triangle is, and misread a purple
one. So a third of the shapes is painted in a colour that has no name, and a third of the colours fills a form that has
no name; what has no name is not asked. The pairs that are kept out of training stay out. The eyes learn what lies in
each cell of the grid, and where; the same pictures stand before the captions that the language model learns from.

ids of a row of captions: the picture's tokens, the caption, the end; then padding, which `-100` in the labels leaves
out. A batch is a pure function of its step.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from random import Random

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor

from specviz.scenes.captions import GROUNDED, PICTURE_IDS, caption, talk
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
    pixels,
    scene_of,
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


END_ID = 0
IGNORED = -100
"""a label that no loss counts"""
UNKNOWN_ID = 1
UNREAD = 0.4
"""of the words that the picture decides, how many the captioner reads as an unknown one while it learns: what comes
next it has to see then, instead of guessing which colour goes with which shape"""


@dataclass(frozen=True)
class CaptionBatch:
    """ids int64 [B, T] · labels [B, T], the token after each place or IGNORED · pictures uint8 [B, 32, 32, 3]."""

    ids: Tensor
    labels: Tensor
    pictures: Tensor

    @property
    def n_tokens(self) -> int:
        """Predicted tokens."""
        return int((self.labels != IGNORED).sum())

    def to(self, device: torch.device) -> CaptionBatch:
        """The same batch on another device."""
        return CaptionBatch(self.ids.to(device), self.labels.to(device), self.pictures.to(device))


class Captions:
    """Batches of captions of training scenes, or of talk behind a picture that says nothing about it."""

    def __init__(self, tokenizer: Tokenizer, batch_size: int, seed: int, talks: bool = False) -> None:
        self._tokenizer, self._batch_size, self._seed, self._talks = tokenizer, batch_size, seed, talks

    def batch(self, step: int) -> CaptionBatch:
        """The batch of one optimiser step."""
        first = (self._seed << 32) + step * self._batch_size
        scenes = [scene_of("train", first + row) for row in range(self._batch_size)]
        texts = [
            talk(Random(first + row)) if self._talks else caption(scene, Random(first + row))
            for row, scene in enumerate(scenes)
        ]
        return self._behind_pictures(scenes, texts, first)

    def _behind_pictures(self, scenes: list[Scene], texts: list[str], first: int) -> CaptionBatch:
        return batch_of(self._tokenizer, scenes, texts)


class LessonCaptions(Captions):
    """Captions as the captioner learns them: of lessons' pictures, whose nameless things are neither read nor to be
    said, and with some of the other words that the picture decides unread; see UNREAD."""

    def __init__(self, tokenizer: Tokenizer, batch_size: int, seed: int) -> None:
        super().__init__(tokenizer, batch_size, seed)
        self._sizes, self._grounded = (_ids_of(tokenizer, kind) for kind in (RADII, GROUNDED))

    def _behind_pictures(self, scenes: list[Scene], texts: list[str], first: int) -> CaptionBatch:
        batch = batch_of(self._tokenizer, scenes, texts)
        unread = torch.rand(batch.ids.shape, generator=torch.Generator().manual_seed(first)) < UNREAD
        unread &= torch.isin(batch.ids, self._grounded)
        for row, scene in enumerate(scenes):
            picture, nameless = shown(scene, Random(first + row))
            batch.pictures[row] = torch.from_numpy(picture)
            sizes = torch.isin(batch.ids[row], self._sizes).nonzero()[:, 0].tolist()
            for placed_shape, size in zip(scene.in_order(), sizes, strict=True):
                if nameless[placed_shape] != "nothing":  # a caption says size, colour and shape, one behind the other
                    hidden = size + (1 if nameless[placed_shape] == "colour" else 2)
                    unread[row, hidden] = True
                    batch.labels[row, hidden - 1] = IGNORED
        return replace(batch, ids=batch.ids.masked_fill(unread, UNKNOWN_ID))


def _ids_of(tokenizer: Tokenizer, kind: Collection[str]) -> Tensor:
    """The ids of these words."""
    return torch.tensor([id for token, id in tokenizer.get_vocab().items() if token.strip() in kind])


def batch_of(tokenizer: Tokenizer, scenes: list[Scene], texts: list[str]) -> CaptionBatch:
    """These texts behind the pictures of these scenes."""
    rows = [[*PICTURE_IDS, *tokenizer.encode(" " + text).ids, END_ID] for text in texts]
    longest = max(map(len, rows))
    ids = torch.full((len(rows), longest), END_ID)
    labels = torch.full((len(rows), longest), IGNORED)
    for at, row in enumerate(rows):
        ids[at, : len(row)] = torch.tensor(row)
        labels[at, len(PICTURE_IDS) - 1 : len(row) - 1] = ids[at, len(PICTURE_IDS) : len(row)]
    pictures = torch.from_numpy(np.stack([pixels(scene) for scene in scenes]))
    return CaptionBatch(ids, labels, pictures)
