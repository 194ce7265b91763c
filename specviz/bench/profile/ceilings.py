"""What bounds a pass on this machine: how fast numbers are read from memory, and how fast matrices are multiplied.

Timed in the same run, number format and threads as the passes they are compared with. Place in the flow: probes for
`bench.profile`, which times them in turn with the passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

import torch

from specviz.protocol.profiles import Ceiling

READ_BYTES = {"cpu": 256 << 20, "cuda": 2 << 30}
"""by device: many times the caches, so that memory is what is measured"""
SIDE = {"cpu": 1024, "cuda": 8192}
"""by device: rows and columns of the matrices that are multiplied"""
COLUMNS = 4096
MB = 1 << 20


@dataclass(frozen=True, slots=True)
class Probe:
    """Something to time, and how much it does."""

    kind: str
    """`reading` or `arithmetic`"""
    amount: float
    """bytes or operations"""
    how: str
    run: Callable[[], object]


def probes(device: torch.device, dtype: torch.dtype) -> list[Probe]:
    """Two ways to read, of which the faster one counts, and a product of two square matrices."""
    kind = device.type if device.type in SIDE else "cuda"
    size, side = READ_BYTES[kind], SIDE[kind]
    matrix = torch.ones(size // dtype.itemsize // COLUMNS, COLUMNS, device=device, dtype=dtype)
    vector = torch.ones(COLUMNS, device=device, dtype=dtype)
    left, right = (torch.ones(side, side, device=device, dtype=dtype) for _ in range(2))
    amount = float(matrix.numel() * dtype.itemsize)
    return [
        Probe("reading", amount, f"sum of {size // MB} MiB", matrix.sum),
        Probe("reading", amount, f"product of a matrix of {size // MB} MiB and a vector", lambda: matrix @ vector),
        Probe("arithmetic", 2.0 * side**3, f"product of two {side} × {side} matrices", lambda: left @ right),
    ]


def ceiling(kind: str, timed: Sequence[tuple[Probe, Sequence[float]]]) -> Ceiling:
    """The probe of this kind with the highest median rate; seconds of each probe, at least two."""
    found = [_rates(probe, seconds) for probe, seconds in timed if probe.kind == kind]
    return max(found, key=lambda one: one.median)


def _rates(probe: Probe, seconds: Sequence[float]) -> Ceiling:
    rates = [probe.amount / one for one in seconds]
    low, _, high = quantiles(rates, n=4)
    return Ceiling(median(rates), low, high, probe.how)
