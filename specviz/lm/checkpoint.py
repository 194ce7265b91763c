"""The files of a checkpoint folder: its config, which weight files count, what identifies them, and their tensors, each
read when it is asked for, so that whoever fuses or converts them holds no second copy of all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from specviz.errors import ModelError
from specviz.resources import file_sha256

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
        digest.update(bytes.fromhex(file_sha256(path)))
    return digest.hexdigest()


class StoredTensors(Mapping[str, Tensor]):
    """Name → tensor on the wanted device and in the wanted format. Nothing read is kept: ask once.

    In the files' own format on a CPU a tensor is a view of the file, which the system may drop from memory and read
    again. A file is opened anew for each tensor: what was read through an opened file stays in memory until all that
    was read through it is gone, so that a converted checkpoint would be there twice.
    """

    def __init__(self, files: Sequence[Path], name: str, dtype: torch.dtype, device: torch.device) -> None:
        """Raises ModelError where a file is damaged."""
        self._name = name
        self._place = dtype, device
        self._file_of: dict[str, Path] = {}
        self._sizes: dict[str, tuple[int, ...]] = {}
        for path in files:
            opened = self._open(path)
            for key in opened.keys():  # noqa: SIM118 - it is no mapping
                self._file_of[key] = path
                self._sizes[key] = tuple(opened.get_slice(key).get_shape())

    @property
    def dtype(self) -> torch.dtype:
        return self._place[0]

    @property
    def device(self) -> torch.device:
        return self._place[1]

    def __getitem__(self, key: str) -> Tensor:
        dtype, device = self._place
        return self.as_stored(key).to(device, dtype)

    def __contains__(self, key: object) -> bool:
        return key in self._file_of  # the mixed-in method would read the tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self._file_of)

    def __len__(self) -> int:
        return len(self._file_of)

    def as_stored(self, key: str) -> Tensor:
        """A tensor in the file's own format on the CPU: a view, of which only what is read takes memory."""
        tensor: Tensor = self._open(self._file_of[key]).get_tensor(key)
        return tensor

    def size(self, key: str) -> tuple[int, ...]:
        """Of a tensor, without reading it."""
        return self._sizes[key]

    def numbers(self) -> int:
        """In all tensors together, without reading them."""
        return sum(prod(size) for size in self._sizes.values())

    def unread(self) -> dict[str, Any]:
        """All of them for transformers' own loading, which asks each for `[...]` when its turn has come."""
        return {key: _Unread(self, key) for key in self}

    def _open(self, path: Path) -> Any:
        """Raises ModelError where the file is gone or damaged."""
        from safetensors import SafetensorError, safe_open

        try:
            return safe_open(path, framework="pt")
        except (SafetensorError, OSError) as error:
            raise ModelError(f"the weights of {self._name} cannot be read ({error}); download them again.") from error


@dataclass(frozen=True, slots=True)
class _Unread:
    """One tensor, as a file's slice that safetensors has not read yet."""

    tensors: StoredTensors
    key: str

    def __getitem__(self, part: Any) -> Tensor:
        return self.tensors.as_stored(self.key)[part]

    def get_shape(self) -> list[int]:
        return list(self.tensors.size(self.key))
