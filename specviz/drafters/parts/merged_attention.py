"""Attention over two sets of rows, worked out apart and merged: a long text that needs no mask, and a small tree that
does.

    text ─ attend ─► found, log-sum-exp ┐
    tree ─ attend ─► found, log-sum-exp ┴ merge ─► what one softmax over both would give

LongSpec's hybrid tree attention (Yang et al., 2502.17421, §3.3). Registers nothing.

Shapes: A heads, n queries, m rows, D components.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Attended:
    """Softmax attention over some rows, and what it takes to merge it with that over others."""

    found: Tensor
    """[..., n, D]; zeros where a query sees no row"""
    mass: Tensor
    """logarithm of the sum of all exponentiated scores [..., n]; minus infinity where a query sees no row"""


def attend(queries: Tensor, keys: Tensor, values: Tensor, seen: Tensor | None = None) -> Attended:
    """queries [..., n, D] over keys and values [..., m, D]; `seen` [n, m] says which, and None: all of them."""
    scores = queries @ keys.mT * queries.shape[-1] ** -0.5
    if seen is not None:
        scores = scores.masked_fill(~seen, -torch.inf)
    mass = scores.logsumexp(-1)
    weights = (scores - mass.clamp(min=torch.finfo(mass.dtype).min)[..., None]).exp()
    return Attended(weights @ values, mass)


def merge(one: Attended, other: Attended) -> Tensor:
    """[..., n, D] over the rows of both; every query sees a row of either."""
    share = torch.sigmoid(one.mass - other.mass)[..., None]
    return share * one.found + (1 - share) * other.found
