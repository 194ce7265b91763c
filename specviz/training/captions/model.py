"""What is trained: a Llama language model, and eyes whose embeddings take the places of the picture's tokens.

Eyes that have a cell for every place of the picture learn first and alone: a reader, thrown away after training, asks
them what lies in each cell. Then they are fixed, and the language model learns captions from what they see. Smaller
eyes learn from the captions.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM

from specviz.lm.llama.captioner import Eyes, EyesShape
from specviz.scenes.vocabulary import PICTURE_IDS
from specviz.training.captions.batches import IGNORED, CaptionBatch
from specviz.training.captions.lessons import KINDS, NOT_ASKED, Lesson

CONTEXT = 128
"""tokens: a picture, the longest caption, and room for a visitor's own words"""


def language_config(vocabulary: int, hidden: int, layers: int, heads: int, intermediate: int) -> LlamaConfig:
    """The language model's sizes. Its head is its own: the embedding's picture rows mean nothing to it."""
    return LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=hidden,
        intermediate_size=intermediate,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        max_position_embeddings=CONTEXT,
        rope_parameters={"rope_type": "default", "rope_theta": 1000.0},
        tie_word_embeddings=False,
        bos_token_id=0,
        eos_token_id=0,
        pad_token_id=1,
    )


def waves(grid: int, width: int) -> Tensor:
    """Where the position table of taught eyes begins [grid², width]: sines and cosines of row and column, from 32
    patches long to two. Neighbours begin alike, so the eyes find out sooner than from noise which patches touch."""
    turns = 2 * torch.pi / 32 * torch.arange(grid)[:, None] * torch.arange(1, width // 4 + 1)
    line = 0.5 * torch.cat((turns.sin(), turns.cos()), 1)
    return torch.cat((line[:, None].expand(-1, grid, -1), line[None].expand(grid, -1, -1)), -1).flatten(0, 1)


class CaptionModel(nn.Module):
    """A language model with or without eyes, as it is trained."""

    def __init__(self, config: LlamaConfig, eyes: EyesShape | None, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.language = LlamaForCausalLM(config)
        for layer in self.language.model.layers:
            nn.init.zeros_(layer.self_attn.o_proj.weight)
            nn.init.zeros_(layer.mlp.down_proj.weight)
        self.eyes = None if eyes is None else Eyes(eyes, config.hidden_size)
        has_reader = eyes is not None and eyes.cells == len(PICTURE_IDS)
        self.reader = nn.Linear(config.hidden_size, sum(KINDS) + len(KINDS)) if has_reader else None
        if has_reader and self.eyes is not None:
            self.eyes.position.data.copy_(waves(self.eyes.grid, self.eyes.shape.width))

    @property
    def device(self) -> torch.device:
        return self.language.device

    def reading_loss(self, lesson: Lesson) -> Tensor:
        """What the reader gets wrong about the cells: the cross entropies of all questions together."""
        assert self.eyes is not None
        assert self.reader is not None, "only eyes with a cell for every place are taught alone."
        says = self.reader(self.eyes(lesson.pictures)).split([count + 1 for count in KINDS], -1)
        losses = (
            functional.cross_entropy(logits.flatten(0, 1), lesson.answers[..., kind].flatten(), ignore_index=NOT_ASKED)
            for kind, logits in enumerate(says)
        )
        return torch.stack(list(losses)).sum()

    def loss(self, batch: CaptionBatch) -> Tensor:
        """Cross entropy of the captions' tokens."""
        inner = self.language.model
        x = inner.embed_tokens(batch.ids)
        if self.eyes is not None:
            x = torch.cat((self.eyes(batch.pictures), x[:, len(PICTURE_IDS) :]), 1)
        # The layers are walked directly: no cache and no mask object, so attention takes its causal fast path.
        turns = inner.rotary_emb(x, torch.arange(x.shape[1], device=x.device)[None])
        for layer in inner.layers:
            x = layer(x, position_embeddings=turns)
        counted = batch.labels != IGNORED
        logits = self.language.lm_head(inner.norm(x[counted]))
        return functional.cross_entropy(logits, batch.labels[counted])
