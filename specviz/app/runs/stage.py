"""A run on the stage: of a live one cumulative JSON for the player, at most twenty times a second; of a whole one its
player, badges and panels; packed for later; and an uploaded file or the text that the player holds, which may hold
anything and are read with the limits for strangers.

A live run pulls steps from a `TraceSource`, keeps what was computed when the visitor stops, and ends with the whole
trace.
"""

from __future__ import annotations

import base64
import json
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from specviz.app.look import notices
from specviz.app.look.notices import badges
from specviz.app.runs.gallery import as_recorded
from specviz.app.runs.panels import (
    acceptance_by_depth,
    accepted_lengths,
    bar_panels,
    heat_map,
    iterations,
    matrix_of,
    matrix_table,
)
from specviz.bench.plain import has_plain, in_turns
from specviz.errors import OptionError, TraceError
from specviz.protocol.runs import Resume, RunRequest, TraceSource
from specviz.trace import codec
from specviz.trace.cautions import full_contexts
from specviz.trace.characters import legible
from specviz.trace.check import read_checked
from specviz.trace.codec import assemble, dumps, step_data
from specviz.trace.events import FORMAT, VERSION, Finished, PlainDecoding, Round, Step, Trace
from specviz.trace.files import UPLOAD
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
    "cancelled": "you stopped it; what was computed is kept",
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


# --- a whole run -----------------------------------------------------------------------------------------------------


def imported(path: str | None, most_bytes: int) -> Trace:
    """An uploaded trace, from now on a recorded one. Raises TraceError with one sentence."""
    if path is None:
        raise TraceError("no file arrived; choose a .json or .json.gz trace.")
    if Path(path).stat().st_size > most_bytes:
        raise TraceError(notices.too_large(most_bytes))
    return as_recorded(read_checked(path, UPLOAD))


def resume_at(player: str, place: tuple[int, int | None] | None) -> Resume:
    """Where to continue, from the run the page shows. Raises TraceError or OptionError."""
    if place is None:
        raise OptionError("nothing is chosen to continue from; pick a token in the player first.")
    return Resume(codec.loads(player or "", UPLOAD), place[0], place[1])


def token_text(player: str, token: int) -> str:
    """How the shown run writes a token; its number where the run does not know it."""
    try:
        entry = codec.loads(player, UPLOAD).vocab.get(str(token))
    except TraceError:
        entry = None
    return str(token) if entry is None else legible(base64.b64decode(entry.bytes)).replace(" ", "␣").replace("\n", "⏎")


def pack(text: str) -> bytes:
    """In a few milliseconds; what was packed is equal where the text is."""
    return zlib.compress(text.encode("utf-8"), 1)


def unpack(packed: bytes) -> str:
    """The text again."""
    return zlib.decompress(packed).decode("utf-8")


def badges_of(started: Started) -> str:
    return notices.badge_row(badges(started))


def panels_of(trace: Trace) -> str:
    """The run as a whole: how much was accepted, and where the drafter shows such things, how it converged and what
    its matrix holds."""
    bars = bar_panels([acceptance_by_depth(trace.rounds), accepted_lengths(trace.rounds)])
    return bars + heat_map(iterations(trace)) + matrix_table(matrix_of(trace), trace.vocab)


STAGE = ("player", "badges", "panels", "message")
"""names of what shows a run, in the order of `stage_of`"""


def stage_of(trace: Trace, message: str = "") -> tuple[str, str, str, str]:
    """What shows a whole run: player, badges, panels and message, which by default says what it is."""
    return codec.dumps(trace), badges_of(trace.started), panels_of(trace), notices.message(message or shown_as(trace))


def shown_as(trace: Trace, comment: str = "") -> str:
    """`comment`: what a recorded run's text is to be read with."""
    said = f"Showing a {trace.started.source} run: {ending(trace)}"
    return f"{said} Read its text with care: {comment}." if comment else said
