"""Models small enough to be walked or sampled from by the thousand, and small option sets of every method.

A pair of Llama models with random weights has the real forward pass. The toys' tokenizers have one letter per token,
and a second vocabulary most of the letters under other ids, one of its own, and lacks one. Untrained heads all say what
the target said, whatever their method, and the walks of two methods would be one walk: the walk moves a toy's modules
first. Option sets are shared by the proof and the contracts; a method that is not named there has its defaults.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from weakref import WeakSet

import torch
from torch import Tensor

from specviz.drafters.base import Drafter
from specviz.drafters.learned.flash_drafting import FlashDrafter
from specviz.drafters.learned.heads import HeadDrafter
from specviz.drafters.learned.module import DrafterModule
from specviz.lm.base import GivesFeatures, ModelInfo
from specviz.lm.llama.model import LlamaModel
from specviz.lm.llama.shape import LlamaShape
from specviz.lm.text import TextCodec
from specviz.options import Options
from specviz.protocol.trainings import UNTRAINED
from specviz.stop_policies.base import STOP_POLICIES, StopOptions, StopPolicy
from specviz.stop_policies.learned import FEATURES, HEAD

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
    if (
        not isinstance(drafter, HeadDrafter | FlashDrafter)
        or drafter.options.weights != UNTRAINED
        or drafter.name in STILL
    ):
        return
    module = drafter.load(target)
    if module in _MOVED:
        return
    generator = torch.Generator().manual_seed(sum(module.name.encode()))
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(SPREAD * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype))
    _MOVED.add(module)


OPTION_SETS: dict[str, tuple[dict[str, object], ...]] = {
    "model": (
        {"gamma": 2},
        {"gamma": 3},
        {"gamma": 2, "draw": "without_replacement"},
        {"gamma": 3, "draw": "top_k"},
        {"branching": (2, 1)},
        {"branching": (2, 1), "draw": "iid"},
        {"branching": (3, 1)},
        {"branching": (2, 2)},
        {"branching": (2, 2), "draw": "top_k"},
    ),
    "cross_vocabulary": (
        {"gamma": 2},
        {"branching": (2, 1)},
        {"branching": (2,), "draw": "iid"},
        {"branching": (2, 1), "draw": "top_k"},
    ),
    "amusd": (
        {"drafts_per_pass": 2, "ahead": 3, "widest": 2},
        {"drafts_per_pass": 1, "ahead": 2},
    ),
    "pearl": ({"in_turn": True, "gamma": 2}, {"in_turn": True, "gamma": 3}),
    "ssd": (
        {"in_turn": True, "gamma": 2, "fan_out": 1},
        {"in_turn": True, "gamma": 2, "fan_out": 2},
        {"in_turn": True, "gamma": 3, "fan_out": 0},
    ),
    "jacobi": (
        {"block": 2},
        {"block": 2, "mode": "gauss_seidel"},
        {"block": 1, "start": "random"},
    ),
    "lookahead": (
        {"window": 2, "ngram": 2, "guesses": 2, "prompt_pool": True},  # or texts end before the window gives a guess
        {"window": 1, "ngram": 3, "guesses": 1, "prompt_pool": True},
    ),
    "cross_kv": (
        {"weights": "untrained", "gamma": 2},
        {"weights": "untrained", "branching": (2, 1)},
        {"weights": "untrained", "preset": "glide", "branching": (2, 1), "draw": "iid"},
        {"weights": "untrained", "preset": "tandem", "gamma": 2},
        {"weights": "untrained", "preset": "tandem", "branching": (2, 1), "draw": "top_k"},
    ),
    "eagle": (
        {"weights": "untrained", "gamma": 2},
        {"weights": "untrained", "gamma": 3},
        {"weights": "untrained", "branching": (2, 1)},
        {"weights": "untrained", "branching": (2, 1), "draw": "iid"},
        {"weights": "untrained", "branching": (2, 1), "draw": "top_k"},
    ),
    "fspad": (
        {"weights": "untrained", "gamma": 2},
        {"weights": "untrained", "branching": (2, 1)},
    ),
    "dflash": (
        {"weights": "untrained", "gamma": 2},
        {"weights": "untrained", "branching": (2, 1)},
        {"weights": "untrained", "branching": (2, 1), "draw": "iid"},
    ),
    "dspark": (
        {"weights": "untrained", "gamma": 2},
        {"weights": "untrained", "gamma": 3},
        {"weights": "untrained", "branching": (2, 1), "draw": "top_k"},
    ),
    "early_exit": (
        {"exit_layer": 1, "gamma": 2},
        {"exit_layer": 1, "gamma": 3},
        {"exit_layer": 1, "branching": (2, 2)},
        {"exit_layer": 1, "branching": (2, 1), "draw": "iid"},
    ),
    "hydra": (
        {"weights": "untrained", "nodes": 4},
        {"weights": "untrained", "nodes": 0, "gamma": 2},
        {"weights": "untrained", "nodes": 0, "gamma": 2, "draw": "without_replacement"},
    ),
    "kangaroo": (
        {"weights": "untrained", "exit_layer": 1, "gamma": 2},
        {"weights": "untrained", "exit_layer": 1, "branching": (2, 1), "threshold": 0.0},
    ),
    "markov": (
        {"weights": "untrained", "nodes": 4, "width": 3},
        {"weights": "untrained", "nodes": 0, "gamma": 2},
    ),
    "masked_block": (
        {"weights": "untrained", "nodes": 4, "width": 3, "passes": 1},
        {"weights": "untrained", "nodes": 0, "gamma": 2, "passes": 1},
        {"weights": "untrained", "nodes": 3, "lattice": False},
    ),
    "medusa": (
        {"weights": "untrained", "nodes": 4},
        {"weights": "untrained", "nodes": 0, "gamma": 2},
        {"weights": "untrained", "nodes": 0, "gamma": 3, "draw": "top_k"},
    ),
    "self_speculative": (
        {"skip_mlp": (1,), "gamma": 2},
        {"skip_attention": (1, 2), "skip_mlp": (2,), "branching": (2, 1)},
    ),
    "small_model": (
        {"weights": "untrained", "gamma": 2},
        {"weights": "untrained", "branching": (2, 1)},
    ),
    "random": ({"gamma": 2}, {"gamma": 1}),
    "ngram": ({"gamma": 2}, {"gamma": 3, "min_ngram": 2}, {"gamma": 2, "continuations": 2}),
    "merged": (
        {"gamma": 2, "branching": ()},
        {"branching": (1, 1), "draw": "without_replacement"},
        {"branching": (2,), "draw": "iid"},
        {"branching": (2,)},
        {"branching": (2, 1), "draw": "top_k"},
        {"branching": (1,), "others": "drafter-weak,drafter"},
    ),
    "rasd": (
        {"branching": (2, 1), "max_nodes": 5, "likely": 2, "snippet": 2},
        {"branching": (2,), "draw": "iid", "max_nodes": 5, "likely": 3, "look_in": "text"},
        {"branching": (2, 1), "draw": "top_k", "max_nodes": 5, "look_in": "datastore"},
    ),
    "rest": ({"max_nodes": 3, "max_match": 2, "snippet": 2}, {"max_nodes": 4, "min_match": 1, "places": 3}),
    "suffix": (
        {"max_nodes": 3, "factor": 2.0},
        {"max_nodes": 2, "tree": False},
        {"max_nodes": 2, "fallback": "model", "gamma": 2, "threshold": 0.9},
    ),
    "token_recycling": ({"nodes": 2}, {"nodes": 9, "followers": 2, "fill": False}, {"nodes": 80}),
    "vocabtrim": (
        {"head_size": 2, "calibration": "ids", "gamma": 2},
        {"head_size": 2, "calibration": "ids", "branching": (2, 1)},
        {"head_size": 2, "calibration": "ids", "branching": (2,), "draw": "top_k"},
    ),
}


def option_sets(drafter: str) -> tuple[dict[str, object], ...]:
    return OPTION_SETS.get(drafter, ({},))


TREE_POLICY_SETS: dict[str, tuple[dict[str, object], ...]] = {
    "chain": ({"length": 2},),
    "levels": ({"branching": (2, 1)}, {"branching": (2, 2), "budget": 3}, {"branching": (2, 1), "draw": "iid"}),
    "rsd_c": ({"branching": (2, 2)},),
    "rsd_s": ({"width": 2, "depth": 2}, {"width": 3, "depth": 2, "budget": 4}),
    "ddtree": ({"budget": 4}, {"budget": 3, "draw": "without_replacement"}),
    "dyspec": ({"budget": 4}, {"budget": 4, "threshold": 0.2}),
    "eagle2": ({"budget": 3, "depth": 2, "width": 2},),
    "paths": ({"paths": "0; 1; 0,0"}, {"paths": "1; 1,0; 1,2", "draw": "top_k"}, {"paths": "0; 1; 0,0", "budget": 4}),
    "sequoia": ({"budget": 4, "depth": 2, "acceptance": "0.4,0.3"},),
}
STOP_POLICY_SETS: dict[str, tuple[dict[str, object], ...]] = {
    "heuristic": ({"start_levels": 2},),
    "confidence": ({"threshold": 0.5},),
    "entropy": (
        {"scale": 1.0, "floor": 0.2},
        {"scale": 1.0, "floor": 0.2, "keep": True},
        {"scale": 1.0, "floor": 0.2, "moves": True, "step": 0.5, "inertia": 0.2},
    ),
    "disco": ({"threshold": 0.5},),
    "survival": ({"threshold": 0.5},),
    "decision": ({"threshold": 0.5},),
    "specdecpp": ({"threshold": 0.4, "least": 1},),
    "draft_verify": ({"first_threshold": 0.4, "step": 0.5, "inertia": 0.2},),
}


def tree_policy_sets(tree_policy: str) -> tuple[dict[str, object], ...]:
    return TREE_POLICY_SETS.get(tree_policy, ({},))


def stop_policy_sets(stop: str) -> tuple[dict[str, object], ...]:
    return STOP_POLICY_SETS.get(stop, ({},))


def toy_weights(stop: type[StopPolicy[StopOptions]], hidden_size: int, drafter_sha256: str) -> dict[str, object] | None:
    """Untrained weights for a policy that learns, None for the others; they make drafts of all lengths."""
    if stop.recipe is None:
        return None
    features = range(FEATURES) if stop.recipe.features is None else stop.recipe.features
    row = [4.0 * (feature == HEAD) for feature in features]  # the logarithm of the candidate's own probability
    if HEAD not in features:
        row[0] = 7.0  # that of the largest
    if stop.recipe.from_hidden:
        row = [(-1.0) ** i for i in range(hidden_size)]
    return {
        "mean": [0.0] * len(row),
        "scale": [1.0] * len(row),
        "layers": [{"weight": [row], "bias": [2.0]}],
        "threshold": 0.5,
        "drafter_sha256": drafter_sha256,
    }


def temperature(stop: str, wanted: float) -> float:
    """What is wanted, or 0 for a policy that works there alone."""
    return 0.0 if STOP_POLICIES.get(stop).temperatures == "zero" else wanted
