"""A language model that looks at a picture: some tokens of its prompt stand for what its eyes see.

Shown a picture, it is the same model with the embeddings of those tokens replaced; cache, tree masks, heads and every
method built on them stay what they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy

import torch
from torch import Tensor

from specviz.lm.base import ModelInfo
from specviz.lm.eyes import Eyes
from specviz.lm.llama import LlamaModel
from specviz.lm.llama_config import LlamaShape


class Captioner(LlamaModel):
    """Without a picture its picture tokens are ordinary ones that were never trained."""

    def __init__(self, shape: LlamaShape, weights: Mapping[str, Tensor], info: ModelInfo, eyes: Eyes) -> None:
        super().__init__(shape, weights, info)
        self._eyes = eyes

    @property
    def picture_ids(self) -> list[int]:
        """See `lm.base.SeesPictures`."""
        return self._eyes.shape.token_ids

    @torch.inference_mode()
    def seeing(self, pixels: Tensor) -> Captioner:
        """See `lm.base.SeesPictures`. All weights but one small table are shared."""
        seen = self._eyes(pixels.to(self.device)[None])[0]
        shown = copy(self)
        # Not in the table's own precision: published in 16 bits, it would round what is seen.
        shown._embedding = self._embedding.to(seen.dtype, copy=True)
        shown._embedding[self.picture_ids] = seen
        shown._last_trimmed = None  # it was made of the model that saw something else
        return shown
