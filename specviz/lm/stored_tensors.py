"""The tensors of a checkpoint's files, each read when it is asked for, so that whoever fuses or converts them holds no
second copy of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from specviz.errors import ModelError


class StoredTensors(Mapping[str, Tensor]):
    """Name → tensor on the wanted device and in the wanted format. Nothing read is kept: ask once.

    In the files' own format on a CPU a tensor is a view of the file, which the system may drop from memory and read
    again.
    """

    def __init__(self, files: Sequence[Path], name: str, dtype: torch.dtype, device: torch.device) -> None:
        """Raises ModelError where a file is damaged."""
        from safetensors import SafetensorError, safe_open

        self._place = dtype, device
        self._file_of: dict[str, Any] = {}
        try:
            for path in files:
                opened: Any = safe_open(path, framework="pt")
                self._file_of |= dict.fromkeys(opened.keys(), opened)
        except SafetensorError as error:
            raise ModelError(f"the weights of {name} cannot be read ({error}); download them again.") from error

    def __getitem__(self, key: str) -> Tensor:
        dtype, device = self._place
        tensor: Tensor = self._file_of[key].get_tensor(key)
        return tensor.to(device, dtype)

    def __contains__(self, key: object) -> bool:
        return key in self._file_of  # the mixed-in method would read the tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self._file_of)

    def __len__(self) -> int:
        return len(self._file_of)

    def size(self, key: str) -> tuple[int, ...]:
        """Of a tensor, without reading it."""
        return tuple(self._file_of[key].get_slice(key).get_shape())

    def numbers(self) -> int:
        """In all tensors together, without reading them."""
        return sum(prod(self.size(key)) for key in self)
