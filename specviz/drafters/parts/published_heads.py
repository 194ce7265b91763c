"""Medusa heads as others publish them: `medusa_lm_head.safetensors` or `.pt`, names mapped. Registers nothing.

    0.0.linear.weight   head 0, residual block 0     0.1.weight   head 0, its own read-out
    0.0.linear.bias

Where heads have no read-out of their own, the target's reads their states as they are. Such a file does not say which
weights it was trained on: only sizes can be checked, and drafts for another target are rejected. The weights are data:
a `.pt` is read as tensors alone, and nothing in it is executed.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from specviz.drafters.parts.trained import DrafterModule, TargetParts, fresh
from specviz.errors import ModelError
from specviz.lm.base import GivesFeatures
from specviz.options import Options, from_mapping

FILES = ("medusa_lm_head.safetensors", "medusa_lm_head.pt")
BLOCK = re.compile(r"(\d+)\.(\d+)\.linear\.(weight|bias)")
READ_OUT = re.compile(r"(\d+)\.(\d+)\.weight")


def published_file(folder: Path) -> Path | None:
    """The weights in a folder that was published so, or None."""
    return next((folder / name for name in FILES if (folder / name).is_file()), None)


def read_published(kind: type[DrafterModule[Options]], file: Path, target: GivesFeatures) -> DrafterModule[Options]:
    """The heads as a module, on the target's device and in its dtype. Raises ModelError for files that cannot be read,
    names that are not known, and sizes that are not the target's."""
    tensors = _tensors(file)
    shape = _shape(tensors, file)
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
        raise ModelError(f"{file.name} holds something else than named tensors; Medusa heads are expected.")
    return found


def _shape(tensors: Mapping[str, Tensor], file: Path) -> dict[str, int | bool]:
    """Options of the module, from the names."""
    blocks = {(int(one[1]), int(one[2])) for name in tensors if (one := BLOCK.fullmatch(name))}
    read_outs = {(int(one[1]), int(one[2])) for name in tensors if (one := READ_OUT.fullmatch(name))}
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
