"""A trained drafter module as a folder: `model.safetensors.bz2` with its weights, `module.json` with what they are for.

Matrices are stored in eight bits a number, a scale for each row (absmax quantisation, Dettmers et al. 2208.07339 §2):
half of what sixteen bits take, and drafts need no more. They are computed with as with any others.

Place in the flow: written by training, read by drafters and by the Train page. The weights are data: nothing in them
is ever executed.
"""

from __future__ import annotations

import bz2
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load, load_file, save, save_file

from specviz.drafters.parts.trained import MODULES, DrafterModule, TargetParts, check_target, fresh
from specviz.errors import ModelError
from specviz.lm.base import GivesFeatures
from specviz.options import Options, from_mapping, to_mapping
from specviz.protocol.trainings import SHIPPED, UNTRAINED
from specviz.resources import ROOT

WEIGHTS_HELP = (
    "trained weights: 'shipped', 'untrained' (random, for comparison), or a folder `specviz train module` left"
)
WEIGHTS, CARD = "model.safetensors.bz2", "module.json"
"""Numbers of eight bits lose a tenth to a third of their size to bz2; to unpack 5 MB takes half a second."""
SCALE = ".row_scale"
"""behind the name of a matrix of eight bits: what its rows are multiplied by"""
LARGEST = 127
UNPACKED = "model.safetensors"
"""weights that another program left, or an earlier version, which stored all in bfloat16"""
CARD_KEY = "specviz_module"
"""of a packed module's card, in the header of its file"""


@dataclass(frozen=True, slots=True)
class ModuleCard:
    """What a module's weights are for, and how they came about."""

    module: str
    options: dict[str, Any]
    target_sha256: str
    target_name: str
    parameters: int
    training: dict[str, Any] = field(default_factory=dict)
    """tokens, seconds, losses, held-out acceptance: whatever training measured"""


def write_module(module: DrafterModule[Options], folder: Path, training: dict[str, Any]) -> ModuleCard:
    """Weights and card, in `folder`: matrices in eight bits, other numbers in bfloat16."""
    card = ModuleCard(
        module.name,
        to_mapping(module.options),
        module.target.weights_sha256,
        module.target.name,
        module.parameter_count(),
        training,
    )
    _write(stored(module.state_dict()), card, folder)
    return card


def stored(weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """As they are written; `restored` is its inverse but for the rounding."""
    written: dict[str, torch.Tensor] = {}
    for name, tensor in weights.items():
        one = tensor.detach().cpu()
        if one.is_floating_point() and one.ndim > 1:
            scale = (one.float().abs().amax(-1, keepdim=True) / LARGEST).clamp_min(torch.finfo(torch.float32).tiny)
            written[name + SCALE] = scale
            one = (one.float() / scale).round().to(torch.int8)
        elif one.is_floating_point():
            one = one.to(torch.bfloat16)
        written[name] = one.contiguous()
    return written


def restored(written: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The weights to compute with. What has no scale is as it stands."""
    return {
        name: tensor * written[name + SCALE] if name + SCALE in written else tensor
        for name, tensor in written.items()
        if not name.endswith(SCALE)
    }


def _write(tensors: Mapping[str, torch.Tensor], card: ModuleCard, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / WEIGHTS).write_bytes(bz2.compress(save(dict(tensors))))
    (folder / UNPACKED).unlink(missing_ok=True)
    (folder / CARD).write_text(json.dumps(asdict(card), indent=1) + "\n", encoding="utf-8")


def _weights(folder: Path) -> Path:
    packed = folder / WEIGHTS
    return packed if packed.is_file() else folder / UNPACKED


def _tensors(folder: Path) -> dict[str, torch.Tensor]:
    """As they are written. Raises ModelError where they cannot be read."""
    path = _weights(folder)
    try:
        return load(bz2.decompress(path.read_bytes())) if path.suffix == ".bz2" else load_file(path)
    except (OSError, EOFError, ValueError, SafetensorError) as error:
        raise ModelError(f"the weights in {folder} cannot be read: {' '.join(str(error).split())}") from error


def read_card(folder: Path) -> ModuleCard:
    """Raises ModelError where the folder holds no module."""
    try:
        return ModuleCard(**json.loads((folder / CARD).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(
            f"{folder} holds no trained drafter module ({type(error).__name__}: {error}); give a folder that "
            "`specviz train module` wrote."
        ) from error


def read_module(folder: Path, target: GivesFeatures) -> DrafterModule[Options]:
    """The module, on the target's device and in its dtype. Raises ModelError where the files are damaged, or made for
    another target."""
    card = read_card(folder)
    check_target(card.target_sha256, f"in {folder}", target.info)
    kind = MODULES.get(card.module)
    module = fresh(kind, TargetParts.of(target), from_mapping(kind.options_type, card.options))
    _fill(module, folder)
    module.check()
    return module


def fill_from(folder: Path, module: DrafterModule[Options]) -> ModuleCard:
    """Give a fresh module the weights in `folder`, to be trained on, whichever target they were trained for; returns
    their card. Raises ModelError where they are of another module or shape."""
    card = read_card(folder)
    if (card.module, card.options) != (module.name, to_mapping(module.options)):
        raise ModelError(
            f"{folder} holds a '{card.module}' with options {card.options}, and a '{module.name}' with "
            f"{to_mapping(module.options)} is to be trained; give those options, or another folder."
        )
    _fill(module, folder)
    return card


def _fill(module: DrafterModule[Options], folder: Path) -> None:
    try:
        module.load_state_dict(restored(_tensors(folder)))
    except RuntimeError as error:
        raise ModelError(f"the weights in {folder} cannot be read: {' '.join(str(error).split())}") from error


def module_for(
    kind: type[DrafterModule[Options]], weights: str, target: GivesFeatures, shape: Mapping[str, Any] | None = None
) -> DrafterModule[Options]:
    """The module that a drafter's option `weights` names; `shape` is that of an untrained one. Raises ModelError where
    there is none for this target, or the folder holds a module of another kind. The same one each time while target,
    shape and files are the same."""
    known = _KNOWN.setdefault(target, {})
    shape = shape or {}
    key = kind.name, weights, _written_at(_folder_of(kind, weights, shape)), repr(sorted(shape.items()))
    if key not in known:
        known[key] = _module_for(kind, weights, target, shape)
    return known[key]


_KNOWN: WeakKeyDictionary[GivesFeatures, dict[object, DrafterModule[Options]]] = WeakKeyDictionary()


def _folder_of(kind: type[DrafterModule[Options]], weights: str, shape: Mapping[str, Any]) -> Path:
    if weights != SHIPPED:
        return Path(weights)
    return ROOT / "modules" / kind.folder_name(from_mapping(kind.options_type, shape))


def _written_at(folder: Path) -> int:
    path = _weights(folder)
    return path.stat().st_mtime_ns if path.is_file() else 0


def _module_for(
    kind: type[DrafterModule[Options]], weights: str, target: GivesFeatures, shape: Mapping[str, Any]
) -> DrafterModule[Options]:
    if weights == UNTRAINED:
        return fresh(kind, TargetParts.of(target), from_mapping(kind.options_type, shape))
    folder = _folder_of(kind, weights, shape)
    if weights == SHIPPED and not folder.is_dir():
        raise ModelError(
            f"no weights of '{folder.name}' are shipped; train some with `specviz train module {kind.name}`, or set "
            f"weights to '{UNTRAINED}'."
        )
    module = read_module(folder, target)
    if module.name != kind.name:
        raise ModelError(
            f"{folder} holds a module '{module.name}', but '{kind.name}' is needed; choose another folder."
        )
    return module


def pack(folder: Path) -> Path:
    """The module in `folder` as one file beside it, NAME.safetensors: its weights, and its card in their header."""
    card = read_card(folder)
    path = folder / f"{card.module}.safetensors"
    save_file(_tensors(folder), path, metadata={CARD_KEY: json.dumps(asdict(card))})
    return path


def unpack(path: Path, folder: Path) -> ModuleCard:
    """Write what `pack` made of a module into `folder`. Raises ModelError for any other file."""
    try:
        with safe_open(path, "pt") as file:
            card = ModuleCard(**json.loads((file.metadata() or {})[CARD_KEY]))
        tensors = load_file(path)
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise ModelError(
            f"{path.name} holds no drafter module ({type(error).__name__}); choose a file that the Train tab saved."
        ) from error
    _write(tensors, card, folder)
    return card
