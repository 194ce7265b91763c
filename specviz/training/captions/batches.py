"""Scenes with captions as training batches; a batch is a pure function of its step.

ids of a row: the picture's tokens, the caption, the end; then padding, which `-100` in the labels leaves out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from specviz.scenes.captions import caption
from specviz.scenes.generator import scene_of
from specviz.scenes.raster import pixels
from specviz.scenes.scene import Scene
from specviz.scenes.talk import talk
from specviz.scenes.vocabulary import PICTURE_IDS, is_grounded, token_strings

END_ID = 0
IGNORED = -100
"""a label that no loss counts"""
UNKNOWN_ID = 1
UNREAD = 0.3
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
    """Batches of captions of training scenes, or of talk behind a picture that says nothing about it.

    `unread`: see UNREAD."""

    def __init__(
        self, tokenizer: Tokenizer, batch_size: int, seed: int, talks: bool = False, unread: float = 0.0
    ) -> None:
        self._tokenizer, self._batch_size, self._seed, self._talks = tokenizer, batch_size, seed, talks
        self._unread = unread
        self._grounded = torch.tensor([is_grounded(token) for token in token_strings()])

    def batch(self, step: int) -> CaptionBatch:
        """The batch of one optimiser step."""
        first = (self._seed << 32) + step * self._batch_size
        scenes = [scene_of("train", first + row) for row in range(self._batch_size)]
        texts = [
            talk(Random(first + row)) if self._talks else caption(one, Random(first + row))
            for row, one in enumerate(scenes)
        ]
        whole = batch_of(self._tokenizer, scenes, texts)
        if not self._unread:
            return whole
        drawn = torch.rand(whole.ids.shape, generator=torch.Generator().manual_seed(first)) < self._unread
        return replace(whole, ids=whole.ids.masked_fill(drawn & self._grounded[whole.ids], UNKNOWN_ID))


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
    return CaptionBatch(ids, labels, pictures)
