"""The files of a checkpoint folder: its config, which weight files count, and what identifies them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from specviz.errors import ModelError

INDEX = "model.safetensors.index.json"
EYES = "eyes.safetensors"
"""beside the weights of a language model that sees pictures"""


def read_config(folder: Path, name: str) -> dict[str, Any]:
    """`config.json` as data. Raises ModelError where there is none or it is damaged."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelError(f"{name} has no config.json, so it is no checkpoint; name a folder that has one.") from error
    except ValueError as error:
        raise ModelError(f"the config.json of {name} is not valid JSON ({error}); download it again.") from error
    if not isinstance(config, dict):
        raise ModelError(f"the config.json of {name} is not an object; download it again.")
    return config


def weight_files(folder: Path, name: str) -> list[Path]:
    """The safetensors files that make up the model, sorted. Raises ModelError where there are none.

    Some repositories carry the same weights twice; the file or the index that transformers would read decides. A
    picture encoder beside them is part of the model.
    """
    found = {path.name: path for path in sorted(folder.glob("*.safetensors"))}
    if "model.safetensors" in found:
        return [found[part] for part in ("model.safetensors", EYES) if part in found]
    if (folder / INDEX).is_file():
        named = sorted(set(_read_index(folder, name).values()))
        absent = [part for part in named if part not in found]
        if absent:
            raise ModelError(f"{name} lacks {absent[0]}, which its {INDEX} names; download it again.")
        return [found[part] for part in named]
    if found:
        return list(found.values())
    if any(next(folder.glob(pattern), None) for pattern in ("*.bin", "*.pt", "*.pth")):
        raise ModelError(
            f"{name} has only pickled weights, which can run code when opened; convert them to safetensors first."
        )
    raise ModelError(f"{name} has no *.safetensors file; put the weights beside its config.json.")


def _read_index(folder: Path, name: str) -> dict[str, str]:
    try:
        index: dict[str, str] = json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"]
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(f"the {INDEX} of {name} cannot be read ({error}); download it again.") from error
    return index


def sha256_of(files: Iterable[Path]) -> str:
    """One hash over the hashes of all weight files."""
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
