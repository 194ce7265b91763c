"""Models small enough to be walked or sampled from by the thousand, their tokenizers, and weights for the toys' heads.

A pair of Llama models with random weights has the real forward pass. The toys' tokenizers have one letter per token,
and a second vocabulary most of the letters under other ids, one of its own, and lacks one. Untrained heads all say what
the target said, whatever their method, and the walks of two methods would be one walk: the walk moves a toy's modules
first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from weakref import WeakSet

import torch
from torch import Tensor

from specviz.drafters.base import Drafter
from specviz.drafters.learned.heads import HeadDrafter
from specviz.drafters.learned.module import DrafterModule
from specviz.lm.base import GivesFeatures, ModelInfo
from specviz.lm.llama.model import LlamaModel
from specviz.lm.llama.shape import LlamaShape
from specviz.lm.text import TextCodec
from specviz.options import Options
from specviz.protocol.trainings import UNTRAINED

SHAPE = LlamaShape(
    layers=1,
    hidden_size=16,
    heads=2,
    kv_heads=1,
    head_size=8,
    vocab_size=8,
    context_length=64,
    norm_eps=1e-6,
    rope_theta=10000.0,
    tied=False,
    ffn_size=24,
)
SCALE, NOISE = 2.0, 0.8
"""of the weights, so that the distributions are neither flat nor certain; of what the drafter differs in"""


def small_pair(seed: int = 5, shape: LlamaShape = SHAPE, noise: float = NOISE) -> tuple[LlamaModel, LlamaModel]:
    """Target and drafter in float32 on the CPU; the drafter is the target with noise on its weights."""
    generator = torch.Generator().manual_seed(seed)
    weights = {name: _random(size, generator) for name, size in shape.weight_sizes().items()}
    noisy = {
        name: weight if weight.dim() == 1 else weight + noise * _random(tuple(weight.shape), generator)
        for name, weight in weights.items()
    }
    return LlamaModel(shape, weights, _info("target", shape)), LlamaModel(shape, noisy, _info("drafter", shape))


def _random(size: tuple[int, ...], generator: torch.Generator) -> Tensor:
    if len(size) == 1:
        return torch.ones(size)
    return torch.randn(size, generator=generator) * (SCALE / math.sqrt(size[-1]))


def _info(role: str, shape: LlamaShape) -> ModelInfo:
    parameters = sum(math.prod(size) for size in shape.weight_sizes().values())
    return ModelInfo(
        name=f"random-{role}",
        architecture="LlamaForCausalLM",
        adapter="lean-llama",
        parameters=parameters,
        layers=shape.layers,
        hidden_size=shape.hidden_size,
        vocab_size=shape.vocab_size,
        context_length=shape.context_length,
        dtype="float32",
        weights_sha256="",
        eos_ids=(),
    )


FIRST_LETTER = 0x4E00
"""one of many that no tokenizer changes"""
STRANGE = "x"


@cache
def toy_texts(size: int) -> tuple[TextCodec, TextCodec]:
    """(target's, drafter's), of `size` tokens each: the target's last letter is the drafter's first, and so on; the
    target's first letter has no counterpart, nor has the drafter's last token."""
    letters = [chr(FIRST_LETTER + i) for i in range(size)]
    return _codec("target", letters), _codec("drafter", [*reversed(letters[1:]), STRANGE])


def _codec(name: str, letters: Sequence[str]) -> TextCodec:
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({letter: i for i, letter in enumerate(letters)}, unk_token=letters[-1]))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    return TextCodec(tokenizer, name)


SPREAD = 1.0
"""standard deviation of what is added to every weight; the toys' logits have one of 1.5"""

STILL = frozenset(["masked_block"])
"""left as they begin: one kind may say what the target said, and this one's walk would be the longest otherwise"""

_MOVED: WeakSet[DrafterModule[Options]] = WeakSet()


def move_weights(drafter: Drafter[Options], target: GivesFeatures) -> None:
    """Give the untrained heads that this drafter will find for the toy weights of their own, the same in every run."""
    if not isinstance(drafter, HeadDrafter) or drafter.options.weights != UNTRAINED or drafter.name in STILL:
        return
    module = drafter.load(target)
    if module in _MOVED:
        return
    generator = torch.Generator().manual_seed(sum(module.name.encode()))
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(SPREAD * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype))
    _MOVED.add(module)
