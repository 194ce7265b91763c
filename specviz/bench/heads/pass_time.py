"""What a smaller output head saves per draft step: bare passes of one drafter, heads of several sizes taking turns.

Place in the flow: asked by `specviz frequencies`. Times whole passes over one token, as a draft step is; ratios only,
from one run. Knows nothing about which tokens a head keeps.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import torch

from specviz.lm.base import Cache, LanguageModel
from specviz.lm.step_time import CACHED_ROWS, synchronize
from specviz.protocol.sweeps.points import Quartiles, quartiles

REPEATS = 60


def step_ratios(
    whole: LanguageModel, trimmed: Mapping[int, LanguageModel], repeats: int = REPEATS
) -> dict[int, Quartiles]:
    """Head size → time of a step with this head ÷ time of one with the whole head. Each repeat times all heads in
    turn and gives one ratio each."""
    cached_rows = max(1, min(CACHED_ROWS, whole.info.context_length // 2))
    models = {0: whole, **trimmed}
    caches = {size: _filled_cache(model, cached_rows) for size, model in models.items()}
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
    on_one_thread = model.device.type == "cpu" and torch.get_num_threads() == 1
    clock = time.thread_time if on_one_thread else time.perf_counter
    synchronize(model.device)
    began = clock()
    model.forward([0], rows)
    synchronize(model.device)
    took = clock() - began
    rows.keep([])
    return took


def _filled_cache(model: LanguageModel, cached_rows: int) -> Cache:
    rows = model.new_cache()
    model.forward([0] * cached_rows, rows, last_only=True)
    rows.keep(range(cached_rows))
    return rows
