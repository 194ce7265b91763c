"""Scenes with captions as training batches; a batch is a pure function of its step.

ids of a row: the picture's tokens, the caption, the end; then padding, which `-100` in the labels leaves out.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from random import Random

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from specviz.scenes.captions import GROUNDED, caption
from specviz.scenes.generator import scene_of
from specviz.scenes.scene import RADII, Scene, pixels
from specviz.scenes.vocabulary import PICTURE_IDS, talk
from specviz.training.captions.lessons import shown

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
