"""What a smaller output head saves per draft step: bare passes of one drafter, heads of several sizes taking turns.

Place in the flow: asked by `specviz frequencies`. Times whole passes over one token, as a draft step is; ratios only,
from one run. Knows nothing about which tokens a head keeps.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median, quantiles

import torch

from specviz.lm.base import Cache, LanguageModel
from specviz.lm.step_time import CACHED_ROWS, synchronize

REPEATS = 60


@dataclass(frozen=True, slots=True)
class StepRatio:
    """Time of a step with this head ÷ time of a step with the whole one, over the repeats."""

    median: float
    low: float
    """first quartile"""
    high: float
    """third quartile"""


def step_ratios(
    whole: LanguageModel, trimmed: Mapping[int, LanguageModel], repeats: int = REPEATS
) -> dict[int, StepRatio]:
    """Head size → ratio. Each repeat times the whole head and every smaller one in turn, and gives one ratio each;
    at least two repeats."""
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
    return {size: _summary(found) for size, found in ratios.items()}


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


def _summary(found: list[float]) -> StepRatio:
    low, _, high = quantiles(found, n=4)
    return StepRatio(median(found), low, high)
