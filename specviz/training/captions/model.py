"""What is trained: a Llama language model, and eyes whose embeddings take the places of the picture's tokens.

The loss is that of the caption's tokens; where there are eyes, a part of it asks them what lies in each cell, through
a reader that is thrown away after training.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM

from specviz.lm.eyes import Eyes, EyesShape
from specviz.scenes.scene import COLOURS, RADII, SHAPES
from specviz.scenes.vocabulary import PICTURE_IDS
from specviz.training.captions.batches import IGNORED, CaptionBatch

CONTEXT = 128
"""tokens: a picture, the longest caption, and room for a visitor's own words"""
READ_WEIGHT = 0.5
"""of what the reader says of the cells, beside the caption"""


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
        kinds = (len(COLOURS) + 1, len(SHAPES) + 1, len(RADII) + 1)
        self.reader = None if eyes is None else nn.Linear(config.hidden_size, sum(kinds))
        self._kinds = list(kinds)

    @property
    def device(self) -> torch.device:
        return self.language.device

    def loss(self, batch: CaptionBatch) -> Tensor:
        """Cross entropy of the captions' tokens; plus, with eyes that have a cell for every place, what the reader
        gets wrong."""
        inner = self.language.model
        x = inner.embed_tokens(batch.ids)
        read = x.new_zeros(())
        if self.eyes is not None and self.reader is not None:
            seen = self.eyes(batch.pictures)
            x = torch.cat((seen, x[:, len(PICTURE_IDS) :]), 1)
            if self.eyes.shape.cells == len(PICTURE_IDS):
                says = self.reader(seen).split(self._kinds, -1)
                for kind, logits in enumerate(says):
                    read = read + functional.cross_entropy(logits.flatten(0, 1), batch.contents[..., kind].flatten())
        # The layers are walked directly: no cache and no mask object, so attention takes its causal fast path.
        turns = inner.rotary_emb(x, torch.arange(x.shape[1], device=x.device)[None])
        for layer in inner.layers:
            x = layer(x, position_embeddings=turns)
        counted = batch.labels != IGNORED
        logits = self.language.lm_head(inner.norm(x[counted]))
        loss: Tensor = functional.cross_entropy(logits, batch.labels[counted]) + READ_WEIGHT * read
        return loss
