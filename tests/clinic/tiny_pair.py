"""A pair of tiny checkpoints with random weights, and prompts for them without end: cases by the hundred in seconds.

Their distributions are flat, so that two tokens lie close at every other place: bfloat16 often writes another text, and
what a fault moves is small beside what a trained model would show.
"""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import torch

from tests.lm.tiny_models import random_model, write_tokenizer

SIZES = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_attention_heads": 4,
    "num_hidden_layers": 3,
    "max_position_embeddings": 256,
}
WORDS = 60
NOISE = 0.012
"""on the drafter's weights: it accepts about two of three"""


def write_pair(folder: Path) -> tuple[Path, Path]:
    """Folders `target` and `drafter`, the drafter the target with noise on its weights."""
    target = random_model("llama", **SIZES)
    drafter = random_model("llama", **SIZES)
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in drafter.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=NOISE)
    places = folder / "target", folder / "drafter"
    for place, model in zip(places, (target, drafter), strict=True):
        model.save_pretrained(place)
        write_tokenizer(place)
    return places


def prompt(number: int, words: int = 12) -> str:
    """The prompt of this number; no end of text in it."""
    return " ".join(f"w{word}" for word in drawn(number, words))


def drawn(number: int, words: int) -> Sequence[int]:
    generator = Random(number)
    return [generator.randrange(1, WORDS) for _ in range(words)]
