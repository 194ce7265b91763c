"""Rotary positions (Su et al. 2104.09864, §3.4.2): for the lean forward, and for whoever attends beside it.

A drafter's own rows and queries on a target's keys keep components that turn together half a head apart, as in
transformers (`turned`). The lean forward has them side by side (`paired`) and turns a pass's rows at once (`Turns`),
with as few operations as that allows: in a small model they take as long as attention.

Shapes: n rows, D components.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from specviz.lm.llama.shape import LlamaShape

THETA = 10_000.0
COMPLEX_DEVICES = frozenset({"cpu", "cuda"})
"""Where a rotation is one complex product."""


def angles(positions: Tensor, size: int, theta: float = THETA) -> tuple[Tensor, Tensor]:
    """Cosines and sines [..., D / 2] by which rows of `size` components turn at these positions [...]."""
    half = size // 2
    pace = theta ** (-torch.arange(half, device=positions.device, dtype=torch.float64) / max(half, 1))
    found = positions.double()[..., None] * pace
    return found.cos(), found.sin()


def turned(rows: Tensor, positions: Tensor, theta: float = THETA) -> Tensor:
    """Rows [..., n, D] at `positions`, whose shape broadcasts with the rows' without D; of an odd D the last component
    stays."""
    return turned_by(rows, *angles(positions, rows.shape[-1], theta))


def turned_by(rows: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rows [..., D] by the angles with these cosines and sines [..., K], K at most D / 2; components behind the first
    2·K stay."""
    half = cos.shape[-1]
    cos, sin = cos.to(rows.dtype), sin.to(rows.dtype)
    first, second, rest = rows[..., :half], rows[..., half : 2 * half], rows[..., 2 * half :]
    return torch.cat([first * cos - second * sin, second * cos + first * sin, rest], -1)


def paired(rows: Tensor, head_size: int) -> Tensor:
    """Reorder query or key rows [heads * D, …] so that the two numbers rotated together stand side by side.

    Attention scores do not change, since queries and keys are reordered alike.
    """
    halves = rows.view(-1, 2, head_size // 2, *rows.shape[1:])
    return halves.transpose(1, 2).reshape(rows.shape)


@dataclass(frozen=True, slots=True)
class Turns:
    """Rotations of a run of positions (Su et al. 2104.09864, §3.4.2), for rows in pair order; in float32, whatever the
    rows' format."""

    cos: Tensor
    """cos + i·sin [n, 1, D/2] on a CPU or CUDA GPU; otherwise real cos [n, 1, D/2, 1]"""
    sin: Tensor | None
    """None where `cos` is complex; otherwise (-sin, sin) per pair [n, 1, D/2, 2]"""

    @classmethod
    def of(cls, shape: LlamaShape, device: torch.device) -> Turns:
        """All positions of the context."""
        exponents = torch.arange(0, shape.head_size, 2, dtype=torch.float32) / shape.head_size
        positions = torch.arange(shape.context_length, dtype=torch.float32)
        angles = torch.outer(positions, 1.0 / shape.rope_theta**exponents)[:, None]
        cos, sin = angles.cos(), angles.sin()
        if device.type in COMPLEX_DEVICES:
            return cls(torch.complex(cos, sin).to(device), None)
        return cls(cos[..., None].to(device), torch.stack((-sin, sin), -1).to(device))

    def between(self, start: int, stop: int) -> Turns:
        return Turns(self.cos[start:stop], None if self.sin is None else self.sin[start:stop])

    def at(self, positions: Tensor) -> Turns:
        return Turns(self.cos[positions], None if self.sin is None else self.sin[positions])

    def rotate(self, pairs: Tensor, heads: int) -> None:
        """Turn the first `heads` (queries and keys) of [n, heads in all, D/2, 2] in place."""
        turned = pairs[:, :heads]
        rows = turned.float()
        if self.sin is not None:
            turned.copy_(rows * self.cos + rows.flip(-1) * self.sin)
            return
        product = torch.view_as_complex(rows).mul_(self.cos)
        if rows is not turned:
            turned.copy_(torch.view_as_real(product))
