"""How far `target_init` takes the text from the target: the law of the open token with a fork of two levels.

The round tries the token that the target drew and others of the same distribution without replacement, with one
drafted candidate below each. The first of them whose candidate passes becomes text; where none passes, the open token
does. Given the fork that is exact arithmetic; forks are drawn, and the open token itself serves as control, so that the
noise is that of the forks in which another token wins. Deeper forks, such as the default's, prefer more strongly.
"""

from __future__ import annotations

import torch
from torch import Tensor

from specviz.core.sampling import Sampling, transform
from specviz.lm.base import LanguageModel
from specviz.proof.exhaustive import Text
from specviz.proof.sampled import Models
from specviz.tree_policies.target_init import TargetInitOptions

FORKS = 20_000
MOST = 256
"""first tokens that are looked at; what the others weigh together bounds the error"""
DEPTH = 2
SEED = 5


def measured_options() -> dict[str, int]:
    """The default width, with one drafted candidate below each."""
    return {"width": TargetInitOptions().width, "depth": DEPTH}


def pass_probabilities(models: Models, text: Text, first: list[int], sampling: Sampling) -> Tensor:
    """Per first token the probability that a candidate drafted below it passes [n]: Σ min(p, q)."""
    p, q = (transform(_below(model, text, first), sampling) for model in models)
    return torch.minimum(p, q[:, : p.shape[1]]).double().sum(-1)


def _below(model: LanguageModel, text: Text, first: list[int]) -> Tensor:
    """Logits [n, V] after the text and each of these tokens, from one pass."""
    cache = model.new_cache()
    model.forward(list(text), cache, last_only=True)
    return model.forward(first, cache, [len(text) - 1] * len(first))[:, : model.info.vocab_size].float()


def moved(p: Tensor, passes: Tensor, width: int, forks: int = FORKS) -> Tensor:
    """The law of the open token less p [n], for first tokens with law p [n] whose candidates pass so often [n]."""
    width = min(width, int((p > 0).sum()))
    noise = torch.rand(forks, len(p), generator=torch.Generator().manual_seed(SEED), dtype=torch.float64)
    chosen = (p.double().log() - (-noise.log()).log()).topk(width, dim=-1).indices  # in draw order, without replacement
    accepted = passes[chosen]
    nobody_before = torch.cumprod(torch.cat([torch.ones(forks, 1), 1 - accepted], dim=1).double(), dim=1)
    wins = accepted * nobody_before[:, :-1]
    wins[:, 0] += nobody_before[:, -1] - 1.0  # the open token's own draw is p itself
    found = torch.zeros(len(p), dtype=torch.float64)
    return found.index_add_(0, chosen.flatten(), wins.flatten()) / forks


def total_variation(models: Models, text: Text, sampling: Sampling) -> float:
    """Between the law of the open token after this text and the target's."""
    target = models[0]
    logits = target.forward(list(text), target.new_cache(), last_only=True)[0, : target.info.vocab_size]
    head = transform(logits, sampling).topk(min(MOST, len(logits)))
    p = head.values / head.values.sum()
    passes = pass_probabilities(models, text, head.indices.tolist(), sampling)
    return float(moved(p, passes, TargetInitOptions().width).abs().sum() / 2)
