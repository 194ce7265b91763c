"""Training of the small network, and how good it is on rounds it has not seen.

Full batches, AdamW, a fixed number of steps: the same examples give the same weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn import functional

from specviz.stop_policies.base import Recipe
from specviz.stop_policies.learned import Layers, logits

WEIGHT_DECAY = 0.05
SEED = 7


@dataclass(frozen=True, slots=True)
class Fitted:
    """Trained weights. Inputs are standardised by `mean` and `scale` [in] first."""

    mean: Tensor
    scale: Tensor
    layers: Layers

    def predict(self, inputs: Tensor) -> Tensor:
        """inputs [n, in] → probabilities [n]."""
        return logits((inputs - self.mean) / self.scale, self.layers).sigmoid()


def fit(inputs: Tensor, labels: Tensor, recipe: Recipe) -> Fitted:
    """inputs [n, in], probabilities [n] in [0, 1].

    Binary cross-entropy with soft labels; the part that speaks for a rejection counts `reject_weight` times (SpecDec++,
    2405.19715, §3.2: 6).
    """
    mean, scale = inputs.mean(0), inputs.std(0, correction=0).clamp(min=1e-3)
    x = (inputs - mean) / scale
    layers = _fresh([inputs.shape[1], *recipe.widths, 1])
    parameters = [tensor for layer in layers for tensor in layer]
    optimiser = torch.optim.AdamW(parameters, lr=recipe.learning_rate, weight_decay=WEIGHT_DECAY)
    for_accept, for_reject = labels, recipe.reject_weight * (1.0 - labels)
    for step in range(recipe.steps):
        for group in optimiser.param_groups:
            group["lr"] = recipe.learning_rate * (1.0 - step / recipe.steps)
        optimiser.zero_grad()
        predicted = logits(x, layers)
        gain = for_accept * functional.logsigmoid(predicted) + for_reject * functional.logsigmoid(-predicted)
        loss = -gain.sum() / (for_accept + for_reject).sum()
        loss.backward()
        optimiser.step()
    return Fitted(mean, scale, [(weight.detach(), bias.detach()) for weight, bias in layers])


def _fresh(sizes: Sequence[int]) -> list[tuple[Tensor, Tensor]]:
    """Random weights; a residual block begins as no change at all."""
    generator = torch.Generator().manual_seed(SEED)
    layers = []
    for wide, narrow in pairwise(sizes):
        weight = torch.randn(narrow, wide, generator=generator) / wide**0.5
        layers.append(
            ((weight * 0.1 if wide == narrow else weight).requires_grad_(), torch.zeros(narrow).requires_grad_())
        )
    return layers


def accuracy(predicted: Tensor, labels: Tensor) -> float:
    """Expected share of right answers, "accepted" being said from 0.5 on: said and probabilities [n]."""
    return float(torch.where(predicted >= 0.5, labels, 1.0 - labels).mean())


def frequency(predicted: Tensor, recipe: Recipe) -> Tensor:
    """said [n] → the frequencies of acceptance [n] that it stands for: a rejection that counts w times in training
    makes the odds w times too low."""
    odds = recipe.reject_weight * predicted / (1.0 - predicted).clamp(min=1e-12)
    return odds / (1.0 + odds)


def log_loss(predicted: Tensor, labels: Tensor) -> float:
    """Cross-entropy in nats per example of said [n] against probabilities [n]."""
    predicted = predicted.double().clamp(1e-6, 1.0 - 1e-6)
    return float(-(labels * predicted.log() + (1.0 - labels) * (1.0 - predicted).log()).mean())


def auc(predicted: Tensor, labels: Tensor) -> float | None:
    """Probability that an accepted candidate got more than a rejected one, ties counting half; each example is accepted
    with its probability. None where there is only one kind."""
    order = predicted.argsort()
    values, mass, rest = predicted[order].double(), labels[order].double(), 1.0 - labels[order].double()
    positives, negatives = float(mass.sum()), float(rest.sum())
    if positives <= 0.0 or negatives <= 0.0:
        return None
    _, groups = values.unique_consecutive(return_inverse=True)
    by_group = torch.zeros(int(groups.max()) + 1, dtype=torch.float64).index_add(0, groups, rest)
    below = (by_group.cumsum(0) - by_group / 2)[groups]
    return float((mass * below).sum() / (positives * negatives))
