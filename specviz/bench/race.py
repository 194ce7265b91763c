"""A race: plain decoding and up to three drafters, one after the other on the same prompt, with clean timing.

Everyone gets the same request but for the drafter: prompt, seed, verifier, sampling, number format, length. Nothing
is shown while it runs, nothing but text and times is kept, each runner warms up once, and each run begins with an
empty memory. All times are the engine's, from the trace.

Place in the flow: takes any `TraceSource`, gives a `Race` to the Race tab and to `specviz race`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from specviz.bench.core.run import WARM_UP_TOKENS, collect
from specviz.errors import OptionError
from specviz.protocol.lending import at_once
from specviz.protocol.races import MOST_RUNNERS, Race, Runner
from specviz.protocol.runs import RunRequest, TraceSource
from specviz.protocol.sweeps.points import BASELINE
from specviz.theory import metrics
from specviz.trace.events import Option, Trace

PLAIN_LABEL = "plain decoding"
MOST_DRAFTERS = MOST_RUNNERS - 1


@dataclass(frozen=True, slots=True)
class Racer:
    """A drafter with its options."""

    drafter: str
    options: Mapping[str, Option] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return " ".join([self.drafter, *(f"{_short(name)} {value}" for name, value in self.options.items())])


PLAIN = Racer(BASELINE)


@dataclass(frozen=True, slots=True)
class RaceSpec:
    """Who runs on what. Of `request` all is kept but the drafter and what belongs to it."""

    request: RunRequest
    racers: tuple[Racer, ...]
    """one to three, plain decoding not among them"""
    repeats: int = 1


@dataclass(frozen=True, slots=True)
class Lap:
    """One finished timed run. `place` 0 is plain decoding, then the racers in their order."""

    place: int
    repeat: int
    trace: Trace


def field_of(spec: RaceSpec) -> tuple[Racer, ...]:
    """Everyone at the start: plain decoding, then the drafters."""
    return (PLAIN, *spec.racers)


def label_of(racer: Racer) -> str:
    return PLAIN_LABEL if racer.drafter == BASELINE else racer.label


def lap_count(spec: RaceSpec) -> int:
    return len(field_of(spec)) * spec.repeats


def progress(spec: RaceSpec, done: int) -> str:
    """What is being recorded once `done` timed runs are over: `recording plain decoding… 1 of 4`."""
    total = lap_count(spec)
    if done >= total:
        return f"all {total} runs are recorded"
    racers = field_of(spec)
    return f"recording {label_of(racers[done % len(racers)])}… {done + 1} of {total}"


def request_for(spec: RaceSpec, racer: Racer) -> RunRequest:
    """The common request with this drafter; tree policy, stop policy and memory stay at the drafter's own defaults."""
    return replace(spec.request.with_drafter(racer.drafter, racer.options), record=False)


def check(source: TraceSource, spec: RaceSpec) -> None:
    """Raises OptionError for a field that cannot start, with the reason."""
    if not 1 <= len(spec.racers) <= MOST_DRAFTERS:
        raise OptionError(f"{len(spec.racers)} drafters were chosen; a race is between plain decoding and 1 to 3.")
    labels = [racer.label for racer in spec.racers]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise OptionError(f"'{twice}' was chosen twice; change its options or leave it out.")
    if any(racer.drafter == BASELINE for racer in spec.racers):
        raise OptionError(f"plain decoding ('{BASELINE}') always runs; choose another drafter beside it.")
    if spec.repeats < 1:
        raise OptionError(f"repeats is {spec.repeats}, but must be at least 1.")
    for racer in field_of(spec):
        reason = source.explain(request_for(spec, racer))
        if reason:
            raise OptionError(f"{label_of(racer)} cannot run: {reason}")


def race(source: TraceSource, spec: RaceSpec, cancelled: Callable[[], bool] = lambda: False) -> Iterator[Lap]:
    """Run everyone, one after the other, once per repeat; yields each timed run when it is over.

    Stops quietly when cancelled, within a run too: that run is lost, those before it stand. Raises OptionError for a
    field that cannot start, BenchError for a run that failed.
    """
    check(source, spec)
    requests = [request_for(spec, racer) for racer in field_of(spec)] * spec.repeats
    yield from at_once(source, partial(_laps, spec), requests, cancelled)


@dataclass(frozen=True, slots=True)
class PlannedLap:
    """A timed run that is still to be made, by the field's `index`-th."""

    index: int
    repeat: int
    request: RunRequest


def planned(spec: RaceSpec) -> list[PlannedLap]:
    """Every timed run, in the order in which they are made."""
    return [
        PlannedLap(index, repeat, request_for(spec, racer))
        for repeat in range(spec.repeats)
        for index, racer in enumerate(field_of(spec))
    ]


def _laps(spec: RaceSpec, source: TraceSource, cancelled: Callable[[], bool]) -> Iterator[Lap]:
    for lap in planned(spec):
        if lap.repeat == 0:
            short = replace(lap.request, max_new_tokens=min(WARM_UP_TOKENS, lap.request.max_new_tokens))
            if collect(source, short, cancelled) is None:
                return
        run = collect(source, lap.request, cancelled)
        if run is None:
            return
        yield Lap(lap.index, lap.repeat, run.trace)


def result(spec: RaceSpec, laps: Sequence[Lap]) -> Race | None:
    """The race as far as it was run: of each runner the run with the median engine time (of an even number the
    faster of the two in the middle), and its ratio to plain decoding in each repeat. None where plain decoding has not
    finished."""
    plain = {lap.repeat: lap.trace for lap in laps if lap.place == 0}
    if not plain:
        return None
    runners = []
    for index, racer in enumerate(field_of(spec)):
        laps_of = sorted((lap for lap in laps if lap.place == index), key=lambda lap: lap.repeat)
        if laps_of:
            ratios = [metrics.speedup(lap.trace, plain[lap.repeat]) for lap in laps_of]
            counted = tuple(ratio for ratio in ratios if ratio is not None)
            runners.append(Runner(label_of(racer), _median([lap.trace for lap in laps_of]), counted))
    return Race(tuple(runners))


def _median(traces: Sequence[Trace]) -> Trace:
    ordered = sorted(traces, key=lambda trace: trace.finished.decode_s)
    return ordered[(len(ordered) - 1) // 2]


def _short(option: str) -> str:
    return {"gamma": "γ"}.get(option, option.replace("_", " "))
