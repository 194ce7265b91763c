"""A pair of Llama models small enough to sample thousands of texts from: random weights, the real forward pass."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from specviz.lm.base import ModelInfo
from specviz.lm.llama.model import LlamaModel
from specviz.lm.llama.shape import LlamaShape

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
