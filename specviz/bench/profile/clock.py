"""What passes take on this machine, in about three seconds: for a recorded sweep to be predicted on its clock.

    of each width: a round of a drafter's steps ─► the target's pass ─► the same again ─► one row ─► … ─► plain tokens
     └────────────────────────────────────── until the seconds are over ──────────────────────────────────────┘

Medians count, and passes are timed by the clock of their thread where there is one, so that other programs of a shared
machine disturb little. Place in the flow: the live source is asked for a
clock by the page and by `specviz predict`; `theory.reclock` puts a sweep on it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import cycle
from statistics import fmean, median, quantiles

from specviz.bench.core.passes import pass_clock
from specviz.bench.core.run import collect, never
from specviz.errors import BenchError
from specviz.lm.base import Cache, LanguageModel
from specviz.lm.load import LoadedModel
from specviz.lm.step_time import ROUND_PASSES, Clock, filled_cache, machine, pass_s
from specviz.protocol.clocks import Clocked, ClockRequest, MachineClock
from specviz.protocol.runs import RunRequest, TraceSource
from specviz.protocol.sweeps.points import BASELINE
from specviz.trace.header import StepTime

FEWEST = 3
"""repeats, however long they take: quartiles need as many"""
PLAIN_TOKENS = 8
"""of plain decoding in each repeat"""


@dataclass(slots=True)
class _Taken:
    """Seconds of every repeat."""

    target: dict[int, list[float]]
    """by rows"""
    behind: dict[int, list[float]]
    """the same behind drafting"""
    drafters: dict[str, list[float]]
    """by the sha256 of their weights: a step, in the mean of a round's"""
    rest: list[float] = field(default_factory=list)
    """of rounds of plain decoding, what was in no pass"""


def measure_clock(
    request: ClockRequest,
    source: TraceSource,
    load: Callable[[str], LoadedModel],
    lane: AbstractContextManager[object],
    cancelled: Callable[[], bool] = never,
) -> Iterator[Clocked]:
    """Progress after every repeat, and the clock at the end; nothing of a measurement that was cancelled before its
    third repeat. `lane` is held while passes run; `source` runs plain decoding in it. Raises BenchError where plain
    decoding ends with its first token."""
    target = load(request.target)
    models = {loaded.info.weights_sha256: loaded.model for loaded in map(load, request.drafter_models)}
    with lane:
        timed = _Timed.of(request, target.model, models)
    plain = RunRequest(
        request.prompt, request.target, device=request.device, dtype=request.dtype, max_new_tokens=PLAIN_TOKENS,
        record=False,
    ).with_drafter(BASELINE)  # fmt: skip
    taken = _Taken({n: [] for n in timed.rows}, {n: [] for n in timed.rows}, {model: [] for model in models})
    began, repeats = time.perf_counter(), 0
    while repeats < FEWEST or time.perf_counter() - began < request.budget_s:
        with lane:
            timed.repeat(taken)
        run = collect(source, plain, cancelled)
        if run is None:
            break
        # The first round holds what the prompt left behind.
        taken.rest += [this.seconds - this.scored.target_pass.seconds for this in run.rounds[1:]]
        repeats += 1
        yield Clocked(min(time.perf_counter() - began, request.budget_s), request.budget_s, None)
    if repeats >= FEWEST and not taken.rest:
        raise BenchError(f"after {request.prompt[:40]!r} the target ends its text at once; give another prompt.")
    if repeats >= FEWEST:
        seconds = time.perf_counter() - began
        yield Clocked(request.budget_s, request.budget_s, _clock(target, timed, taken, seconds))


@dataclass(frozen=True, slots=True)
class _Timed:
    """Models with filled caches."""

    target: LanguageModel
    target_cache: Cache
    drafters: dict[str, tuple[LanguageModel, Cache]]
    rows: tuple[int, ...]
    cached_rows: int
    clock: Clock

    @classmethod
    def of(cls, request: ClockRequest, target: LanguageModel, drafters: dict[str, LanguageModel]) -> _Timed:
        """Widths that the target's context has no room for are left out."""
        holds = min(model.info.context_length for model in (target, *drafters.values()))
        cached = max(1, min(request.cached_rows, holds // 2))
        return cls(
            target,
            filled_cache(target, cached),
            {sha256: (model, filled_cache(model, cached)) for sha256, model in drafters.items()},
            tuple(sorted({1, *(n for n in request.rows if 1 <= n <= holds - cached)})),
            cached,
            pass_clock(target.device)[0],
        )

    def repeat(self, taken: _Taken) -> None:
        """Everything once. A target pass and a drafter's steps stand behind each other, as in a round: each reads
        weights enough to drive the other's out of the processor's caches. Drafters take turns from width to width. The
        pass over one row, by which every speedup divides, is timed beside each width."""
        turns = cycle(self.drafters.items())
        for n in self.rows:
            if self.drafters:
                sha256, (model, cache) = next(turns)
                taken.drafters[sha256].append(fmean(pass_s(model, cache, rows, self.clock) for rows in ROUND_PASSES))
            taken.behind[n].append(pass_s(self.target, self.target_cache, n, self.clock))
            for rows in dict.fromkeys((n, 1)):
                taken.target[rows].append(pass_s(self.target, self.target_cache, rows, self.clock))


def _clock(target: LoadedModel, timed: _Timed, taken: _Taken, seconds: float) -> MachineClock:
    info = target.info
    return MachineClock(
        machine=machine(target.model.device, info.dtype),
        target_sha256=info.weights_sha256,
        step_times=tuple(_step_time(n, timed.cached_rows, times) for n, times in taken.target.items()),
        round_times=tuple(_step_time(n, timed.cached_rows, times) for n, times in taken.behind.items()),
        draft_steps={sha256: median(steps) for sha256, steps in taken.drafters.items()},
        rest_s=median(taken.rest),
        repeats=len(taken.behind[1]),
        seconds=seconds,
    )


def _step_time(n: int, cached_rows: int, seconds: Sequence[float]) -> StepTime:
    low, middle, high = quantiles(seconds, n=4)
    return StepTime(n, cached_rows, middle, low, high)
