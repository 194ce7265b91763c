"""The normaliser of a frozen head's distribution, and its gradient, without ever holding all logits at once.

Place in the flow: losses of drafter modules. A few rows at a time stay in the processor's cache, where [rows, V] would
be written to memory and read again many times: several times faster on a CPU. Registers nothing.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

ROWS = 64
"""rows whose logits are held together"""


class _LogNormaliser(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor) -> Tensor:
        """rows [n, H], weight [V, H] → [n] float32."""
        transposed, slopes, found = weight.t(), torch.empty_like(rows), []
        for start in range(0, len(rows), ROWS):
            part = (rows[start : start + ROWS] @ transposed).float()
            highest = part.amax(-1, keepdim=True)
            total = part.sub_(highest).exp_().sum(-1, keepdim=True)
            slopes[start : start + ROWS] = part.div_(total).to(weight.dtype) @ weight
            found.append((total.log() + highest)[:, 0])
        ctx.save_for_backward(slopes)
        return torch.cat(found)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (slopes,) = ctx.saved_tensors
        return slopes * gradients[0][:, None].to(slopes.dtype), None


def log_normaliser(rows: Tensor, weight: Tensor) -> Tensor:
    """log Σ_v exp(W_v · x) of rows x [..., H] under a frozen head W [V, H]: [...] in float32. Under autocast its
    products run in autocast's dtype."""
    device = rows.device.type
    if torch.is_autocast_enabled(device):
        dtype = torch.get_autocast_dtype(device)
        rows, weight = rows.to(dtype), weight.to(dtype)
    with torch.autocast(device, enabled=False):
        found: Tensor = _LogNormaliser.apply(rows.flatten(0, -2), weight.detach())  # type: ignore[no-untyped-call]
    return found.view(rows.shape[:-1])
