"""Muon: momentum, orthogonalised, for the weight matrices inside the layers.

Place in the flow: one of the two optimisers of the training loop; embeddings and norms go to AdamW.

Why not `torch.optim.Muon`: it runs its Newton-Schulz iteration in bfloat16, matrix by matrix. On CPUs without
bfloat16 instructions such products are many times slower than fp32, so here the iteration runs in the dtype that is
the faster on this machine, and all matrices of one shape go through it as one batch.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import torch

# Quintic coefficients of Jordan et al. 2024 (https://kellerjordan.github.io/posts/muon/): steep at zero, so that
# small singular values rise fast; the fixed point is a band around 1 (about 0.7 to 1.2), which is close enough.
QUINTIC = (3.4445, -4.7750, 2.0315)


def orthogonalise(matrices: torch.Tensor, iterations: int) -> torch.Tensor:
    """Moves every singular value near 1 (Newton-Schulz, Jordan et al. 2024). [n, rows, columns] -> same."""
    a, b, c = QUINTIC
    tall = matrices.shape[-2] > matrices.shape[-1]
    x = matrices.mT.contiguous() if tall else matrices
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(iterations):
        gram = torch.bmm(x, x.mT)
        polynomial = torch.baddbmm(gram, gram, gram, beta=b, alpha=c)
        x = torch.baddbmm(x, polynomial, x, beta=a)
    return x.mT if tall else x


class Muon(torch.optim.Optimizer):
    """MomentUm Orthogonalised by Newton-Schulz (Jordan et al. 2024), Nesterov form, decoupled weight decay."""

    def __init__(
        self,
        parameters: Iterable[torch.nn.Parameter],
        lr: float = 0.02,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        iterations: int = 5,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        """`lr` is the spectral size of one step for a square matrix; tall matrices get sqrt(rows / columns) more.

        `dtype` is that of the Newton-Schulz products; weights and momentum keep their own.
        """
        self.dtype = dtype
        defaults = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "iterations": iterations}
        super().__init__(parameters, defaults)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """One update; a closure is not used."""
        for group in self.param_groups:
            for parameters in _by_shape(group["params"]):
                self._update(parameters, group)

    def _update(self, parameters: list[torch.nn.Parameter], group: dict[str, Any]) -> None:
        directions = []
        for parameter in parameters:
            gradient = parameter.grad
            assert gradient is not None
            state = self.state[parameter]
            average = state.setdefault("momentum", torch.zeros_like(parameter))
            average.lerp_(gradient, 1 - group["momentum"])
            directions.append(gradient.lerp(average, group["momentum"]))
        steps = orthogonalise(torch.stack(directions).to(self.dtype), group["iterations"])
        rows, columns = parameters[0].shape
        scale = group["lr"] * max(1.0, rows / columns) ** 0.5
        for parameter, change in zip(parameters, steps, strict=True):
            parameter.mul_(1 - group["lr"] * group["weight_decay"])
            parameter.add_(change.to(parameter.dtype), alpha=-scale)


def _by_shape(parameters: Iterable[torch.nn.Parameter]) -> Iterable[list[torch.nn.Parameter]]:
    """Groups the matrices that have a gradient by shape."""
    groups: dict[torch.Size, list[torch.nn.Parameter]] = defaultdict(list)
    for parameter in parameters:
        if parameter.grad is not None:
            groups[parameter.shape].append(parameter)
    return groups.values()
