"""Small pieces of the lean forward: root-mean-square norm and rotary positions, with as few operations as they allow.

On a CPU, a block of a small model spends as long in tiny operations as in attention, so these count.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from specviz.lm.llama_config import LlamaShape

COMPLEX_DEVICES = frozenset({"cpu", "cuda"})
"""Where a rotation is one complex product."""


class Norm:
    """RMSNorm (Zhang, Sennrich 1910.07467, eq. 4), in float32 as x / hypot(‖x‖, √(H·ε)) with weight and √H moved into
    the projection that follows. Half precision keeps the usual order of roundings."""

    def __init__(self, weight: Tensor, eps: float) -> None:
        self._weight = weight
        self._eps = eps
        self._absorbed = weight.dtype == torch.float32
        self._floor = torch.tensor((weight.shape[0] * eps) ** 0.5, device=weight.device)

    def absorbed_by(self, weight: Tensor) -> Tensor:
        """The following projection's weight [out, H], carrying this norm's factor."""
        return weight * (self._weight * self._weight.shape[0] ** 0.5) if self._absorbed else weight

    def __call__(self, x: Tensor) -> Tensor:
        """x [n, H] → [n, H]."""
        if self._absorbed:
            return x / torch.hypot(torch.linalg.vector_norm(x, dim=-1, keepdim=True), self._floor)
        return functional.rms_norm(x, self._weight.shape, self._weight, self._eps)

    def whole(self, x: Tensor) -> Tensor:
        """The norm of x [n, H] with its factor, for readers that have not absorbed it."""
        return functional.rms_norm(x, self._weight.shape, self._weight, self._eps)


def paired(rows: Tensor, head_size: int) -> Tensor:
    """Reorder query or key rows [heads * D, …] so that the two numbers rotated together stand side by side.

    Attention scores do not change, since queries and keys are reordered alike.
    """
    halves = rows.view(-1, 2, head_size // 2, *rows.shape[1:])
    return halves.transpose(1, 2).reshape(rows.shape)


@dataclass(frozen=True, slots=True)
class Turns:
    """Rotations of a run of positions (Su et al. 2104.09864, §3.4.2), for rows in pair order."""

    cos: Tensor
    """cos + i·sin [n, 1, D/2] in float32 on a CPU or CUDA GPU; otherwise real cos [n, 1, D/2, 1]"""
    sin: Tensor | None
    """None where `cos` is complex; otherwise (-sin, sin) per pair [n, 1, D/2, 2]"""

    @classmethod
    def of(cls, shape: LlamaShape, device: torch.device, dtype: torch.dtype) -> Turns:
        """All positions of the context."""
        exponents = torch.arange(0, shape.head_size, 2, dtype=torch.float32) / shape.head_size
        positions = torch.arange(shape.context_length, dtype=torch.float32)
        angles = torch.outer(positions, 1.0 / shape.rope_theta**exponents)[:, None]
        cos, sin = angles.cos(), angles.sin()
        if dtype == torch.float32 and device.type in COMPLEX_DEVICES:
            return cls(torch.complex(cos, sin).to(device), None)
        return cls(cos[..., None].to(device, dtype), torch.stack((-sin, sin), -1).to(device, dtype))

    def between(self, start: int, stop: int) -> Turns:
        return Turns(self.cos[start:stop], None if self.sin is None else self.sin[start:stop])

    def at(self, positions: Tensor) -> Turns:
        return Turns(self.cos[positions], None if self.sin is None else self.sin[positions])

    def rotate(self, pairs: Tensor, heads: int) -> None:
        """Turn the first `heads` (queries and keys) of [n, heads in all, D/2, 2] in place."""
        if self.sin is None:
            torch.view_as_complex(pairs)[:, :heads].mul_(self.cos)
        else:
            turned = pairs[:, :heads]
            turned.copy_(turned * self.cos + turned.flip(-1) * self.sin)
