"""A language model that looks at a picture: some tokens of its prompt stand for what its eyes see.

    pixels ─► patches of 4 × 4 ─► blocks over all patches ─► mean over each cell's patches ─► projector ─► embeddings

The patches and blocks are those of a vision transformer (Dosovitskiy et al. 2010.11929), the projector that of LLaVA
(Liu et al. 2310.03744). Shown a picture, it is the same model with the embeddings of those tokens replaced; cache, tree
masks, heads and every method built on them stay what they are.

Shapes: B pictures, P patches, C cells, W the eyes' own width, H the language model's.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from specviz.errors import ModelError
from specviz.lm.base import ModelInfo
from specviz.lm.llama.model import LlamaModel
from specviz.lm.llama.shape import LlamaShape

PREFIX = "eyes."
"""of their tensors among a checkpoint's"""


@dataclass(frozen=True, slots=True)
class EyesShape:
    """Sizes, as under `eyes` in a checkpoint's `config.json`."""

    first_id: int
    """the token of the first place that the picture takes in a prompt; the others follow it"""
    places: int = 16
    """how many tokens stand for the picture"""
    cells: int = 16
    """how many different embeddings there are; each serves places / cells tokens that lie in its cell"""
    side: int = 32
    patch: int = 4
    width: int = 64
    heads: int = 4
    layers: int = 2

    @classmethod
    def from_config(cls, config: Mapping[str, Any], name: str) -> EyesShape:
        """Raises ModelError where the sizes cannot be."""
        try:
            shape = cls(**{key: int(value) for key, value in config.items()})
        except (TypeError, ValueError) as error:
            raise ModelError(f"the eyes in the config.json of {name} are misstated ({error}).") from error
        grid, cells, places = shape.side // max(1, shape.patch), round(shape.cells**0.5), round(shape.places**0.5)
        if not (
            min(asdict(shape).values()) >= 0 < shape.patch * shape.cells * shape.width * shape.heads
            and grid * shape.patch == shape.side
            and cells**2 == shape.cells
            and places**2 == shape.places
            and grid % cells == places % cells == shape.width % shape.heads == 0
        ):
            raise ModelError(f"the sizes of the eyes in the config.json of {name} do not fit each other.")
        return shape

    @property
    def token_ids(self) -> list[int]:
        """The tokens that stand for the picture, cell by cell, row by row."""
        return list(range(self.first_id, self.first_id + self.places))


class EyesBlock(nn.Module):
    """One block of a vision transformer, norms first; every patch sees every other."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm, self.mlp_norm = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv, self.output = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)
        nn.init.zeros_(self.output.weight)
        nn.init.zeros_(self.down.weight)

    def forward(self, x: Tensor) -> Tensor:
        """[B, P, W] → [B, P, W]."""
        pictures, patches, width = x.shape
        qkv = self.qkv(self.attention_norm(x)).view(pictures, patches, 3, self.heads, -1)
        seen = functional.scaled_dot_product_attention(*qkv.permute(2, 0, 3, 1, 4).unbind(0))
        mixed: Tensor = self.output(seen.transpose(1, 2).reshape(pictures, patches, width))
        x = x + mixed
        inner: Tensor = self.down(functional.gelu(self.up(self.mlp_norm(x))))
        return x + inner


class Eyes(nn.Module):
    """The encoder with its projector."""

    def __init__(self, shape: EyesShape, hidden: int) -> None:
        super().__init__()
        self.shape = shape
        self.grid = shape.side // shape.patch
        self.patches = nn.Linear(3 * shape.patch**2, shape.width)
        self.position = nn.Parameter(0.02 * torch.randn(self.grid**2, shape.width))
        self.layers = nn.ModuleList(EyesBlock(shape.width, shape.heads) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.width)
        self.inner, self.outer = nn.Linear(shape.width, hidden), nn.Linear(hidden, hidden)

    def forward(self, pixels: Tensor) -> Tensor:
        """pixels uint8 [B, side, side, 3] → embeddings [B, places, H]."""
        patch, grid = self.shape.patch, self.grid
        light = pixels.to(self.position.dtype) / 127.5 - 1
        cut = light.view(-1, grid, patch, grid, patch, 3).transpose(2, 3).reshape(-1, grid**2, 3 * patch**2)
        x = self.patches(cut) + self.position
        for layer in self.layers:
            x = layer(x)
        cells = round(self.shape.cells**0.5)
        each = grid // cells
        pooled = self.norm(x).view(-1, cells, each, cells, each, self.shape.width).mean((2, 4))
        seen: Tensor = self.outer(functional.gelu(self.inner(pooled)))
        again = round(self.shape.places**0.5) // cells
        return seen.repeat_interleave(again, 1).repeat_interleave(again, 2).flatten(1, 2)

    @classmethod
    def stored(cls, shape: EyesShape, hidden: int, weights: Mapping[str, Tensor], name: str) -> Eyes:
        """From a checkpoint's tensors, in their precision and place. Raises ModelError where they do not fit."""
        with torch.device("meta"):
            eyes = cls(shape, hidden)
        for key, tensor in eyes.state_dict().items():
            found = weights[PREFIX + key].shape if PREFIX + key in weights else "missing"
            if found != tensor.shape:
                raise ModelError(
                    f"the eyes of {name} do not fit its config.json: {key} should be {tuple(tensor.shape)}, "
                    f"but is {found if isinstance(found, str) else tuple(found)}."
                )
        eyes.load_state_dict({key: weights[PREFIX + key] for key in eyes.state_dict()}, assign=True)
        return eyes.requires_grad_(False)


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
        shown._few_rows = shown._compiled_with(shown._head)
        shown._last_trimmed = None  # it was made of the model that saw something else
        return shown
