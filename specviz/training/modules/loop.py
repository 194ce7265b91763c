"""The training loop of drafter modules: all of them learn from one reading of the target, step by step.

Place in the flow: runs the modules' losses over batches and leaves trained modules. It reports rows, can be stopped at
any time, and goes on from its checkpoint exactly where it was killed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from specviz.drafters.learned.module import DrafterModule
from specviz.errors import TrainingError
from specviz.options import Options
from specviz.training.loop import save_whole
from specviz.training.modules.teacher import Reading
from specviz.training.optimiser import Budget, Muon, Pace, learning_rate_factor

Modules = Mapping[str, DrafterModule[Options]]
Row = dict[str, Any]
Report = Callable[[Row], None]
TABLE_RATIO = 4
"""a matrix that much longer than wide has a row for each token or the like: AdamW, not Muon"""


@dataclass(frozen=True)
class LoopOptions:
    """Numbers of one run; intervals in seconds."""

    budget: Budget | Pace
    matrix_lr: float = 0.01
    other_lr: float = 1e-3
    weight_decay: float = 0.01
    warm_up_steps: int = 10
    clip_norm: float = 1.0
    dtype: torch.dtype = torch.float32
    """of the modules' products; weights and optimisers stay float32"""
    measure_every_s: float = 5.0
    checkpoint_every_s: float = 30.0
    table_ratio: int = TABLE_RATIO
    same_draws: bool = False
    """whether all modules draw the same numbers in a step, and so learn from the same places of the batch"""


@dataclass
class Progress:
    """Where a run stands; saved in every checkpoint."""

    step: int = 0
    tokens: int = 0
    elapsed_s: float = 0.0
    losses: dict[str, dict[str, float]] = field(default_factory=dict)
    """of the last step: label → term → value"""
    curve: list[Row] = field(default_factory=list)
    """what was measured on the way"""
    seconds: dict[str, float] = field(default_factory=dict)
    """label → that its own steps took, without the reading that all share"""


def optimisers_of(module: DrafterModule[Options], options: LoopOptions) -> tuple[torch.optim.Optimizer, ...]:
    """Muon for matrices, AdamW for norms, biases and tables of tokens; either may have nothing to do."""
    matrices, others = list[nn.Parameter](), list[nn.Parameter]()
    for parameter in module.parameters():
        square = parameter.ndim == 2 and max(parameter.shape) <= options.table_ratio * min(parameter.shape)
        (matrices if square else others).append(parameter)
    found: list[torch.optim.Optimizer] = []
    if matrices:
        found.append(Muon(matrices, options.matrix_lr, 0.95, options.weight_decay, 4, options.dtype))
    if others:
        found.append(torch.optim.AdamW(others, lr=options.other_lr, betas=(0.9, 0.95), weight_decay=0.0))
    return tuple(found)


class ModuleLoop:
    """One resumable run over labelled modules."""

    def __init__(
        self, modules: Modules, readings: Callable[[int], Reading], options: LoopOptions, checkpoint: Path | None
    ) -> None:
        """`readings` gives the reading of a step; goes on from `checkpoint` where the file exists."""
        self.modules, self.readings, self.options, self.checkpoint = modules, readings, options, checkpoint
        self.progress = Progress()
        self.optimisers = {label: optimisers_of(module, options) for label, module in modules.items()}
        if checkpoint is not None and checkpoint.is_file():
            self._load(checkpoint)

    def fraction(self) -> float:
        """Used fraction of the budget, in [0, 1]."""
        return self.options.budget.progress(self.progress.tokens, self.progress.elapsed_s)

    def run(
        self,
        report: Report,
        measure: Callable[[], Row] = dict,
        stopped: Callable[[], bool] = lambda: False,
        most_steps: int | None = None,
    ) -> None:
        """Train until the budget (or `most_steps` more steps) is used or `stopped` says so. `measure` is asked at the
        beginning, every few seconds and at the end; its time counts."""
        clock, last = time.monotonic(), None if most_steps is None else self.progress.step + most_steps
        saved_at = self.progress.elapsed_s
        measured_at = -1.0 if not self.progress.curve else self.progress.elapsed_s
        for module in self.modules.values():
            module.train()
        while True:
            over = self.fraction() >= 1.0 or stopped() or (last is not None and self.progress.step >= last)
            row = self._row()
            if over or measured_at < 0 or self.progress.elapsed_s - measured_at >= self.options.measure_every_s:
                began = time.monotonic()
                row |= measure()
                measured_at = self.progress.elapsed_s + 10 * (time.monotonic() - began)  # at most a tenth of the time
                self.progress.curve.append(row)
            report(row)
            if over:
                break
            if stopped():
                continue
            self._step()
            now = time.monotonic()
            self.progress.elapsed_s, clock = self.progress.elapsed_s + now - clock, now
            if self.progress.elapsed_s - saved_at >= self.options.checkpoint_every_s:
                saved_at = self.progress.elapsed_s
                self.save()
        for module in self.modules.values():
            module.eval()
        self.save()

    def _row(self) -> Row:
        progress = self.progress
        return {
            "step": progress.step,
            "tokens": progress.tokens,
            "elapsed_s": round(progress.elapsed_s, 3),
            "progress": round(self.fraction(), 5),
            "tokens_per_s": round(progress.tokens / progress.elapsed_s, 1) if progress.elapsed_s else 0.0,
            "losses": progress.losses,
        }

    def _step(self) -> None:
        """One optimiser step of every module."""
        factor = learning_rate_factor(self.fraction(), self.progress.step, self.options.warm_up_steps)
        reading = self.readings(self.progress.step)
        losses: dict[str, dict[str, float]] = {}
        drawn = torch.get_rng_state()
        for label, module in self.modules.items():
            began = time.monotonic()
            if self.options.same_draws:
                torch.set_rng_state(drawn)
            with self._autocast(reading.tokens.device.type):
                terms = module.loss(reading.batch_for(module))
            total = torch.stack([term.float() for term in terms.values()]).sum()
            total.backward()
            torch.nn.utils.clip_grad_norm_(module.parameters(), self.options.clip_norm)
            for optimiser in self.optimisers[label]:
                rate = self.options.matrix_lr if isinstance(optimiser, Muon) else self.options.other_lr
                for group in optimiser.param_groups:
                    group["lr"] = rate * factor
                optimiser.step()
                optimiser.zero_grad(set_to_none=True)
            losses[label] = {name: round(float(term.detach()), 5) for name, term in terms.items()}
            if not all(value == value for value in losses[label].values()):
                raise TrainingError(
                    f"The loss of '{label}' is not a number at step {self.progress.step}: lower the learning rate "
                    "(--module-lr)."
                )
            self.progress.seconds[label] = self.progress.seconds.get(label, 0.0) + time.monotonic() - began
        self.progress.step += 1
        self.progress.tokens += reading.tokens.numel()
        self.progress.losses = losses

    def _autocast(self, device: str) -> AbstractContextManager[Any]:
        if self.options.dtype == torch.float32:
            return nullcontext()
        return torch.autocast(device, dtype=self.options.dtype)

    def save(self) -> None:
        """Write the checkpoint whole or not at all, where there is a place for it."""
        if self.checkpoint is None:
            return
        payload = {
            "modules": {label: module.state_dict() for label, module in self.modules.items()},
            "optimisers": {label: [one.state_dict() for one in own] for label, own in self.optimisers.items()},
            "progress": vars(self.progress),
            "rng": torch.get_rng_state(),
        }
        save_whole(payload, self.checkpoint)

    def _load(self, checkpoint: Path) -> None:
        payload = torch.load(checkpoint, map_location="cpu", weights_only=True)
        self.progress = Progress(**payload["progress"])
        for label, module in self.modules.items():
            module.load_state_dict(payload["modules"][label])
            states: Sequence[Any] = payload["optimisers"][label]
            for optimiser, state in zip(self.optimisers[label], states, strict=True):
                optimiser.load_state_dict(state)
        torch.set_rng_state(payload["rng"])
