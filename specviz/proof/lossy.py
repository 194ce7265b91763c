"""How far a lossy method takes the text from the target: the law of the next token after one drafted candidate.

For every candidate that the drafter may draw, the verifier's own code says with which chance it passes and what is
drawn otherwise; summed over the drafter's distribution that is the exact law, and no sample is drawn. Longer drafts and
trees differ; what is measured is named with the number.
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
from specviz.options import to_mapping
from specviz.proof import lossy_fork
from specviz.proof.exhaustive import Text
from specviz.proof.sampled import Models
from specviz.trace.uniform_draws import Key
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
    found = torch.zeros(len(q), dtype=torch.float64)
    for token in torch.nonzero(q > RARE).flatten().tolist():
        tree, randomness = DraftTree.from_root(0), _Rejecting()
        tree.add(0, token, "iid", q, "model")
        verdict = verifier.judge(tree, ScoredTree(tree, logits.expand(2, -1), sampling), randomness, 1)
        probability = verdict.trials[0].threshold
        found[token] += float(q[token]) * probability
        if probability < 1.0 and randomness.row is not None:
            found += float(q[token]) * (1.0 - probability) * randomness.row.double()
        elif probability < 1.0:
            found[verdict.token] += float(q[token]) * (1.0 - probability)
    return found / found.sum()


def distances(models: Models, prompts: Sequence[Text], temperature: float) -> Iterator[Distance]:
    """Every lossy verifier, the sequential rule for comparison, and the lossy tree policy."""
    sampling = Sampling(temperature)
    rows = [[model.forward(list(one), model.new_cache(), last_only=True)[0] for model in models] for one in prompts]
    names = ["sequential", *(name for name, kind in VERIFIERS.items() if not kind.lossless)]
    for name in names:
        verifier = VERIFIERS.get(name)(VERIFIERS.get(name).options_type())
        found = []
        for target, draft in rows:
            logits = target[: models[0].info.vocab_size]
            p, q = transform(logits, sampling), transform(draft[: len(logits)], sampling)
            found.append(float((law(verifier, logits, q, sampling) - p.double()).abs().sum() / 2))
        yield _over(name, dict(to_mapping(verifier.options)), temperature, found)
    forks = [lossy_fork.total_variation(models, one, sampling) for one in prompts]
    law_of = "the token that a round leaves open, with one drafted candidate below each of its fork"
    yield _over("target_init", dict(lossy_fork.measured_options()), temperature, forks, law_of)


def _over(name: str, options: dict[str, object], temperature: float, found: Sequence[float], *law_of: str) -> Distance:
    """Mean and largest over prompts."""
    return Distance(name, options, temperature, len(found), sum(found) / len(found), max(found), *law_of)
