"""Scenes with captions as training batches; a batch is a pure function of its step.

ids of a row: the picture's tokens, the caption, the end; then padding, which `-100` in the labels leaves out.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from specviz.scenes.captions import caption
from specviz.scenes.generator import scene_of
from specviz.scenes.raster import pixels
from specviz.scenes.scene import COLOURS, RADII, SHAPES, SIDE, Scene
from specviz.scenes.talk import talk
from specviz.scenes.vocabulary import PICTURE_IDS

END_ID = 0
IGNORED = -100
"""a label that no loss counts"""
SIDE_CELLS = 4


@dataclass(frozen=True)
class CaptionBatch:
    """ids int64 [B, T] · labels [B, T], the token after each place or IGNORED · pictures uint8 [B, 32, 32, 3] ·
    contents int64 [B, 16, 3]: colour, shape and size of the shape whose centre lies in a cell, 0 for none."""

    ids: Tensor
    labels: Tensor
    pictures: Tensor
    contents: Tensor

    @property
    def n_tokens(self) -> int:
        """Predicted tokens."""
        return int((self.labels != IGNORED).sum())

    def to(self, device: torch.device) -> CaptionBatch:
        """The same batch on another device."""
        moved = (one.to(device) for one in (self.ids, self.labels, self.pictures, self.contents))
        return CaptionBatch(*moved)


class Captions:
    """Batches of captions of training scenes, or of talk behind a picture that says nothing about it."""

    def __init__(self, tokenizer: Tokenizer, batch_size: int, seed: int, talks: bool = False) -> None:
        self._tokenizer, self._batch_size, self._seed, self._talks = tokenizer, batch_size, seed, talks

    def batch(self, step: int) -> CaptionBatch:
        """The batch of one optimiser step."""
        first = (self._seed << 32) + step * self._batch_size
        scenes = [scene_of("train", first + row) for row in range(self._batch_size)]
        texts = [
            talk(Random(first + row)) if self._talks else caption(one, Random(first + row))
            for row, one in enumerate(scenes)
        ]
        return batch_of(self._tokenizer, scenes, texts)


def batch_of(tokenizer: Tokenizer, scenes: list[Scene], texts: list[str]) -> CaptionBatch:
    """These texts behind the pictures of these scenes."""
    rows = [[*PICTURE_IDS, *tokenizer.encode(" " + text).ids, END_ID] for text in texts]
    longest = max(map(len, rows))
    ids = torch.full((len(rows), longest), END_ID)
    labels = torch.full((len(rows), longest), IGNORED)
    for at, row in enumerate(rows):
        ids[at, : len(row)] = torch.tensor(row)
        labels[at, len(PICTURE_IDS) - 1 : len(row) - 1] = ids[at, len(PICTURE_IDS) : len(row)]
    pictures = torch.from_numpy(np.stack([pixels(one) for one in scenes]))
    return CaptionBatch(ids, labels, pictures, torch.stack([_contents(one) for one in scenes]))


def _contents(scene: Scene) -> Tensor:
    """What lies in each cell [16, 3]; see `CaptionBatch.contents`."""
    cells = torch.zeros(SIDE_CELLS**2, 3, dtype=torch.int64)
    for one in scene.shapes:
        cell = SIDE_CELLS * one.y // SIDE * SIDE_CELLS + SIDE_CELLS * one.x // SIDE
        kinds = (COLOURS.index(one.colour), SHAPES.index(one.shape), tuple(RADII).index(one.size))
        cells[cell] = torch.tensor(kinds) + 1
    return cells
