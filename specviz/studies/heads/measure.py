"""How likely a candidate from a smaller output head is accepted, and what such a head saves per draft step.

Along a text that is there already, the probability of a candidate is known exactly at every place, so nothing is drawn
and all heads are judged alike. Whole passes over one token are timed, as a draft step is; heads take turns, and ratios
are of one run.
Place in the flow: asked by `specviz frequencies`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from specviz.bench.core.clock import pass_clock
from specviz.core.sampling import Sampling, transform
from specviz.errors import BenchError
from specviz.lm.base import Cache, LanguageModel
from specviz.lm.step_time import CACHED_ROWS, filled_cache, synchronize
from specviz.protocol.sweeps.points import Quartiles, quartiles

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


REPEATS = 60


def step_ratios(
    whole: LanguageModel, trimmed: Mapping[int, LanguageModel], repeats: int = REPEATS
) -> dict[int, Quartiles]:
    """Head size → time of a step with this head ÷ time of one with the whole head. Each repeat times all heads in
    turn and gives one ratio each."""
    cached_rows = max(1, min(CACHED_ROWS, whole.info.context_length // 2))
    models = {0: whole, **trimmed}
    caches = {size: filled_cache(model, cached_rows) for size, model in models.items()}
    for size, model in models.items():
        step_s(model, caches[size])  # the first pass of a shape sets up kernels and buffers
    ratios: dict[int, list[float]] = {size: [] for size in trimmed}
    for _ in range(repeats):
        seconds = {size: step_s(model, caches[size]) for size, model in models.items()}
        for size, ratio in ratios.items():
            ratio.append(seconds[size] / seconds[0])
    return {size: quartiles(ratio) for size, ratio in ratios.items()}


def step_s(model: LanguageModel, rows: Cache) -> float:
    """Seconds of one pass over one token, whose row is dropped again. On one thread of a CPU those it really worked, so
    that other programs disturb less."""
    clock, _ = pass_clock(model.device)
    synchronize(model.device)
    began = clock()
    model.forward([0], rows)
    synchronize(model.device)
    took = clock() - began
    rows.keep([])
    return took
