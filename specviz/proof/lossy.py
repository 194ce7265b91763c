"""How far a lossy method takes the text from the target: the law of the next token after one drafted candidate.

For every candidate that the drafter may draw, the verifier's own code says with which chance it passes and what is
drawn otherwise; summed over the drafter's distribution that is the exact law, and no sample is drawn. Longer drafts and
trees differ; what is measured is named with the number.

Of `target_init` it is the law of the open token with a fork of two levels. The round tries the token that the target
drew and others of the same distribution without replacement, with one drafted candidate below each. The first of them
whose candidate passes becomes text; where none passes, the open token does. Given the fork that is exact arithmetic;
forks are drawn, and the open token itself serves as control, so that the noise is that of the forks in which another
token wins. Deeper forks, such as the default's, prefer more strongly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from specviz.core.randomness import AcceptDraw, TokenDraw
from specviz.core.sampling import Sampling, transform
from specviz.core.tree import DraftTree
from specviz.engine.scoring import ScoredTree
from specviz.lm.base import LanguageModel
from specviz.options import to_mapping
from specviz.proof.exhaustive import Text
from specviz.proof.sampled import Models
from specviz.trace.uniform_draws import Key
from specviz.tree_policies.target_init import TargetInitOptions
from specviz.verifiers.base import VERIFIERS, Verifier

RARE = 1e-9
"""candidates drawn less often than this are left out; what they weigh together bounds the error"""


@dataclass(frozen=True, slots=True)
class Distance:
    """One method, over all prompts."""

    method: str
    options: dict[str, object]
    temperature: float
    prompts: int
    total_variation: float
    """mean over prompts, between the law of the next token and the target's"""
    largest: float
    """over prompts"""
    law_of: str = "the next token after one drafted candidate"


class _Rejecting:
    """RandomSource that reject whatever has no certain verdict, and keep the row that is drawn from then."""

    row: Tensor | None = None

    def accept(self, probability: float, key: Key) -> AcceptDraw:
        return AcceptDraw(probability >= 1.0, None)

    def draw(self, probs: Tensor, key: Key) -> TokenDraw:
        self.row = probs
        return TokenDraw(int(probs.argmax()), None)

    def peek(self, probs: Tensor, key: Key) -> int:
        return int(probs.argmax())


def law(verifier: Verifier[Any], logits: Tensor, q: Tensor, sampling: Sampling) -> Tensor:
    """The next token's law [V] after one candidate drawn from q [V], with the target's logits [V] at the root."""
    chances = torch.zeros(len(q), dtype=torch.float64)
    for token in torch.nonzero(q > RARE).flatten().tolist():
        tree, randomness = DraftTree.from_root(0), _Rejecting()
        tree.add(0, token, "iid", q, "model")
        verdict = verifier.judge(tree, ScoredTree(tree, logits.expand(2, -1), sampling), randomness, 1)
        probability = verdict.trials[0].threshold
        chances[token] += float(q[token]) * probability
        if probability < 1.0 and randomness.row is not None:
            chances += float(q[token]) * (1.0 - probability) * randomness.row.double()
        elif probability < 1.0:
            chances[verdict.token] += float(q[token]) * (1.0 - probability)
    return chances / chances.sum()


def distances(models: Models, prompts: Sequence[Text], temperature: float) -> Iterator[Distance]:
    """Every lossy verifier, the sequential rule for comparison, and the lossy tree policy."""
    sampling = Sampling(temperature)
    rows = [[model.forward(list(text), model.new_cache(), last_only=True)[0] for model in models] for text in prompts]
    names = ["sequential", *(name for name, kind in VERIFIERS.items() if not kind.lossless)]
    for name in names:
        verifier = VERIFIERS.get(name)(VERIFIERS.get(name).options_type())
        sums = []
        for target, draft in rows:
            logits = target[: models[0].info.vocab_size]
            p, q = transform(logits, sampling), transform(draft[: len(logits)], sampling)
            sums.append(float((law(verifier, logits, q, sampling) - p.double()).abs().sum() / 2))
        yield _over(name, dict(to_mapping(verifier.options)), temperature, sums)
    forks = [total_variation(models, text, sampling) for text in prompts]
    law_of = "the token that a round leaves open, with one drafted candidate below each of its fork"
    yield _over("target_init", dict(measured_options()), temperature, forks, law_of)


def _over(name: str, options: dict[str, object], temperature: float, values: Sequence[float], *law_of: str) -> Distance:
    """Mean and largest over prompts."""
    return Distance(name, options, temperature, len(values), sum(values) / len(values), max(values), *law_of)


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
    weights = torch.zeros(len(p), dtype=torch.float64)
    return weights.index_add_(0, chosen.flatten(), wins.flatten()) / forks


def total_variation(models: Models, text: Text, sampling: Sampling) -> float:
    """Between the law of the open token after this text and the target's."""
    target = models[0]
    logits = target.forward(list(text), target.new_cache(), last_only=True)[0, : target.info.vocab_size]
    head = transform(logits, sampling).topk(min(MOST, len(logits)))
    p = head.values / head.values.sum()
    passes = pass_probabilities(models, text, head.indices.tolist(), sampling)
    return float(moved(p, passes, TargetInitOptions().width).abs().sum() / 2)
