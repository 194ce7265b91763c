"""Weights that others publish, for `eagle` and `medusa`: their names mapped one by one; what is not known is refused.

    EAGLE-1 (its authors)      config.json, fc.*, layers.0.*, embed_tokens
    EAGLE-3 (its authors)      config.json, fc, midlayer.*, norm, lm_head, d2t, t2d; safetensors or pytorch_model.bin
    speculators (eagle3)       the same with layers.0.* and the sizes in transformer_layer_config; also written
    DeepSpec (EAGLE-3)         layers.0.* with norms of queries and keys, depths in target_layer_ids, from 0
    Medusa heads               medusa_lm_head.safetensors or .pt
        0.0.linear.weight      head 0, residual block 0 (and .bias)
        0.1.weight             head 0, its own read-out; without one the target's reads its states as they are

Place in the flow: behind the option `weights`. Such weights name no hash of their target: an EAGLE embedding, where
there is one, is compared with the target's; of others only sizes can be checked, and drafts for another target are
rejected. The weights are data: a `.pt` or `.bin` is read as tensors alone, and nothing in it is executed.
"""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from specviz.drafters.learned.eagle_network import EAGLE1, EAGLE3, EagleShape, EagleTrunk
from specviz.drafters.learned.module import DrafterModule, TargetParts, fresh
from specviz.drafters.learned.token_map import digest_of
from specviz.drafters.learned.weights import CARD
from specviz.errors import ModelError
from specviz.lm.base import GivesFeatures
from specviz.lm.checkpoint import read_config, weight_files
from specviz.lm.hub.files import from_hub, is_hub_id
from specviz.options import Options, from_mapping
from specviz.protocol.trainings import SHIPPED

EAGLE_PREFIXES = ("midlayer.", "layers.0.")
EAGLE_BLOCK = {
    **{f"self_attn.{one}_proj.weight": f"block.self_attn.{one}_proj.weight" for one in "qkvo"},
    **{f"mlp.{one}_proj.weight": f"block.mlp.{one}_proj.weight" for one in ("gate", "up", "down")},
    "post_attention_layernorm.weight": "block.post_attention_layernorm.weight",
    **{f"self_attn.{one}_norm.weight": f"block.self_attn.{one}_norm.weight" for one in "qk"},
}
OF_EAGLE3 = {"hidden_norm.weight": "hidden_norm.weight", "input_layernorm.weight": "embed_norm.weight"}
AROUND_EAGLE = {
    EAGLE1: {"fc.weight": "fc.weight", "fc.bias": "fc.bias"},
    EAGLE3: {
        "fc.weight": "fuse.weight",
        "norm.weight": "norm.weight",
        "lm_head.weight": "own_head.weight",
        "d2t": "map.d2t",
        "t2d": "map.t2d",
    },
}
EMBEDDING = "embed_tokens.weight"
COPY_ERROR = 2e-2
"""largest difference that half precision explains, in the largest number"""
DEPTHS = "eagle_aux_hidden_state_layer_ids"
SWITCHES = ("norm_before_residual", "norm_before_fc", "fc_norm", "fc_norm_perslice", "norm_output")
PICKLED = "pytorch_model.bin"
HEADS = {"Qwen/Qwen3-1.7B": "AngelSlim/Qwen3-1.7B_eagle3"}
"""target on the hub → weights of EAGLE there that stand for shipped ones, of which SpecViz has none for it"""


def is_published(folder: Path) -> bool:
    """Whether this is a folder of published weights, not one that training wrote."""
    return (folder / "config.json").is_file() and not (folder / CARD).is_file()


def published_eagle_folder(weights: str, target: str) -> Path | None:
    """The folder of published weights that the option `weights` means for this target, brought from the hub where it is
    an id there; None where it means others. Raises ModelError where the hub does not give them."""
    if weights == SHIPPED:
        weights = HEADS.get(target.partition("@")[0], SHIPPED)
    folder = Path(weights)
    if is_hub_id(weights) and not folder.is_dir():
        folder = from_hub(weights, ("config.json", "model*.safetensors*", PICKLED))
    return folder if is_published(folder) else None


@dataclass(frozen=True, slots=True)
class PublishedEagle:
    """What a folder of EAGLE weights holds."""

    folder: Path
    config: Mapping[str, Any]
    tensors: Mapping[str, Tensor]

    @property
    def layer(self) -> Mapping[str, Any]:
        """Sizes of the layer."""
        inner: Mapping[str, Any] = self.config.get("transformer_layer_config") or self.config
        return inner

    @property
    def wiring(self) -> str:
        return EAGLE3 if any(name.endswith("hidden_norm.weight") for name in self.tensors) else EAGLE1

    def refused(self, reason: str) -> ModelError:
        return ModelError(
            f"the EAGLE weights in {self.folder.name} cannot be used because {reason}; choose others, or train some "
            "with `specviz train module eagle`."
        )


def read_published_eagle(
    kind: type[DrafterModule[Options]], folder: Path, target: GivesFeatures
) -> DrafterModule[Options]:
    """The module, on the target's device and in its dtype. Raises ModelError where a name, a size or a switch is not
    known here, or does not fit the target."""
    published_eagle = PublishedEagle(folder, read_config(folder, folder.name), _eagle_tensors(folder))
    _check_config(published_eagle, target)
    module = fresh(kind, TargetParts.of(target), _eagle_shape(published_eagle, target))
    _fill(module, published_eagle, target)
    if module.map is not None:
        module.map.check(special=())  # a token that ends a text may be left out there: it is never drafted then
    return module


def _eagle_tensors(folder: Path) -> Mapping[str, Tensor]:
    if (folder / PICKLED).is_file() and not any(folder.glob("*.safetensors")):
        return _tensors(folder / PICKLED)
    return tensors_in(folder)


def tensors_in(folder: Path) -> dict[str, Tensor]:
    """All in the folder's safetensors files. Raises ModelError where one cannot be read."""
    tensors: dict[str, Tensor] = {}
    try:
        for path in weight_files(folder, folder.name):
            tensors |= load_file(path)
    except SafetensorError as error:
        raise ModelError(f"the weights in {folder.name} cannot be read ({error}); download them again.") from error
    return tensors


def _check_config(published_eagle: PublishedEagle, target: GivesFeatures) -> None:
    config, layer, info = published_eagle.config, published_eagle.layer, target.info
    kind = config.get("speculators_model_type", "eagle3")
    rope = layer.get("rope_parameters") or layer.get("rope_scaling") or {}
    problems = {
        f"its kind is '{kind}', and of the speculators layouts 'eagle3' is known here": kind != "eagle3",
        f"it has {layer.get('num_hidden_layers')} layers, and one is known here": layer.get("num_hidden_layers", 1)
        != 1,
        f"its hidden size is {layer.get('hidden_size')}, and that of {info.name} is {info.hidden_size}": (
            layer.get("hidden_size") != info.hidden_size
        ),
        f"its activation is '{layer.get('hidden_act')}', not 'silu'": layer.get("hidden_act", "silu") != "silu",
        "its rotary embedding is scaled": rope.get("rope_type", rope.get("type", "default")) != "default",
        **{f"it sets {name}, which is not known here": bool(config.get(name)) for name in SWITCHES},
    }
    for reason, holds in problems.items():
        if holds:
            raise published_eagle.refused(reason)


def _eagle_shape(published_eagle: PublishedEagle, target: GivesFeatures) -> EagleShape:
    layer, tensors = published_eagle.layer, published_eagle.tensors
    rope = layer.get("rope_parameters") or layer.get("rope_scaling") or {}
    try:
        heads = int(layer["num_attention_heads"])
        sizes: dict[str, Any] = {
            "heads": heads,
            "kv_heads": int(layer.get("num_key_value_heads") or heads),
            "head_size": int(layer.get("head_dim") or layer["hidden_size"] // heads),
            "ffn": int(layer["intermediate_size"]),
            "eps": float(layer.get("rms_norm_eps", 1e-6)),
            "theta": float(rope.get("rope_theta", layer.get("rope_theta") or 10000.0)),
        }
    except (KeyError, TypeError, ValueError) as error:
        raise published_eagle.refused(f"its config.json lacks or misstates {error}") from error
    if published_eagle.wiring == EAGLE1:
        return EagleShape(bias="fc.bias" in tensors, scale_embedding=False, **sizes)
    layers = target.info.layers
    named = published_eagle.config.get(DEPTHS) or (published_eagle.config.get("eagle_config") or {}).get(DEPTHS)
    if published_eagle.config.get("target_layer_ids"):  # of DeepSpec: counted from 0
        named = [1 + int(layer) for layer in published_eagle.config["target_layer_ids"]]
    depths = tuple(int(one) for one in named or (2, layers // 2, layers - 3))
    if min(depths) < 0:
        raise published_eagle.refused(
            f"it reads the target after {min(depths)} layers, which is too early for {layers} layers"
        )
    kept = len(tensors["lm_head.weight"]) if "lm_head.weight" in tensors else 0
    normed = any(name.endswith("self_attn.q_norm.weight") for name in tensors)
    return EagleShape(
        wiring=EAGLE3, depths=depths, draft_tokens=kept, scale_embedding=False, head_norms=normed, **sizes
    )


def _fill(module: DrafterModule[Options], published_eagle: PublishedEagle, target: GivesFeatures) -> None:
    """Put every tensor where it belongs; none may be left over, and none missing."""
    wanted, given = module.state_dict(), dict[str, Tensor]()
    for name, tensor in published_eagle.tensors.items():
        own = _own_name(published_eagle.wiring, name)
        if name == EMBEDDING:
            if not is_copy(tensor, target.embedding()):
                raise published_eagle.refused(
                    f"its embedding is not that of {target.info.name}: it was made for another target"
                )
        elif own is None or own not in wanted:
            raise published_eagle.refused(f"it holds '{name}', which is not known here")
        else:
            given[own] = _cut(tensor, wanted[own]) if own == "map.t2d" else tensor
    whole = published_eagle.wiring == EAGLE3 and "map.d2t" in wanted
    if whole and "map.d2t" not in given:
        if len(wanted["map.d2t"]) < target.info.vocab_size:
            raise published_eagle.refused("it answers for fewer tokens than there are and does not say for which (d2t)")
        given |= {name: wanted[name] for name in ("map.d2t", "map.t2d")}
    if whole:
        offsets = given["map.d2t"]
        given["map.digest"] = digest_of(torch.arange(len(offsets)) + offsets)
    for name, tensor in wanted.items():
        if name not in given:
            raise published_eagle.refused(f"it lacks what '{name}' is filled with")
        if given[name].shape != tensor.shape:
            raise published_eagle.refused(
                f"'{name}' should be {tuple(tensor.shape)}, but is {tuple(given[name].shape)}"
            )
    module.load_state_dict(given)


def _own_name(wiring: str, name: str) -> str | None:
    """Our name of a published tensor, or None."""
    for prefix in EAGLE_PREFIXES:
        if name.startswith(prefix):
            rest = name.removeprefix(prefix)
            return EAGLE_BLOCK.get(rest) or (OF_EAGLE3.get(rest) if wiring == EAGLE3 else None)
    return AROUND_EAGLE[wiring].get(name)


def is_copy(tensor: Tensor, targets: Tensor) -> bool:
    """Whether a tensor [at least V, H] begins with a matrix of the target [V, H], as far as half precision says."""
    targets = targets.detach()
    if tensor.shape[0] < len(targets) or tensor.shape[1] != targets.shape[1]:
        return False
    apart = (tensor[: len(targets)].to(targets) - targets).abs().max()
    return float(apart) <= COPY_ERROR * float(targets.abs().max())


def _cut(kept: Tensor, like: Tensor) -> Tensor:
    """The map without the rows that pad a model's vocabulary, where none of them is kept."""
    return kept[: len(like)] if not bool(kept[len(like) :].any()) else kept


def write_speculators(module: EagleTrunk[Any], folder: Path) -> None:
    """An EAGLE-3-wired module in the layout of speculators. Raises ModelError for one that this layout cannot hold."""
    options: EagleShape = module.options
    if options.wiring != EAGLE3 or len(options.depths) != 3 or module.map is None or options.scale_embedding:
        raise ModelError(
            "the speculators layout holds EAGLE-3's wiring with three depths, a head of its own and embeddings as they "
            "are; train with wiring=eagle3, depths, draft_tokens and scale_embedding=false to export so."
        )
    names = {own: name for name, own in AROUND_EAGLE[EAGLE3].items()}
    names |= {own: f"layers.0.{rest}" for rest, own in (EAGLE_BLOCK | OF_EAGLE3).items()}
    state = {names[own]: tensor.contiguous().cpu() for own, tensor in module.state_dict().items() if own in names}
    state[EMBEDDING] = module.embedding.contiguous().cpu()
    folder.mkdir(parents=True, exist_ok=True)
    save_file(state, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(_config(module), indent=1) + "\n", encoding="utf-8")


def _config(module: EagleTrunk[Any]) -> dict[str, Any]:
    options, shape, target = module.options, module.block.shape, module.target
    proposal = {"proposal_type": "greedy", "speculative_tokens": 4, "verifier_accept_k": 1, "accept_tolerance": 0.0}
    return {
        "speculators_model_type": "eagle3",
        "architectures": ["Eagle3Speculator"],
        "draft_vocab_size": options.draft_tokens,
        "target_hidden_size": None,
        **dict.fromkeys(SWITCHES, False),
        "embed_requires_grad": False,
        DEPTHS: list(options.depths),
        "transformer_layer_config": {
            "model_type": "llama",
            "hidden_size": shape.hidden,
            "num_hidden_layers": 1,
            "num_attention_heads": shape.heads,
            "num_key_value_heads": shape.kv_heads,
            "head_dim": shape.head_size,
            "intermediate_size": shape.ffn,
            "vocab_size": target.vocab_size,
            "max_position_embeddings": target.context_length,
            "rms_norm_eps": shape.eps,
            "rope_parameters": {"rope_type": "default", "rope_theta": shape.theta},
            "hidden_act": "silu",
        },
        "speculators_config": {
            "algorithm": "eagle3",
            "default_proposal_method": "greedy",
            "proposal_methods": [proposal],
            "verifier": {"name_or_path": target.name, "architectures": [target.architecture]},
        },
    }


HEADS_FILES = ("medusa_lm_head.safetensors", "medusa_lm_head.pt")
HEAD_BLOCK = re.compile(r"(\d+)\.(\d+)\.linear\.(weight|bias)")
HEAD_READ_OUT = re.compile(r"(\d+)\.(\d+)\.weight")


def published_heads_file(folder: Path) -> Path | None:
    """The weights in a folder that was published so, or None."""
    return next((folder / name for name in HEADS_FILES if (folder / name).is_file()), None)


def read_published_heads(
    kind: type[DrafterModule[Options]], file: Path, target: GivesFeatures
) -> DrafterModule[Options]:
    """The heads as a module, on the target's device and in its dtype. Raises ModelError for files that cannot be read,
    names that are not known, and sizes that are not the target's."""
    tensors = _tensors(file)
    shape = _heads_shape(tensors, file)
    module = fresh(kind, TargetParts.of(target), from_mapping(kind.options_type, shape))
    try:
        module.load_state_dict(module.state_dict() | {f"heads.{name}": tensor for name, tensor in tensors.items()})
    except RuntimeError as error:
        raise ModelError(
            f"the heads in {file.name} do not fit {target.info.name} (hidden size {target.info.hidden_size}, "
            f"{target.info.vocab_size} tokens): {' '.join(str(error).split())}"
        ) from error
    return module


def _tensors(file: Path) -> Mapping[str, Tensor]:
    try:
        found: Any = load_file(file) if file.suffix == ".safetensors" else torch.load(file, "cpu", weights_only=True)
    except (OSError, SafetensorError, RuntimeError, pickle.UnpicklingError, EOFError) as error:
        raise ModelError(f"{file.name} cannot be read as tensors: {' '.join(str(error).split())[:300]}") from error
    if not isinstance(found, dict) or not all(isinstance(one, Tensor) for one in found.values()):
        raise ModelError(f"{file.name} holds something else than named tensors; choose the file of the weights.")
    return found


def _heads_shape(tensors: Mapping[str, Tensor], file: Path) -> dict[str, int | bool]:
    """Options of the module, from the names."""
    blocks = {(int(match[1]), int(match[2])) for name in tensors if (match := HEAD_BLOCK.fullmatch(name))}
    read_outs = {(int(match[1]), int(match[2])) for name in tensors if (match := HEAD_READ_OUT.fullmatch(name))}
    heads, layers = 1 + max((head for head, _ in blocks), default=-1), 1 + max((at for _, at in blocks), default=-1)
    wanted = {f"{k}.{i}.linear.{part}" for k in range(heads) for i in range(layers) for part in ("weight", "bias")}
    if read_outs:
        wanted |= {f"{k}.{layers}.weight" for k in range(heads)}
    odd = sorted(tensors.keys() - wanted) or sorted(wanted - tensors.keys())
    if odd or not wanted:
        what = "holds" if tensors.keys() - wanted else "lacks"
        raise ModelError(
            f"{file.name} {what} '{odd[0] if odd else 'everything'}', so these are no Medusa heads as they are "
            "published (0.0.linear.weight, 0.0.linear.bias, …, 0.1.weight); give a folder with such heads."
        )
    return {"heads": heads, "layers": layers, "own_head": bool(read_outs)}
