"""Weights of blocks that others published, as modules: four layouts, and what belongs to which.

    DFlash's own, and transformers' DFlash models   the masks draft; layers that are read are counted from 0
    DFlash 2's (`DFlash2DraftModel`)                the same with a convolution around each sublayer, and the selector
    speculators (`dflash`)                          sizes in transformer_layer_config; layers counted as here; d2t, t2d
    DeepSpec (`Qwen3DSparkModel`)                   the root drafts too; with its table and its guess of acceptance a
                                                    block of `dspark`, without them one of `dflash`

    folder (config.json, safetensors) ─► names mapped, sizes and switches checked ─► module

A mask is a token of the target's vocabulary: its embedding becomes the module's mask. Whatever is not known here is
refused by its name; nothing is guessed. Weights do not say for which target they were made: copies of its embedding and
head are compared where there are any, else only sizes can be. Sources: z-lab/dflash, vllm-project/speculators
(models/dflash), deepseek-ai/DeepSpec (modeling/dspark).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from specviz.drafters.learned.flash_network import FlashTrunk
from specviz.drafters.learned.module import DrafterModule, TargetParts, fresh
from specviz.drafters.learned.published import is_copy, tensors_in
from specviz.errors import ModelError
from specviz.lm.base import GivesFeatures
from specviz.lm.checkpoint import read_config
from specviz.options import Options, from_mapping

CONTEXT = {
    "encoder.fc.weight": "fc.weight",
    "encoder.output_norm_enc.weight": "hidden_norm.weight",
}
"""names of transformers' models against those of DFlash's own"""
SPECULATORS = "dflash"
"""kind, and projector, of the layout of speculators"""
DEEPSPEC = "Qwen3DSparkModel"
"""architecture that DeepSpec writes for its blocks, with its table and its guess of acceptance or without"""
BESIDE = {
    "markov_head.markov_w1.weight": "bigram.before",
    "markov_head.markov_w2.weight": "bigram.after",
    "confidence_head.proj.weight": "confidence.weight",
    "confidence_head.proj.bias": "confidence.bias",
}
"""of DeepSpec, beside the network"""
OF_TARGET = {"embed_tokens.weight": "embedding", "lm_head.weight": "head"}
"""copies of the target's matrices, which are compared and not loaded"""
KINDS = frozenset({"qwen3", "muse_glimmer_assistant"})
"""of `model_type`: those whose layers are the network's"""
SWITCHED = ("attention_bias", "is_causal", "output_multiplier", "final_logit_softcapping", "input_embedding_scale")
"""switches that change the network, and are not known here when set"""
TAPS = 2
"""of a convolution: of a row, and of the one before it"""
SECOND = {
    "candidate_selector.hidden_projection.weight": "selector.slot.weight",
    "candidate_selector.predecessor_codebook": "selector.before.weight",
    "candidate_selector.successor_codebook": "selector.after.weight",
}
"""of DFlash 2, beside the network; the two tables stand on their side there"""
MIXED = {"attention_conv": "convolutions.0", "mlp_conv": "convolutions.1"}
KERNELS = {"base_kernel": "base", "kernel_projection.weight": "changes.weight"}
"""of DFlash 2, within a layer"""


def read_published_block(
    kind: type[DrafterModule[Options]], folder: Path, target: GivesFeatures
) -> DrafterModule[Options]:
    """The module, on the target's device and in its dtype. Raises ModelError where a name, a size or a switch is not
    known here, or does not fit the target or the kind."""
    config = read_config(folder, folder.name)
    try:
        drafting = _normalised(config, folder)
        _check(drafting, folder, target)
        shape = _shape(drafting)
    except (KeyError, TypeError, ValueError) as error:
        raise _refused(folder, f"its config.json lacks or misstates {error}") from error
    rank = int(drafting.get("markov_rank") or 0)
    if (rank > 0) is not hasattr(kind.options_type, "rank"):
        other = "dspark" if rank else "dflash"
        raise _refused(folder, f"it is a block of '{other}', and '{kind.name}' was asked for")
    if rank:
        shape["rank"] = rank
    tensors = {_own_name(name): tensor for name, tensor in tensors_in(folder).items()}
    kept = _kept(tensors, target.info.vocab_size, folder)
    shape["draft_tokens"] = 0 if kept is None else len(kept)
    module = fresh(kind, TargetParts.of(target), from_mapping(kind.options_type, shape))
    assert isinstance(module, FlashTrunk), f"'{kind.name}' fills no block."
    if kept is not None:
        assert module.map is not None, "draft_tokens make a map."
        module.map.keep(kept.tolist())
    mask = int(drafting["mask_token_id"])
    if not 0 <= mask < len(module.embedding):
        raise _refused(folder, f"its mask is the token {mask}, and {target.info.name} has {len(module.embedding)}")
    for name, matrix in OF_TARGET.items():
        targets = module.read_head() if matrix == "head" else module.embedding
        if name in tensors and not is_copy(tensors.pop(name), targets):
            raise _refused(folder, f"its '{name}' is not that of {target.info.name}: it was made for another target")
    beside = {BESIDE[name]: tensors.pop(name) for name in BESIDE if name in tensors}
    selector = {own: tensors.pop(name) for name, own in SECOND.items() if name in tensors}
    given = {**tensors, "mask": module.embedding[mask]}
    _fit(given, module.network.state_dict(), folder)
    module.network.load_state_dict(given)
    if rank:
        _fill_beside(module, beside, folder)
    elif beside:
        raise _refused(folder, f"it holds what belongs to '{min(beside)}', which a block of 'dflash' has not")
    _fill_selector(module, selector, folder)
    return module


def _own_name(name: str) -> str:
    """Of a tensor of the network, in DFlash's names, or those that this module gives what DFlash 2 added."""
    parts = name.split(".", 3)
    if len(parts) == 4 and parts[2] in MIXED and parts[3] in KERNELS:
        return f"{parts[0]}.{parts[1]}.{MIXED[parts[2]]}.{KERNELS[parts[3]]}"
    return CONTEXT.get(name, name)


def _fill_selector(module: DrafterModule[Options], selector: dict[str, Tensor], folder: Path) -> None:
    """Rows of tokens that only pad the target's vocabulary are left out."""
    state = module.state_dict()
    wanted = {name: state[name] for name in SECOND.values() if name in state}
    for name in wanted.keys() & selector.keys() - {"selector.slot.weight"}:
        selector[name] = selector[name][: module.target.vocab_size].T
    _fit(selector, wanted, folder)
    module.load_state_dict(state | selector)


def _fill_beside(module: DrafterModule[Options], beside: dict[str, Tensor], folder: Path) -> None:
    """The table, and the guess of acceptance: one that was made without the table's rows reads zeros of them. The guess
    before any token is known is nobody's but SpecViz's, and stays as it begins."""
    wanted = {name: module.state_dict()[name] for name in BESIDE.values()}
    weight = beside.get("confidence.weight")
    if weight is not None and weight.shape[-1] == module.hidden_size:
        short = wanted["confidence.weight"].shape[-1] - module.hidden_size
        beside["confidence.weight"] = functional.pad(weight, (0, short))
    _fit(beside, wanted, folder)
    module.load_state_dict(module.state_dict() | beside)


def _normalised(config: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """In the names of DFlash's own layout, with the depths and the alignment said. Raises KeyError or TypeError."""
    kind = config.get("speculators_model_type")
    if kind is not None:
        projector = config.get("projector_type", SPECULATORS)
        if kind != SPECULATORS or projector != SPECULATORS or config.get("shift_label"):
            layout = f"{kind} {config.get('projector_type', '')}".strip()
            raise _refused(folder, f"its layout is '{layout}' of speculators, and known of those is 'dflash'")
        layers = {"depths": [int(layer) for layer in config["aux_hidden_state_layer_ids"]]}  # counted as here
        inner = {"model_type": "qwen3", **config["transformer_layer_config"]}
        from_root = bool(config.get("sample_from_anchor"))
        return {**inner, **layers, "from_root": from_root, **{name: config[name] for name in OF_BLOCK}}
    drafting = {**config, **(config.get("dflash_config") or {})}
    drafting["depths"] = [1 + int(layer) for layer in drafting.get("target_layer_ids") or ()]  # counted from 0
    drafting["from_root"] = DEEPSPEC in (config.get("architectures") or [])
    if drafting["from_root"] and drafting.get("markov_rank") and drafting.get("markov_head_type") != "vanilla":
        raise _refused(folder, f"its table is '{drafting.get('markov_head_type')}', and known is 'vanilla'")
    return drafting


OF_BLOCK = ("block_size", "mask_token_id")


def _kept(tensors: dict[str, Tensor], vocabulary: int, folder: Path) -> Tensor | None:
    """Which tokens it drafts, where not all (speculators: d2t and t2d); both are taken out of `tensors`."""
    offsets, chosen = tensors.pop("d2t", None), tensors.pop("t2d", None)
    if offsets is None:
        return None
    tokens = torch.arange(len(offsets)) + offsets
    if chosen is None or not torch.equal(chosen.nonzero()[:, 0], tokens) or int(tokens.max()) >= vocabulary:
        raise _refused(folder, "its maps d2t and t2d do not name the same tokens of the target")
    return tokens


def _refused(folder: Path, reason: str) -> ModelError:
    return ModelError(
        f"the block's weights in {folder.name} cannot be used because {reason}; choose others, or train some with "
        "`specviz train module dflash`."
    )


def _check(config: Mapping[str, Any], folder: Path, target: GivesFeatures) -> None:
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    kind, hidden = config.get("model_type"), target.info.hidden_size
    layers = config.get("layer_types") or ["sliding_attention"] * bool(config.get("use_sliding_window"))
    problems = {
        f"its kind is '{kind}', and known are {', '.join(sorted(KINDS))}": kind not in KINDS,
        f"its hidden size is {config.get('hidden_size')}, and that of {target.info.name} is {hidden}": (
            config.get("hidden_size") != hidden
        ),
        f"its activation is '{config.get('hidden_act')}', not 'silu'": config.get("hidden_act", "silu") != "silu",
        "its rotary embedding is scaled": rope.get("rope_type", rope.get("type", "default")) != "default",
        f"its layers see {config.get('sliding_window')} tokens alone, and {target.info.name} reads more": (
            any(layer != "full_attention" for layer in layers) and not _sees_all(config, target)
        ),
        f"its convolution has {config.get('conv_kernel_size')} taps, and known are {TAPS}": (
            (config.get("conv_kernel_size") or TAPS) != TAPS
        ),
        **{f"it sets {name}, which is not known here": bool(config.get(name)) for name in SWITCHED},
    }
    for reason, holds in problems.items():
        if holds:
            raise _refused(folder, reason)


def _sees_all(config: Mapping[str, Any], target: GivesFeatures) -> bool:
    """Whether windows are as long as any text, and both ways: a window without `is_causal` is causal in the block."""
    window = config.get("sliding_window") or 0
    return config.get("is_causal") is False and window >= target.info.context_length + int(config["block_size"])


def _shape(config: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the module. Raises KeyError, TypeError or ValueError."""
    if not config["depths"] or min(config["depths"]) < 1:
        raise ValueError("'target_layer_ids', the layers that it reads")
    heads = int(config["num_attention_heads"])
    rope = config.get("rope_parameters") or {}
    return {
        "slots": int(config["block_size"]) - (not config["from_root"]),
        "layers": int(config["num_hidden_layers"]),
        "depths": tuple(config["depths"]),
        "heads": heads,
        "kv_heads": int(config.get("num_key_value_heads") or heads),
        "head_size": int(config.get("head_dim") or int(config["hidden_size"]) // heads),
        "ffn": int(config["intermediate_size"]),
        "from_root": config["from_root"],
        **_second(config),
        "theta": float(rope.get("rope_theta", config.get("rope_theta") or 10000.0)),
        "eps": float(config.get("rms_norm_eps", 1e-6)),
    }


def _second(config: Mapping[str, Any]) -> dict[str, Any]:
    """Options of what DFlash 2 added. Raises KeyError."""
    mixed = {"convolution": int(config["conv_group_size"])} if config.get("conv_kernel_size") else {}
    if not config.get("selector_rank"):
        return mixed
    sizes = {"selector_rank": int(config["selector_rank"]), "selected": int(config["selector_top_k"])}
    return {**mixed, **sizes, "selector_tables": True}


def _fit(given: Mapping[str, Tensor], wanted: Mapping[str, Tensor], folder: Path) -> None:
    """None may be left over, and none missing."""
    for name in sorted(given.keys() - wanted.keys()):
        raise _refused(folder, f"it holds '{name}', which is not known here")
    for name, tensor in wanted.items():
        if name not in given:
            raise _refused(folder, f"it lacks '{name}'")
        if given[name].shape != tensor.shape:
            raise _refused(folder, f"'{name}' should be {tuple(tensor.shape)}, but is {tuple(given[name].shape)}")
