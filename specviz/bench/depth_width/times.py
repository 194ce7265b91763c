"""Time of a drafting step of every network and of the target's pass over every number of rows, in turns in one run.

Time is that which the processor worked for the thread, so that other programs on the machine disturb less. A drafting
step stands behind a pass of the target, as in any round: the target's weights drive the drafter's out of the caches.
Place in the flow: half of what `specviz study depth-width` says of a network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, quantiles

import torch

from specviz.bench.core.clock import pass_clock
from specviz.bench.core.contest import rotated
from specviz.lm.base import Cache, LanguageModel
from specviz.lm.step_time import Clock, filled_cache
from specviz.protocol.depth_widths import Times

CACHED_ROWS = 128
STEPS = 4
"""of a draft, whose mean is one sample"""


@dataclass(frozen=True, slots=True)
class TimedPasses:
    """Medians and quartiles."""

    steps: Mapping[str, Times]
    """network → a drafting step"""
    passes: Mapping[int, Times]
    """rows → the target's pass"""


@torch.inference_mode()
def measure(
    target: LanguageModel, drafters: Mapping[str, LanguageModel], gammas: Sequence[int], repeats: int
) -> TimedPasses:
    """`repeats` rounds of everything, each time begun with another; behind `CACHED_ROWS` tokens."""
    clock, _ = pass_clock(target.device)
    cached = min(CACHED_ROWS, target.info.context_length // 2)
    judging = filled_cache(target, cached)
    drafting = {name: filled_cache(drafter, cached) for name, drafter in drafters.items()}
    rows = (1, *(gamma + 1 for gamma in gammas))
    passes: dict[int, list[float]] = {count: [] for count in rows}
    steps: dict[str, list[float]] = {name: [] for name in drafters}
    for repeat in range(-1, repeats):  # the first round sets up kernels and buffers
        for count in rotated(rows, repeat):
            took = _pass(target, judging, count, clock)
            if repeat >= 0:
                passes[count].append(took)
        for name in rotated(list(drafters), repeat):
            _pass(target, judging, max(rows), clock)
            took = fmean(_pass(drafters[name], drafting[name], 1, clock) for _ in range(STEPS))
            if repeat >= 0:
                steps[name].append(took)
    return TimedPasses(
        {name: _times(taken) for name, taken in steps.items()},
        {count: _times(taken) for count, taken in passes.items()},
    )


def _pass(model: LanguageModel, cache: Cache, count: int, clock: Clock) -> float:
    """Seconds of a pass over a chain of so many tokens, whose rows are dropped again."""
    began = clock()
    model.forward([token % model.info.vocab_size for token in range(count)], cache)
    took = clock() - began
    cache.keep([])
    return took


def _times(seconds: Sequence[float]) -> Times:
    low, median, high = (round(1000 * one, 4) for one in quantiles(seconds, n=4, method="inclusive"))
    return Times(median, low, high)
