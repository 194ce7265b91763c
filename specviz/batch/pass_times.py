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


@torch.inference_mode()
def pass_times(
    model: GivesBatches, sizes: Sequence[int], levels: int, clock: Callable[[], float], repeats: int = 5
) -> PassTimes:
    """Medians for batches of these sizes, each of one row up to 1 + `levels` rows per text, in turn so that drift hits
    all; a pass of each before the clock is read."""
    curves = []
    for texts in sorted(sizes):
        batch = model.new_batch()
        caches = [batch.new_cache() for _ in range(texts)]
        cached = max(1, min(CACHED_ROWS, model.info.context_length - levels - 1))
        for cache in caches:
            batch.forward([Share([TOKEN] * cached, cache, last_only=True)])
            cache.keep(range(cached))
        taken: defaultdict[int, list[float]] = defaultdict(list)
        for repeat in range(repeats + 1):
            for rows in row_counts(texts, levels):
                each, more = divmod(rows, texts)
                counts = [each + (lane < more) for lane in range(texts)]
                shares = [Share([TOKEN] * count, cache) for count, cache in zip(counts, caches, strict=True) if count]
                began = clock()
                batch.forward(shares)
                if repeat:
                    taken[rows].append(clock() - began)
                for share in shares:
                    share.cache.keep([])
        curves.append((texts, rising([(rows, median(seconds)) for rows, seconds in taken.items()])))
    return PassTimes(tuple(curves))


def rising(curve: Sequence[tuple[int, float]]) -> tuple[tuple[int, float], ...]:
    """No pass is dearer than one over more rows: what measured so was disturbed."""
    cheapest = np.minimum.accumulate([seconds for _, seconds in reversed(curve)])[::-1]
    return tuple((rows, float(seconds)) for (rows, _), seconds in zip(curve, cheapest, strict=True))


def row_counts(texts: int, levels: int) -> list[int]:
    """Rows to measure: one, which a model may compute by another way, two and half of the texts, one of every text,
    half as many more, then another of every text at each level."""
    some = {1, min(2, texts), max(1, texts // 2), texts, texts + (texts + 1) // 2}
    return sorted(some | {texts * (1 + level) for level in range(1, levels + 1)})
