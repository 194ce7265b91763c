"""A live run as the page shows it: cumulative JSON for the player, at most twenty times a second.

Pulls steps from a `TraceSource`, keeps what was computed when the visitor stops, and ends with the whole trace.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from specviz.protocol.plain import has_plain, in_turns
from specviz.protocol.runs import Resume, RunRequest, TraceSource
from specviz.trace.cautions import full_contexts
from specviz.trace.codec import assemble, dumps, step_data
from specviz.trace.events import FORMAT, VERSION, Finished, PlainDecoding, Round, Step, Trace
from specviz.trace.header import Started

FRAME_S = 0.05
"""shortest time between two pictures; the engine never waits for it, rounds in between are shown together"""

CHEAP_S = 5.0
"""plain decoding is timed beside a run where it will take no longer"""
TIMING = "Timing it and plain decoding of the same prompt in turns…"

REASONS = {
    "eos": "the target ended the text",
    "stop": "a stop string was reached",
    "length": "the length limit was reached",
    "cancelled": "stopped by you; what was computed is kept",
    "failed": "the run failed",
}


@dataclass(frozen=True, slots=True)
class Frame:
    """One picture of a run: `player` is JSON (a trace, or one with `finished` null), `trace` the whole at the end."""

    player: str
    message: str
    trace: Trace | None = None
    started: Started | None = None
    failed: bool = False


class _Growing:
    """The trace so far. Each event is encoded once; a frame only joins strings."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.started: Started | None = None
        self.tokens = 0
        self._header = "null"
        self._rounds: list[str] = []
        self._vocab: dict[str, object] = {}

    def add(self, step: Step) -> None:
        self.steps.append(step)
        data = step_data(step)
        self._vocab.update(data["vocab"])
        if isinstance(step.event, Started):
            self.started = step.event
            self._header = _compact(data["event"])
        elif isinstance(step.event, Round):
            self._rounds.append(_compact(data["event"]))
            self.tokens += len(step.event.committed.tokens)

    def player(self) -> str:
        return (
            f'{{"format":"{FORMAT}","version":"{VERSION}","started":{self._header},"vocab":{_compact(self._vocab)},'
            f'"rounds":[{",".join(self._rounds)}],"finished":null,"summary":null}}'
        )

    def frame(self, also: str = "") -> Frame:
        count = len(self._rounds)
        message = f"Running: {count} target pass{'es' if count != 1 else ''}, {self.tokens} tokens so far. {also}"
        return Frame(self.player(), message.strip(), started=self.started)

    def compare(self, plain_of: Callable[[Finished], PlainDecoding | None]) -> None:
        """Put what was timed beside the run into its end."""
        last = self.steps[-1]
        if isinstance(last.event, Finished):
            self.steps[-1] = replace(last, event=replace(last.event, plain=plain_of(last.event)))

    def compares(self, request: RunRequest) -> bool:
        """Whether plain decoding can be timed beside it, and cheaply: by the passes of this run, a bound from above."""
        last, rounds = self.steps[-1].event, [step.event for step in self.steps if isinstance(step.event, Round)]
        expected_s = self.tokens * sum(one.scored.seconds for one in rounds) / max(1, len(rounds))
        return isinstance(last, Finished) and has_plain(request, last) and expected_s <= CHEAP_S

    def last(self) -> Frame:
        trace = assemble(self.steps)
        return Frame(dumps(trace), ending(trace), trace, self.started, failed=trace.finished.reason == "failed")


def frames(
    source: TraceSource,
    request: RunRequest,
    cancelled: Callable[[], bool],
    resume: Resume | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Frame]:
    """Run and yield frames; the last one carries the trace. Raises what the source raises.

    A whole run from its beginning has plain decoding timed beside it, where that is cheap.
    """
    growing = _Growing()
    shown_at = -FRAME_S
    for step in source.run(request, cancelled, resume):
        growing.add(step)
        if isinstance(step.event, Round) and clock() - shown_at >= FRAME_S:
            shown_at = clock()
            yield growing.frame()
    if resume is None and growing.compares(request):
        yield growing.frame(TIMING)
        growing.compare(lambda finished: in_turns(source, request, finished, cancelled, clock))
    yield growing.last()


def ending(trace: Trace) -> str:
    """One sentence for the end of a run. Times are the engine's; showing is not counted."""
    finished, summary = trace.finished, trace.summary
    if finished.reason == "failed":
        return f"The run failed: {finished.message or 'the engine gave no reason'}"
    passes = f"{summary.num_target_passes} target pass{'es' if summary.num_target_passes != 1 else ''}"
    engine = f", {finished.decode_s:.2f} s of engine time" if trace.started.source != "simulated" else ""
    said = f"{summary.num_output_tokens} tokens in {passes}{engine}; {REASONS[finished.reason]}."
    return " ".join([said, *full_contexts(trace)])


def _compact(data: object) -> str:
    return json.dumps(data, separators=(",", ":"), allow_nan=False)
