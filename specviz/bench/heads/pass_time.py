"""What a smaller output head saves per draft step: bare passes of one drafter, heads of several sizes taking turns.

Place in the flow: asked by `specviz frequencies`. Times whole passes over one token, as a draft step is; ratios only,
from one run.
"""

from __future__ import annotations

from collections.abc import Mapping

from specviz.bench.core.clock import pass_clock
from specviz.lm.base import Cache, LanguageModel
from specviz.lm.step_time import CACHED_ROWS, filled_cache, synchronize
from specviz.protocol.sweeps.points import Quartiles, quartiles

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
        for size, found in ratios.items():
            found.append(seconds[size] / seconds[0])
    return {size: quartiles(found) for size, found in ratios.items()}


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
