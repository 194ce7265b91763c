"""How long one target pass takes, measured on this machine: t(n) for n new rows.

Speculative decoding pays exactly as far as t(n) stays flat, so the curve travels with every trace.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import fmean, median, quantiles

import torch

from specviz.core.clock import seconds_of, synchronize
from specviz.core.draws import Chooser
from specviz.lm.base import Cache, LanguageModel, WritesChains
from specviz.lm.llama.rows import LlamaRows
from specviz.trace.header import Machine, StepTime

ROW_COUNTS = (1, 2, 4, 8, 16, 32, 64)
CACHED_ROWS = 128
BUDGET_S = 0.8
REPEATS = 15
"""At most; fewer where the budget ends first, never fewer than `FEWEST_REPEATS`."""
FEWEST_REPEATS = 3

Clock = Callable[[], float]
"""seconds since some moment"""

ROUND_PASSES = (2, 1, 1, 1)
"""rows of the drafter passes in the round whose drafting is timed: those of the default γ"""

_measured: dict[tuple[object, ...], list[StepTime]] = {}
_draft_passes: dict[tuple[object, ...], float] = {}
"""Results of this process, by everything they depend on: measuring twice would only cost time."""


def use_threads(threads: int = 1) -> None:
    """Let torch use this many threads. One is the default: on a shared machine more are slower and far less even."""
    torch.set_num_threads(max(1, threads))


def step_times(
    model: LanguageModel,
    row_counts: Sequence[int] = ROW_COUNTS,
    cached_rows: int = CACHED_ROWS,
    budget_s: float = BUDGET_S,
) -> list[StepTime]:
    """t(n) at a cache of `cached_rows`: median and quartiles in seconds, row counts in turn so that drift hits all.

    The widest first, so that a pass over one row follows one over few, as where nothing is drafted: behind 64 rows it
    finds less of the weights in the processor's cache, and takes a fifth longer. Row counts beyond the model's context
    are left out. Measured once per process for the same weights, device, dtype and threads.
    """
    info = model.info
    cached_rows = max(1, min(cached_rows, info.context_length // 2))
    counts = tuple(n for n in row_counts if cached_rows + n <= info.context_length)
    key = (*_identity(model), counts, cached_rows)
    if key not in _measured:
        _measured[key] = _measure(model, counts, cached_rows, budget_s)
    return list(_measured[key])


def draft_pass_s(drafter: LanguageModel, target: LanguageModel, cached_rows: int = CACHED_ROWS) -> float:
    """Seconds of one drafter pass inside a round: the mean of a round's passes over `ROUND_PASSES` rows, right after a
    target pass; median over repeats.

    The target pass belongs to it: it reads weights enough to drive the drafter's out of the processor's caches. Passes
    of the drafter alone, one after the other, are up to twice as fast as those of any run. The first reads two tokens,
    as after a draft that was accepted whole.
    """
    cached_rows = max(1, min(cached_rows, drafter.info.context_length // 2, target.info.context_length // 2))
    key = ("draft", *_identity(drafter), *_identity(target), cached_rows)
    if key not in _draft_passes:
        drafting, judging = filled_cache(drafter, cached_rows), filled_cache(target, cached_rows)
        rows = min(len(ROUND_PASSES) + 1, target.info.context_length - cached_rows)
        pass_s(drafter, drafting, 1)
        pass_s(target, judging, rows)
        deadline = time.perf_counter() + BUDGET_S / 2
        rounds: list[float] = []
        while len(rounds) < FEWEST_REPEATS or (len(rounds) < REPEATS and time.perf_counter() < deadline):
            pass_s(target, judging, rows)
            rounds.append(fmean(pass_s(drafter, drafting, n) for n in ROUND_PASSES))
        _draft_passes[key] = median(rounds)
    return _draft_passes[key]


def _identity(model: LanguageModel) -> tuple[object, ...]:
    """Everything about a model that its times depend on, and the threads it has."""
    info, replayed = model.info, isinstance(model, LlamaRows) and model.replays is not None
    return info.weights_sha256, info.adapter, str(model.device), info.dtype, replayed, torch.get_num_threads()


def _measure(model: LanguageModel, counts: Sequence[int], cached_rows: int, budget_s: float) -> list[StepTime]:
    rows = filled_cache(model, cached_rows)
    seconds: dict[int, list[float]] = {n: [] for n in counts}
    for n in counts:
        pass_s(model, rows, n)  # the first pass of a shape sets up kernels and buffers
    deadline = time.perf_counter() + budget_s
    for repeat in range(REPEATS):
        if repeat >= FEWEST_REPEATS and time.perf_counter() > deadline:
            break
        for n in sorted(counts, reverse=True):
            seconds[n].append(pass_s(model, rows, n))
    return [_summary(n, cached_rows, measured) for n, measured in seconds.items()]


def _summary(n: int, cached_rows: int, seconds: Sequence[float]) -> StepTime:
    low, _, high = quantiles(seconds, n=4)
    return StepTime(rows=n, cached_rows=cached_rows, median_s=median(seconds), low_s=low, high_s=high)


def _tokens(model: LanguageModel, n: int) -> list[int]:
    """Any tokens do: time does not depend on them."""
    return [i % model.info.vocab_size for i in range(n)]


def filled_cache(model: LanguageModel, cached_rows: int) -> Cache:
    """A cache of so many rows."""
    rows = model.new_cache()
    model.forward(_tokens(model, cached_rows), rows, last_only=True)
    rows.keep(range(cached_rows))
    return rows


def pass_s(model: LanguageModel, rows: Cache, n: int, clock: Clock = time.perf_counter) -> float:
    """Seconds of one pass over a binary tree of n rows, until the logits are there; its rows are dropped again."""
    base = rows.length
    took = _forward_s(model, rows, n, clock, [base - 1, *(base + (i - 1) // 2 for i in range(1, n))])
    rows.keep([])
    return took


def chain_s(model: LanguageModel, rows: Cache, n: int, last_only: bool = False) -> float:
    """Seconds of one pass over n more rows of text, which stay; `last_only`: the last alone is read out."""
    base = rows.length
    took = _forward_s(model, rows, n, time.perf_counter, None, last_only)
    rows.keep(range(base, base + n))
    return took


def written_s(
    model: LanguageModel, rows: Cache, counts: Sequence[int], clock: Clock = time.perf_counter
) -> tuple[float, Sequence[float]] | None:
    """Seconds of a drafter's passes over so many more rows of text each by one call, and of each pass alone; the rows
    stay. None where they take several calls: one goes over any number of rows first, and then over one at a time."""
    chooser = Chooser.of(len(counts))
    if chooser is None or not isinstance(model, WritesChains) or any(n > 1 for n in counts[1:]):
        return None
    base, tokens = rows.length, _tokens(model, counts[0])
    synchronize(model.device)
    began = clock()
    chain = model.write_chain(tokens, rows, chooser)
    took = clock() - began
    rows.keep(range(base, rows.length))
    return None if chain is None else (took, chain.seconds)


def _forward_s(
    model: LanguageModel, rows: Cache, n: int, clock: Clock, parents: list[int] | None, last_only: bool = False
) -> float:
    tokens = _tokens(model, n)
    return seconds_of(lambda: model.forward(tokens, rows, parents, last_only), model.device, clock)


def machine(device: torch.device, dtype: str) -> Machine:
    """What a run was measured on. Names the processor, never the host."""
    return Machine(
        device=str(device),
        dtype=dtype,
        threads=torch.get_num_threads(),
        cores=os.cpu_count() or 1,
        processor=torch.cuda.get_device_name(device) if device.type == "cuda" else _processor(),
        python=platform.python_version(),
        torch=_version("torch"),
        transformers=_version("transformers"),
        system=platform.system(),
    )


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


@cache
def _processor() -> str:
    """The processor's model name where the system tells it, else its architecture."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine() or "unknown"
