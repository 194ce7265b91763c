"""Rotary positions for whoever attends beside the lean forward: a drafter's own rows, and queries on a target's keys.

Components that turn together stand half a head apart, as in transformers (Su et al., 2104.09864, §3.4.2).

Shapes: n rows, D components.
"""

from __future__ import annotations

import torch
from torch import Tensor

THETA = 10_000.0


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
