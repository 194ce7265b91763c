"""Weights of blocks that others published, as modules: DFlash's own layout, and that of transformers' DFlash models.

    folder (config.json, safetensors) ─► names mapped, sizes and switches checked ─► module of `dflash`

Their masks alone draft (`from_root` is false), and a mask is a token of the target's vocabulary: its embedding becomes
the module's mask. Whatever is not known here is refused by its name; nothing is guessed. Weights do not say for which
target they were made, so that only sizes can be checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from specviz.drafters.learned.flash_network import FlashTrunk
from specviz.drafters.learned.module import DrafterModule, TargetParts, fresh
from specviz.drafters.learned.weights import CARD
from specviz.errors import ModelError
from specviz.lm.base import GivesFeatures
from specviz.lm.checkpoint import read_config, weight_files
from specviz.options import Options, from_mapping

CONTEXT = {
    "encoder.fc.weight": "fc.weight",
    "encoder.output_norm_enc.weight": "hidden_norm.weight",
}
"""names of transformers' models against those of DFlash's own"""
KINDS = frozenset({"qwen3", "muse_glimmer_assistant"})
"""of `model_type`: those whose layers are the network's"""
SWITCHED = (
    "attention_bias",
    "is_causal",
    "use_sliding_window",
    "conv_kernel_size",
    "selector_rank",
    "output_multiplier",
)
"""switches that change the network, and are not known here when set"""


def holds_published_block(folder: Path) -> bool:
    """Whether this is a folder of published weights, not one that training wrote."""
    return (folder / "config.json").is_file() and not (folder / CARD).is_file()


def read_published_block(
    kind: type[DrafterModule[Options]], folder: Path, target: GivesFeatures
) -> DrafterModule[Options]:
    """The module, on the target's device and in its dtype. Raises ModelError where a name, a size or a switch is not
    known here, or does not fit the target."""
    config = read_config(folder, folder.name)
    drafting = {**config, **(config.get("dflash_config") or {})}
    _check(drafting, folder, target)
    try:
        shape = _shape(drafting)
    except (KeyError, TypeError, ValueError) as error:
        raise _refused(folder, f"its config.json lacks or misstates {error}") from error
    module = fresh(kind, TargetParts.of(target), from_mapping(kind.options_type, shape))
    assert isinstance(module, FlashTrunk), f"'{kind.name}' fills no block."
    tensors = {CONTEXT.get(name, name): tensor for name, tensor in _tensors(folder).items()}
    mask = int(drafting["mask_token_id"])
    if not 0 <= mask < len(module.embedding):
        raise _refused(folder, f"its mask is the token {mask}, and {target.info.name} has {len(module.embedding)}")
    given = {**tensors, "mask": module.embedding[mask]}
    _fit(given, module.network.state_dict(), folder)
    module.network.load_state_dict(given)
    return module


def _refused(folder: Path, reason: str) -> ModelError:
    return ModelError(
        f"the block's weights in {folder.name} cannot be used because {reason}; choose others, or train some with "
        "`specviz train module dflash`."
    )


def _check(config: Mapping[str, Any], folder: Path, target: GivesFeatures) -> None:
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    kind, hidden = config.get("model_type"), target.info.hidden_size
    layers = config.get("layer_types") or []
    problems = {
        f"its layout is that of '{config.get('speculators_model_type')}' of speculators, which is not known here": bool(
            config.get("speculators_model_type")
        ),
        f"its kind is '{kind}', and known are {', '.join(sorted(KINDS))}": kind not in KINDS,
        f"its hidden size is {config.get('hidden_size')}, and that of {target.info.name} is {hidden}": (
            config.get("hidden_size") != hidden
        ),
        f"its activation is '{config.get('hidden_act')}', not 'silu'": config.get("hidden_act", "silu") != "silu",
        "its rotary embedding is scaled": rope.get("rope_type", rope.get("type", "default")) != "default",
        "some of its layers see a window of the text alone": any(layer != "full_attention" for layer in layers),
        **{f"it sets {name}, which is not known here": bool(config.get(name)) for name in SWITCHED},
    }
    for reason, holds in problems.items():
        if holds:
            raise _refused(folder, reason)


def _shape(config: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the module. Raises KeyError, TypeError or ValueError."""
    heads = int(config["num_attention_heads"])
    rope = config.get("rope_parameters") or {}
    return {
        "slots": int(config["block_size"]) - 1,
        "layers": int(config["num_hidden_layers"]),
        "depths": tuple(1 + int(layer) for layer in config["target_layer_ids"]),
        "heads": heads,
        "kv_heads": int(config.get("num_key_value_heads") or heads),
        "head_size": int(config.get("head_dim") or int(config["hidden_size"]) // heads),
        "ffn": int(config["intermediate_size"]),
        "from_root": False,
        "theta": float(rope.get("rope_theta", config.get("rope_theta") or 10000.0)),
        "eps": float(config.get("rms_norm_eps", 1e-6)),
    }


def _tensors(folder: Path) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    try:
        for path in weight_files(folder, folder.name):
            tensors |= load_file(path)
    except SafetensorError as error:
        raise ModelError(f"the weights in {folder.name} cannot be read ({error}); download them again.") from error
    return tensors


def _fit(given: Mapping[str, Tensor], wanted: Mapping[str, Tensor], folder: Path) -> None:
    """None may be left over, and none missing."""
    for name in sorted(given.keys() - wanted.keys()):
        raise _refused(folder, f"it holds '{name}', which is not known here")
    for name, tensor in wanted.items():
        if name not in given:
            raise _refused(folder, f"it lacks '{name}'")
        if given[name].shape != tensor.shape:
            raise _refused(folder, f"'{name}' should be {tuple(tensor.shape)}, but is {tuple(given[name].shape)}")
