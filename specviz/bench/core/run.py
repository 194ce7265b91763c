"""The one way in which the bench collects a run: a source and a request in, a finished run or nothing out.

    source.run(request) ─► collect ─► Collected ─► sweep points, race traces, contest outcomes
                              └─ replay, where asked: the round's passes alone, timed right after it

Place in the flow: every experiment runs through here, so what counts as failed, cancelled and not to be timed is said
once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from specviz.bench.core.contest import Measured
from specviz.errors import BenchError, SpecVizError
from specviz.protocol.runs import PromptCard, RunRequest, TraceSource
from specviz.theory import metrics
from specviz.theory.rows import counts_of
from specviz.trace.codec import assemble
from specviz.trace.events import Finished, Round, Step, Trace
from specviz.trace.header import Started
from specviz.trace.summary import deployable

Cancelled = Callable[[], bool]
WARM_UP_TOKENS = 8
"""length of the run before anything is timed: it touches every code path and all of the weights"""


def never() -> bool:
    """Not cancelled."""
    return False


class RunFailedError(BenchError):
    """The engine ended the run as failed."""

    def __init__(self, request: RunRequest, message: str) -> None:
        prompt = f" on prompt '{request.prompt_name}'" if request.prompt_name else ""
        super().__init__(f"the run of '{request.drafter.name}'{prompt} failed: {message}")
        self.message = message


class Replay(Protocol):
    """Repeats what a round asked of the models, and nothing else."""

    def clock(self) -> float:
        """Seconds; rounds and replays are timed by the same clock."""
        ...

    def replay(self, one: Round) -> float:
        """Seconds of the round's passes alone."""
        ...


@dataclass(frozen=True, slots=True)
class Collected:
    """A finished run."""

    steps: tuple[Step, ...]
    started: Started
    rounds: tuple[Round, ...]
    finished: Finished
    wall_s: float
    """from call to end as the caller saw it, replays left out"""
    replayed: tuple[tuple[float, float], ...] = ()
    """per round: (seconds of its passes alone, seconds of the round); of several that were handed over together the
    first has those of all"""

    @property
    def trace(self) -> Trace:
        return assemble(self.steps)

    @property
    def tokens_per_s(self) -> float:
        """Output tokens over the seconds of the rounds, by the engine's clock."""
        seconds = self.finished.decode_s
        return len(self.finished.output_ids) / seconds if seconds > 0 else 0.0


def collect(
    source: TraceSource, request: RunRequest, cancelled: Cancelled = never, replay: Replay | None = None
) -> Collected | None:
    """One run to its end; None where it was cancelled on the way.

    Raises BenchError where the run failed, and for a method whose times would be no speed.
    """
    if cancelled():
        return None
    steps, replayed = list[Step](), list[tuple[float, float]]()
    clock = time.perf_counter if replay is None else replay.clock
    wall_s, running = 0.0, source.run(replace(request, stepwise=False), cancelled)
    while True:
        began = clock()
        step = next(running, None)
        took = clock() - began
        wall_s += took
        if step is None:
            break
        steps.append(step)
        if isinstance(step.event, Started):
            check_deployable(step.event)
        elif replay is not None and isinstance(step.event, Round):
            replayed.append((replay.replay(step.event), took))
    return _finished(request, steps, wall_s, replayed)


def _finished(
    request: RunRequest, steps: Sequence[Step], wall_s: float, replayed: Sequence[tuple[float, float]]
) -> Collected | None:
    events = [step.event for step in steps]
    finished = next((event for event in events if isinstance(event, Finished)), None)
    if finished is None or finished.reason == "cancelled":
        return None
    if finished.reason == "failed":
        raise RunFailedError(request, finished.message or "it did not say why.")
    started = next((event for event in events if isinstance(event, Started)), None)
    if started is None:
        raise BenchError(f"the run of '{request.drafter.name}' gave no header; try it with `specviz run`.")
    rounds = tuple(event for event in events if isinstance(event, Round))
    return Collected(tuple(steps), started, rounds, finished, wall_s, tuple(replayed))


def check_deployable(started: Started) -> None:
    """Raises BenchError for a run whose times would be no speed: its stop policy asked the target beforehand."""
    if started.stop_policy is not None and not deployable(started):
        raise BenchError(
            f"the stop policy '{started.stop_policy.name}' asks the target beforehand, so its times are no speed; "
            "compare its target passes and wasted candidates instead, or measure another stop policy."
        )


def on(prompt: PromptCard, request: RunRequest, repeat: int = 0) -> RunRequest:
    """The request on this prompt. Repeat r draws with seed + r; at temperature 0 nothing of the text is drawn."""
    return replace(request, prompt=prompt.text, prompt_name=prompt.id, seed=request.seed + repeat)


@dataclass(frozen=True, slots=True)
class FirstRun:
    """An unmeasured run: it warms everything up and shows whether the method can run here."""

    started: Started | None
    """None where it cannot"""
    reason: str = ""
    """why it cannot"""


def first_run(source: TraceSource, requests: Sequence[RunRequest], cancelled: Cancelled = never) -> FirstRun | None:
    """All requests are asked whether they can run, and the first one is run; None where it was cancelled."""
    for request in requests:
        reason = source.explain(request)
        if reason is not None:
            return FirstRun(None, reason)
    try:
        run = collect(source, requests[0], cancelled)
    except RunFailedError as error:
        return FirstRun(None, error.message)
    except SpecVizError as error:
        return FirstRun(None, str(error))
    return None if run is None else FirstRun(run.started)


@dataclass(frozen=True, slots=True)
class SourceContestant:
    """Our engine as a contestant: one request, decoded prompt by prompt, timed from outside as any caller would."""

    name: str
    source: TraceSource
    request: RunRequest
    """prompt and prompt_name are filled in per prompt"""

    def decode(self, prompt: PromptCard, cancelled: Cancelled, repeat: int = 0) -> Measured | None:
        run = collect(self.source, on(prompt, self.request, repeat), cancelled)
        return None if run is None else measured(run)


def measured(run: Collected) -> Measured:
    """The run as the contest counts it."""
    return Measured(
        run.finished.output_ids,
        run.wall_s,
        run.finished.prefill_s,
        counts_of(run.rounds, len(run.finished.output_ids), metrics.mbsu(run.started, run.rounds)),
        engine_s=run.finished.decode_s,
        record_s=run.finished.record_s,
    )
