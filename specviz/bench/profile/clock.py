"""What passes take on this machine, in about three seconds: for a recorded sweep to be predicted on its clock.

    of each width: a round of a drafter's steps ─► the target's pass ─► the same again ─► one row ─► … ─► a few tokens
     └────────────────────────────────────── until the seconds are over ─────────────────────────────────────┘

The tokens are decoded plainly and in the ways that are asked for, because a round is more than its passes. Medians
count, and all is timed by the clock of its thread where there is one, so that other programs of a shared machine
disturb little. Place in the flow: the live source is asked for a clock by the page and by `specviz predict`;
`theory.sweep_clock` puts a sweep on it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import cycle
from statistics import fmean, median, quantiles

from specviz.bench.core.passes import pass_clock
from specviz.bench.core.run import Collected, collect, never
from specviz.core.clock import read_by
from specviz.errors import BenchError
from specviz.lm.base import Cache, LanguageModel
from specviz.lm.load import LoadedModel
from specviz.lm.step_time import ROUND_PASSES, Clock, filled_cache, machine, pass_s
from specviz.protocol.clocks import PLAIN, Case, Clocked, ClockRequest, MachineClock, TriedRounds
from specviz.protocol.runs import RunRequest, TraceSource
from specviz.protocol.sweeps.points import BASELINE
from specviz.trace.header import StepTime

FEWEST = 3
"""repeats, however long they take: quartiles need as many"""
TRIED_TOKENS = 24
"""decoded in each way in each repeat"""
WAYS_BETWEEN_PLAIN = 3
"""runs of plain decoding, by which every speedup divides"""


@dataclass(slots=True)
class _Taken:
    """Seconds of every repeat."""

    target: dict[int, list[float]]
    """by rows"""
    behind: dict[int, list[float]]
    """the same behind drafting"""
    drafters: dict[str, list[float]]
    """by the sha256 of their weights: a step, in the mean of a round's"""
    tried: dict[Case, list[TriedRounds]]
    """by way of decoding"""


def measure_clock(
    request: ClockRequest,
    source: TraceSource,
    load: Callable[[str], LoadedModel],
    lane: AbstractContextManager[object],
    cancelled: Callable[[], bool] = never,
) -> Iterator[Clocked]:
    """Progress after every repeat, and the clock at the end; nothing of a measurement that was cancelled before its
    third repeat. `lane` is held while passes run; `source` decodes in it. Raises BenchError where the text of one way
    ends with its first round."""
    target = load(request.target)
    models = {loaded.info.weights_sha256: loaded.model for loaded in map(load, request.drafter_models)}
    with lane:
        timed = _Timed.of(request, target.model, models)
    prompts = {card.id: card.text for card in source.catalog().prompts}
    request = replace(request, prompt=prompts.get(request.prompt_id, request.prompt))
    asked = {case: _few_tokens(request, way) for case, way in request.tried.items()}
    plain = _few_tokens(request, RunRequest("").with_drafter(BASELINE))
    taken = _Taken(
        {n: [] for n in timed.rows},
        {n: [] for n in timed.rows},
        {model: [] for model in models},
        {case: [] for case in (PLAIN, *asked)},
    )
    began, repeats = time.perf_counter(), 0
    while repeats < FEWEST or time.perf_counter() - began < request.budget_s:
        with lane:
            timed.repeat(taken)
        runs = _decoded(source, plain, asked, timed.clock, cancelled)
        if runs is None:
            break
        for case, run in runs:
            taken.tried[case].append(_rounds(case, run, request.prompt))
        repeats += 1
        yield Clocked(time.perf_counter() - began, request.budget_s, None)
    if repeats >= FEWEST:
        seconds = time.perf_counter() - began
        yield Clocked(seconds, request.budget_s, _clock(target, timed, taken, seconds))


def _few_tokens(request: ClockRequest, way: RunRequest) -> RunRequest:
    return replace(
        way, prompt=request.prompt, target=request.target, device=request.device, dtype=request.dtype,
        max_new_tokens=TRIED_TOKENS, record=False,
    )  # fmt: skip


def _decoded(
    source: TraceSource,
    plain: RunRequest,
    asked: Mapping[Case, RunRequest],
    clock: Clock,
    cancelled: Callable[[], bool],
) -> list[tuple[Case, Collected]] | None:
    """Every way once, with plain decoding before, between and behind them; None where it was cancelled."""
    ways, turns = list(asked.items()), [(PLAIN, plain)]
    for first in range(0, len(ways), WAYS_BETWEEN_PLAIN):
        turns += [*ways[first : first + WAYS_BETWEEN_PLAIN], (PLAIN, plain)]
    runs = []
    with read_by(clock):
        for case, request in turns:
            run = collect(source, request, cancelled)
            if run is None:
                return None
            runs.append((case, run))
    return runs


def _rounds(case: Case, run: Collected, prompt: str) -> TriedRounds:
    """The mean round of a run, without the first, which holds what the prompt left behind, and the last of several,
    whose draft is cut to the tokens that are left."""
    rounds = run.rounds[1:-1] or run.rounds[1:]
    if not rounds:
        raise BenchError(f"after {prompt[:40]!r} the target ends its text at once; give another prompt.")
    draft_s = fmean(this.drafted.seconds for this in rounds)
    target_pass_s = fmean(this.scored.target_pass.seconds for this in rounds)
    return TriedRounds(
        case,
        draft_s=draft_s,
        rows=tuple(this.scored.target_pass.rows for this in rounds),
        target_pass_s=target_pass_s,
        rest_s=fmean(this.seconds for this in rounds) - draft_s - target_pass_s,
        draft_passes=fmean(len(this.drafted.passes) for this in rounds),
    )


def _median(repeats: Sequence[TriedRounds]) -> TriedRounds:
    """Of each time; the rounds are the same in all of them."""
    times = ("draft_s", "target_pass_s", "rest_s")
    return replace(repeats[0], **{name: median(getattr(each, name) for each in repeats) for name in times})


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
        tried=tuple(map(_median, taken.tried.values())),
        repeats=len(taken.behind[1]),
        seconds=seconds,
    )


def _step_time(n: int, cached_rows: int, seconds: Sequence[float]) -> StepTime:
    low, middle, high = quantiles(seconds, n=4)
    return StepTime(n, cached_rows, middle, low, high)
