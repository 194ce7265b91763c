"""The captioner and its three drafters: what is trained, one after the other; each resumes where it was stopped.

captioner: its eyes alone on lessons, then, with these eyes as they are, its language model on captions of lessons
caption-drafter-text: no eyes, on talk · -tuned: the same weights, on captions · -eyes: its own small eyes, on captions

Each is a Llama language model with or without eyes, whose embeddings take the places of the picture's tokens. Eyes that
have a cell for every place of the picture learn first and alone: a reader, thrown away after training, asks them what
lies in each cell. Smaller eyes learn from the captions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor, nn
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM

from specviz.lm.llama.captioner import Eyes, EyesShape
from specviz.scenes.captions import END, PICTURE_IDS, PICTURE_TOKENS, PIECES, UNKNOWN, token_strings
from specviz.training.captions.lessons import (
    IGNORED,
    KINDS,
    NOT_ASKED,
    CaptionBatch,
    Captions,
    Lesson,
    LessonCaptions,
    Lessons,
)
from specviz.training.loop import Loop, LoopOptions
from specviz.training.optimiser import Budget
from specviz.training.target import model_config
from specviz.training.windows import Batch, Batches

CONTEXT = 128
"""tokens: a picture, the longest caption, and room for a visitor's own words"""


def language_config(vocabulary: int, hidden: int, layers: int, heads: int, intermediate: int) -> LlamaConfig:
    """The language model's sizes. Its head is its own: the embedding's picture rows mean nothing to it."""
    return model_config(layers, hidden, heads, intermediate, vocabulary, context=CONTEXT, theta=1000.0, tied=False)


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


ROLES = ("captioner", "caption-drafter-text", "caption-drafter-tuned", "caption-drafter-eyes")
"""what is shipped"""
EYES_ALONE = "captioner-eyes"
"""the captioner before its first caption"""
STAGES = (EYES_ALONE, *ROLES)
"""in the order of training"""
BEGINS_WITH = {ROLES[0]: EYES_ALONE, ROLES[2]: ROLES[1]}
"""whose weights a stage begins with; the others begin with fresh ones"""
TOKENS = {EYES_ALONE: 140_000, ROLES[0]: 1_000_000, ROLES[1]: 200_000, ROLES[2]: 200_000, ROLES[3]: 260_000}
"""of text that each learns from; for the eyes alone, pictures"""
EYES = {
    ROLES[0]: EyesShape(first_id=PICTURE_IDS[0], layers=3),
    ROLES[3]: EyesShape(first_id=PICTURE_IDS[0], cells=4, width=48, heads=3, layers=1),
}
SEED = 0

Report = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class CaptionTraining:
    """How long, and where checkpoints lie."""

    work: Path
    minutes: float = 0.0
    """of wall-clock time for each at most; 0: tokens alone decide"""
    batch_size: int = 32
    threads: int = 1


def tokenizer() -> Tokenizer:
    """One token per word; see `scenes.captions`."""
    strings = token_strings()
    made = Tokenizer(models.WordLevel({string: id for id, string in enumerate(strings)}, unk_token=UNKNOWN))
    made.pre_tokenizer = pre_tokenizers.Split(Regex(PIECES), behavior="isolated")
    made.decoder = decoders.Fuse()
    made.add_special_tokens([END, UNKNOWN, *PICTURE_TOKENS])
    return made


def fresh(role: str, vocabulary: int) -> CaptionModel:
    """New weights for a role."""
    if role in (EYES_ALONE, ROLES[0]):
        config = language_config(vocabulary, hidden=256, layers=6, heads=4, intermediate=640)
    else:
        config = language_config(vocabulary, hidden=64, layers=2, heads=2, intermediate=160)
    return CaptionModel(config, EYES.get(ROLES[0] if role == EYES_ALONE else role), SEED)


def checkpoint(work: Path, role: str) -> Path:
    return work / "captions" / f"{role}.pt"


def trained(training: CaptionTraining, role: str, report: Report) -> Loop:
    """Train one stage to the end of its budget, from its checkpoint where there is one."""
    words = tokenizer()
    model = fresh(role, words.get_vocab_size())
    if role in BEGINS_WITH:
        before = torch.load(checkpoint(training.work, BEGINS_WITH[role]), weights_only=True)
        model.load_state_dict(before["model"])
    if role == ROLES[0] and model.eyes is not None:
        model.eyes.requires_grad_(False)  # what they see is taken apart already; from captions they would learn pairs
    options = LoopOptions(
        Budget(TOKENS[role], training.minutes),
        matrix_lr=0.02,
        embedding_lr=3e-3,
        weight_decay=0.02,
        decay=0.6,
        checkpoint_every_s=60.0,
        validate_every_s=1e9,
    )
    seed = SEED + (*ROLES, EYES_ALONE).index(role)
    batches: Captions | Lessons
    if role == EYES_ALONE:
        batches = Lessons(training.batch_size, seed)
    elif role == ROLES[0]:
        batches = LessonCaptions(words, training.batch_size, seed)
    else:
        batches = Captions(words, training.batch_size, seed, talks=role == ROLES[1])

    def objective(model: LlamaForCausalLM, batch: Batch, step: int) -> torch.Tensor:
        learner = cast(CaptionModel, model)
        return learner.reading_loss(batch) if isinstance(batch, Lesson) else learner.loss(cast(CaptionBatch, batch))

    path = checkpoint(training.work, role)
    loop = Loop(cast(LlamaForCausalLM, model), cast(Batches, batches), objective, options, path)
    loop.run(report, lambda _: 0.0)
    return loop
