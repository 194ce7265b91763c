"""What a pass over several texts costs on this machine, measured: t(texts, rows).

Rows are not all: each text has a lane of keys and values, which attention goes through whatever the text asks. So there
is a curve over rows for each number of texts, as a batch computes it, and between two numbers of texts a straight line.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
import torch

from specviz.lm.base import GivesBatches, Share

CACHED_ROWS = 96
"""tokens of each text before the pass, where the model's context has room for them"""
TOKEN = 1
"""which token it is costs nothing"""


@dataclass(frozen=True, slots=True)
class PassTimes:
    """Measured seconds."""

    curves: tuple[tuple[int, tuple[tuple[int, float], ...]], ...]
    """(texts, ((rows of all of them, seconds), …)), both increasing"""

    def seconds(self, texts: int, rows: int) -> float:
        """On straight lines through what was measured; beyond it as the nearest."""
        return float(
            np.interp(texts, [size for size, _ in self.curves], [_at(curve, rows) for _, curve in self.curves])
        )


def _at(curve: Sequence[tuple[int, float]], rows: int) -> float:
    counts, seconds = zip(*curve, strict=True)
    return float(np.interp(rows, counts, seconds))


class _Texts:
    """A batch of so many texts in a model's caches, for passes that leave nothing behind."""

    def __init__(self, model: GivesBatches, texts: int, levels: int) -> None:
        self._batch = model.new_batch()
        self._caches = [self._batch.new_cache() for _ in range(texts)]
        cached = max(1, min(CACHED_ROWS, model.info.context_length - levels - 1))
        for cache in self._caches:
            self._batch.forward([Share([TOKEN] * cached, cache, last_only=True)])
            cache.keep(range(cached))

    def seconds(self, rows: int, clock: Callable[[], float]) -> float:
        """Of a pass over so many rows, shared out among the texts."""
        each, more = divmod(rows, len(self._caches))
        counts = [each + (lane < more) for lane in range(len(self._caches))]
        shares = [Share([TOKEN] * count, cache) for count, cache in zip(counts, self._caches, strict=True) if count]
        began = clock()
        self._batch.forward(shares)
        seconds = clock() - began
        for share in shares:
            share.cache.keep([])
        return seconds


@torch.inference_mode()
def pass_times(
    model: GivesBatches, sizes: Sequence[int], levels: int, clock: Callable[[], float], repeats: int = 5
) -> PassTimes:
    """Medians for batches of these sizes, each of one row up to 1 + `levels` rows per text, in turn so that drift hits
    all, after one pass of each."""
    curves = []
    for texts in sorted(sizes):
        batch = _Texts(model, texts, levels)
        taken: defaultdict[int, list[float]] = defaultdict(list)
        for repeat in range(repeats + 1):
            for rows in row_counts(texts, levels):
                seconds = batch.seconds(rows, clock)
                if repeat:
                    taken[rows].append(seconds)
        curves.append((texts, rising([(rows, median(seconds)) for rows, seconds in taken.items()])))
    return PassTimes(tuple(curves))


@torch.inference_mode()
def switch_times(
    target: GivesBatches, drafter: GivesBatches, sizes: Sequence[int], clock: Callable[[], float], repeats: int = 9
) -> dict[int, float]:
    """By number of texts, the seconds that a pass of each model over a row of every text takes longer behind the other
    model than behind itself: the weights of one drive those of the other out of the processor's cache. Medians."""
    found = {}
    for texts in sizes:
        large, small = _Texts(target, texts, 0), _Texts(drafter, texts, 0)
        taken = list[float]()
        for _ in range(repeats + 1):
            _, large_again, small_first, small_again, large_first = (
                model.seconds(texts, clock) for model in (large, large, small, small, large)
            )
            taken.append(small_first - small_again + large_first - large_again)
        found[texts] = max(0.0, median(taken[1:]))
    return found


def rising(curve: Sequence[tuple[int, float]]) -> tuple[tuple[int, float], ...]:
    """No pass is dearer than one over more rows: what measured so was disturbed."""
    cheapest = np.minimum.accumulate([seconds for _, seconds in reversed(curve)])[::-1]
    return tuple((rows, float(seconds)) for (rows, _), seconds in zip(curve, cheapest, strict=True))


def row_counts(texts: int, levels: int) -> list[int]:
    """Rows to measure: one, which a model may compute by another way, two and half of the texts, one of every text,
    half as many more, then another of every text at each level."""
    some = {1, min(2, texts), max(1, texts // 2), texts, texts + (texts + 1) // 2}
    return sorted(some | {texts * (1 + level) for level in range(1, levels + 1)})
