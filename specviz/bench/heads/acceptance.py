"""How likely a candidate from a smaller output head is accepted: alpha of several heads at the same places.

Place in the flow: asked by `specviz frequencies`. Along a text that is there already, the probability of a candidate is
known exactly at every place, so nothing is drawn and all heads are judged alike.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from specviz.core.sampling import Sampling, transform
from specviz.errors import BenchError
from specviz.lm.base import LanguageModel

Head = TypeVar("Head", bound=Hashable)
Text = tuple[Sequence[int], Sequence[int]]
"""(ids it begins with, ids after them): places are those where the latter were chosen"""


@torch.inference_mode()
def alphas(
    target: LanguageModel, heads: Mapping[Head, LanguageModel], texts: Iterable[Text], sampling: Sampling
) -> dict[Head, float]:
    """Head → alpha: the mean over all places of the sum of min(p, q) over the vocabulary (Leviathan et al. 2211.17192,
    Corollary 3.6); at temperature 0, how often both prefer the same token. All vocabularies are the target's.

    Raises BenchError where there is no place.
    """
    found: dict[Head, list[Tensor]] = {head: [] for head in heads}
    for beginning, rest in texts:
        if beginning and rest:
            p = _rows(target, beginning, rest, sampling)
            for head, model in heads.items():
                found[head].append(torch.minimum(p, _rows(model, beginning, rest, sampling)).sum(-1))
    if not all(found.values()):
        raise BenchError("the texts have no place to draft at, so there is no acceptance; give longer ones.")
    return {head: float(torch.cat(sums).mean()) for head, sums in found.items()}


def _rows(model: LanguageModel, beginning: Sequence[int], rest: Sequence[int], sampling: Sampling) -> Tensor:
    """What the model says at each place [len(rest), V]."""
    logits = model.forward([*beginning, *rest[:-1]], model.new_cache())
    return transform(logits[len(beginning) - 1 :, : model.info.vocab_size], sampling).cpu()
