"""The training loop: schedule, optimisers, depth growth, checkpoints, resume.

Place in the flow: runs an objective (target or drafter loss) over batches and leaves a trained model. It reports rows.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaForCausalLM

from specviz.errors import TrainingError
from specviz.training import causal_tiles
from specviz.training.growth import grown, source_of
from specviz.training.muon import Muon
from specviz.training.schedule import Budget, learning_rate_factor
from specviz.training.windows import Batch, Batches

Objective = Callable[[LlamaForCausalLM, Batch, int], torch.Tensor]
Report = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class LoopOptions:
    """Numbers of one run; intervals in seconds."""

    budget: Budget
    matrix_lr: float = 0.02
    embedding_lr: float = 3e-3
    weight_decay: float = 0.05
    momentum: float = 0.95
    newton_schulz_iterations: int = 4
    warm_up_steps: int = 20
    decay: float = 1.0
    clip_norm: float = 1.0
    product_dtype: torch.dtype = torch.float32
    is_compiled: bool = False
    grow_at: float = 0.0
    checkpoint_every_s: float = 180.0
    validate_every_s: float = 300.0


@dataclass
class Progress:
    """Where a run stands; saved in every checkpoint."""

    step: int = 0
    tokens: int = 0
    elapsed_s: float = 0.0
    has_grown: bool = False
    log: list[dict[str, Any]] = field(default_factory=list)


def optimisers_of(model: LlamaForCausalLM, options: LoopOptions) -> tuple[Muon, torch.optim.AdamW]:
    """Muon for the matrices inside the layers, AdamW for embeddings and norms."""
    inside = [p for n, p in model.named_parameters() if p.ndim == 2 and ".layers." in n]
    others = [p for n, p in model.named_parameters() if not (p.ndim == 2 and ".layers." in n)]
    muon = Muon(
        inside,
        options.matrix_lr,
        options.momentum,
        options.weight_decay,
        options.newton_schulz_iterations,
        options.product_dtype,
    )
    adamw = torch.optim.AdamW(others, lr=options.embedding_lr, betas=(0.9, 0.95), weight_decay=0.0, fused=True)
    return muon, adamw


def compile_layers(model: LlamaForCausalLM) -> None:
    """Compiles every layer in place; weights and their names stay as they are. On a CPU attention is `causal_tiles`."""
    if model.device.type == "cpu":
        model.config._attn_implementation = causal_tiles.NAME
    for layer in model.model.layers:
        layer.forward = torch.compile(layer.forward)


def save_whole(payload: dict[str, Any], path: Path) -> None:
    """`torch.save`, whole or not at all: a stop in the middle leaves the file before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    torch.save(payload, partial)
    os.replace(partial, path)


class Loop:
    """One resumable training run."""

    def __init__(
        self,
        model: LlamaForCausalLM,
        batches: Batches,
        objective: Objective,
        options: LoopOptions,
        checkpoint: Path,
    ) -> None:
        """Continues from `checkpoint` where the file exists."""
        self.model, self.batches, self.objective, self.options = model, batches, objective, options
        self.checkpoint = checkpoint
        self.progress = Progress()
        self.optimisers = optimisers_of(model, options)
        if checkpoint.is_file():
            self._load()
        if options.is_compiled:
            compile_layers(self.model)

    def fraction(self) -> float:
        """Used fraction of the budget, in [0, 1]."""
        return self.options.budget.progress(self.progress.tokens, self.progress.elapsed_s)

    def run(
        self, report: Report, validate: Callable[[LlamaForCausalLM], float], most_steps: int | None = None
    ) -> LlamaForCausalLM:
        """Trains until the budget (or `most_steps` more steps) is used; returns the model, which growth may replace."""
        saved_at = validated_at = self.progress.elapsed_s
        clock = time.monotonic()
        last_step = None if most_steps is None else self.progress.step + most_steps
        while self.fraction() < 1.0 and (last_step is None or self.progress.step < last_step):
            row = self._step()
            now = time.monotonic()
            self.progress.elapsed_s, clock = self.progress.elapsed_s + now - clock, now
            if self.progress.elapsed_s - validated_at >= self.options.validate_every_s:
                validated_at = self.progress.elapsed_s
                row["held_out"] = validate(self.model)
            self.progress.log.append(row)
            report(row | {"elapsed_s": self.progress.elapsed_s})
            if self.progress.elapsed_s - saved_at >= self.options.checkpoint_every_s:
                saved_at = self.progress.elapsed_s
                self.save()
        self.save()
        return self.model

    def _step(self) -> dict[str, Any]:
        """One optimiser step; returns its log row."""
        used = self.fraction()
        if self.options.grow_at > 0 and not self.progress.has_grown and used >= self.options.grow_at:
            self._grow()
        factor = learning_rate_factor(used, self.progress.step, self.options.warm_up_steps, self.options.decay)
        muon, adamw = self.optimisers
        for optimiser, rate in ((muon, self.options.matrix_lr), (adamw, self.options.embedding_lr)):
            for group in optimiser.param_groups:
                group["lr"] = rate * factor
        batch = self.batches.batch(self.progress.step).to(self.model.device)
        loss = self.objective(self.model, batch, self.progress.step)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.options.clip_norm)
        for optimiser in self.optimisers:
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        value = loss.item()
        if value != value:
            raise TrainingError(f"The loss is not a number at step {self.progress.step}: lower the learning rates.")
        self.progress.step += 1
        self.progress.tokens += batch.n_tokens
        return {
            "step": self.progress.step,
            "tokens": self.progress.tokens,
            "loss": value,
            "progress": used,
            "lr_factor": factor,
            "gradient_norm": float(norm),
        }

    def _grow(self) -> None:
        """Doubles the depth by stacking and carries the optimiser state of the copied layers along."""
        old, old_optimisers = self.model, self.optimisers
        self.model = grown(old)
        self.optimisers = optimisers_of(self.model, self.options)
        old_parameters = dict(old.named_parameters())
        depth = old.config.num_hidden_layers
        for old_optimiser, optimiser in zip(old_optimisers, self.optimisers, strict=True):
            owned = {id(p) for group in optimiser.param_groups for p in group["params"]}
            for name, parameter in self.model.named_parameters():
                if id(parameter) in owned:
                    state = old_optimiser.state[old_parameters[source_of(name, depth)]]
                    optimiser.state[parameter] = {k: v.clone() for k, v in state.items()}
        self.progress.has_grown = True
        if self.options.is_compiled:
            compile_layers(self.model)

    def save(self) -> None:
        """Writes the checkpoint whole or not at all."""
        payload = {
            "model": self.model.state_dict(),
            "optimisers": [optimiser.state_dict() for optimiser in self.optimisers],
            "progress": vars(self.progress),
            "rng": torch.get_rng_state(),
        }
        save_whole(payload, self.checkpoint)

    def _load(self) -> None:
        payload = torch.load(self.checkpoint, map_location=self.model.device, weights_only=True)
        self.progress = Progress(**payload["progress"])
        if self.progress.has_grown:
            self.model = grown(self.model)
            self.optimisers = optimisers_of(self.model, self.options)
        self.model.load_state_dict(payload["model"])
        for optimiser, state in zip(self.optimisers, payload["optimisers"], strict=True):
            optimiser.load_state_dict(state)
        torch.set_rng_state(payload["rng"].cpu())
