"""Muon (momentum, orthogonalised, for the weight matrices inside the layers) and the learning rate's schedule.

Place in the flow: one of the two optimisers of the training loop; embeddings and norms go to AdamW. The schedule goes
over tokens or wall-clock time, whichever runs out first, so that a run on a machine of unknown load still ends at zero.

Why not `torch.optim.Muon`: it runs its Newton-Schulz iteration in bfloat16, matrix by matrix. On CPUs without
bfloat16 instructions such products are many times slower than fp32, so here the iteration runs in the dtype that is
the faster on this machine, and all matrices of one shape go through it as one batch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from specviz.errors import TrainingError

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


@dataclass(frozen=True)
class Budget:
    """What a run may use: tokens, and minutes of wall-clock time counted across resumes (0: no limit)."""

    tokens: int
    minutes: float = 0.0

    def progress(self, tokens: int, elapsed_s: float) -> float:
        """Used fraction of the budget, in [0, 1]."""
        used = tokens / self.tokens
        if self.minutes > 0:
            used = max(used, elapsed_s / (60 * self.minutes))
        return min(1.0, used)


@dataclass(frozen=True)
class Pace:
    """The budget of a run as another one went through it: for each of some counts of tokens, rising, how much of its
    budget that run had used; between them in a straight line."""

    tokens: tuple[int, ...]
    used: tuple[float, ...]

    @classmethod
    def of(cls, curve: Sequence[Mapping[str, Any]]) -> Pace:
        """From the rows that a run measured. Raises TrainingError where it was not run to its end."""
        found = {int(row["tokens"]): float(row["progress"]) for row in curve}
        if not found or max(found.values()) < 1.0:
            raise TrainingError("The training to keep pace with is not finished: run that one to its end first.")
        return cls(tuple(found), tuple(found.values()))

    def progress(self, tokens: int, elapsed_s: float) -> float:
        """Used fraction, in [0, 1]; time does not matter."""
        return float(np.interp(tokens, self.tokens, self.used))


def learning_rate_factor(progress: float, step: int, warm_up_steps: int, decay: float = 1.0) -> float:
    """Linear warm-up over `warm_up_steps`, then constant, then linear decay to exactly zero at progress 1.

    `decay` in (0, 1] is the share of the budget, at its end, in which the rate falls; with 1 it falls all the time.
    """
    warm_up = min(1.0, (step + 1) / max(1, warm_up_steps))
    return warm_up * min(1.0, max(0.0, 1.0 - progress) / decay)
