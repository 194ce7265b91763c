"""Numbers from a device to the processor, which has to wait for them: whoever waits lets everybody's come along.

    leave(a) ─► a's numbers, to be seen later ┐
    leave(b) ─► b's numbers, to be seen later ┴─► whichever is seen first brings both, by one transfer

So a phase of a round works out on the device whatever it may need, leaves it here, and waits once.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from specviz.core.sampling import ON_CPU

# One number of float64 holds every token id, every float32 and every count exactly, so that all can share a transfer.
Seen = Callable[[], list[Tensor]]
"""brings tensors over, as float64 on the CPU; asked again, it gives the same"""


class Fetch:
    """What was left on one device by those who want to see its numbers."""

    def __init__(self) -> None:
        self._left: list[Tensor] = []
        self._here: list[Tensor] = []

    def leave(self, *tensors: Tensor) -> Seen:
        """Tensors of any shapes, of numbers that float64 holds; nothing writes over them before they were seen."""
        start = len(self._here) + len(self._left)
        self._left += tensors

        def seen() -> list[Tensor]:
            if start + len(tensors) > len(self._here):
                self._here += brought(*self._left)
                self._left = []
            return self._here[start : start + len(tensors)]

        return seen


def brought(*numbers: Tensor) -> list[Tensor]:
    """Tensors of one device as float64 on the CPU; from another device all of them by one transfer."""
    if numbers[0].device.type in ON_CPU:
        return [tensor.cpu().double() for tensor in numbers]
    together = torch.cat([tensor.double().flatten() for tensor in numbers]).cpu()
    parts = together.split([tensor.numel() for tensor in numbers])
    return [part.view(tensor.shape) for part, tensor in zip(parts, numbers, strict=True)]


def largest(rows: Tensor, count: int) -> tuple[list[list[int]], list[list[float]]]:
    """Of rows [n, V] the places of the `count` largest numbers of each, the largest first, and those numbers; whatever
    device they are on, by one transfer."""
    best = rows.topk(min(count, rows.shape[-1]), dim=-1)
    if rows.device.type in ON_CPU:
        return best.indices.tolist(), best.values.tolist()
    columns, values = torch.stack([best.indices.double(), best.values.double()]).tolist()
    return [[int(column) for column in row] for row in columns], values
