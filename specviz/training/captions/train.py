"""Trains the captioner and its three drafters, one after the other; each resumes where it was stopped.

captioner: its eyes alone on lessons, then, with these eyes as they are, its language model on captions of lessons
caption-drafter-text: no eyes, on talk · -tuned: the same weights, on captions · -eyes: its own small eyes, on captions
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaForCausalLM

from specviz.lm.llama.captioner import EyesShape
from specviz.scenes.vocabulary import END, PICTURE_IDS, PICTURE_TOKENS, PIECES, UNKNOWN, token_strings
from specviz.training.captions.batches import CaptionBatch, Captions, LessonCaptions
from specviz.training.captions.lessons import Lesson, Lessons
from specviz.training.captions.model import CaptionModel, language_config
from specviz.training.loop import Loop, LoopOptions
from specviz.training.optimiser import Budget
from specviz.training.windows import Batch, Batches

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
    """One token per word; see `scenes.vocabulary`."""
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
