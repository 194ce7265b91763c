"""Plain decoding timed beside a run: the same request without a drafter, in the same process, in turns with it.

Place in the flow: asks any trace source for the second run; what it measured goes into the trace as `Finished.plain`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from specviz.protocol.choice import STANDARD
from specviz.protocol.runs import RunRequest, TraceSource
from specviz.theory.speedup import run_ratio
from specviz.trace.codec import assemble
from specviz.trace.events import Finished, PlainDecoding, Trace

PLAIN = "none"
REPEATS = 3
"""of a recording: its trace is the median of so many runs, each with plain decoding right after it"""
TURNS = 5
"""of a live run: so often it and plain decoding are timed one after the other"""
TURNS_S = 4.0
"""no turn of a live run begins later than so many seconds after the first"""
WHOLE = ("eos", "stop", "length")
"""reasons of a run that came to its end"""


def has_plain(request: RunRequest, finished: Finished) -> bool:
    """Whether there is something to time beside a run: it drafted, and came to its end."""
    return request.drafter.name != PLAIN and finished.reason in WHOLE


def plain_beside(
    source: TraceSource, request: RunRequest, finished: Finished, cancelled: Callable[[], bool] = lambda: False
) -> PlainDecoding | None:
    """Run plain decoding once, with no distributions kept. None where there is nothing to time, or where plain decoding
    was stopped."""
    if not has_plain(request, finished):
        return None
    plain = replace(request.with_drafter(PLAIN), verifier=STANDARD["verifier"], record=False)
    if source.explain(plain) is not None:
        return None
    ended = next((step.event for step in source.run(plain, cancelled) if isinstance(step.event, Finished)), None)
    if ended is None or ended.reason not in WHOLE:
        return None
    return PlainDecoding(len(ended.output_ids), ended.decode_s, 1, ended.output_ids == finished.output_ids)


def in_turns(
    source: TraceSource,
    request: RunRequest,
    finished: Finished,
    cancelled: Callable[[], bool] = lambda: False,
    clock: Callable[[], float] = time.monotonic,
) -> PlainDecoding | None:
    """Plain decoding beside a run that was just shown: once, and where it can be run again (a warm drafter would have
    learnt from itself) both in further turns, no distributions kept, bounded by `TURNS` and `TURNS_S`. The first turn
    is left out of `ratios`: its run was cold, and shown while it went on."""
    began = clock()
    first = plain_beside(source, request, finished, cancelled)
    if first is None or request.memory != "cold":
        return first
    plains, ratios = list[PlainDecoding](), list[float]()
    turns = _turns(source, replace(request, record=False), cancelled)
    while len(ratios) < TURNS and clock() - began <= TURNS_S:
        ended, plain = next(turns, (None, None))
        if ended is None or plain is None or ended.output_ids != finished.output_ids:
            break
        ratio = _ratio(ended, plain)
        if ratio is None:
            break
        plains.append(plain)
        ratios.append(ratio)
    return replace(_middle(plains), runs=len(ratios), ratios=ratios) if ratios else first


def _turns(
    source: TraceSource, request: RunRequest, cancelled: Callable[[], bool]
) -> Iterator[tuple[Finished, PlainDecoding]]:
    """The run and plain decoding, one after the other, until one of them is stopped."""
    while True:
        ended = next((step.event for step in source.run(request, cancelled) if isinstance(step.event, Finished)), None)
        plain = None if ended is None else plain_beside(source, request, ended, cancelled)
        if ended is None or plain is None:
            return
        yield ended, plain


def _ratio(finished: Finished, plain: PlainDecoding) -> float | None:
    """Tokens per second of a run over those of plain decoding right after it."""
    return run_ratio(len(finished.output_ids), finished.decode_s, plain.output_tokens, plain.decode_s)


def _middle(plains: list[PlainDecoding]) -> PlainDecoding:
    """The one with the median time per token."""
    return sorted(plains, key=lambda plain_decoding: plain_decoding.decode_s / max(1, plain_decoding.output_tokens))[
        len(plains) // 2
    ]


def run_beside_plain(source: TraceSource, request: RunRequest, repeats: int = REPEATS) -> Trace:
    """The run and plain decoding in turn, `repeats` times: the trace with the median time per token, with the plain
    decoding of the median time per token in it. A run that fails is handed back as it is."""
    traces: list[Trace] = []
    plains: list[PlainDecoding] = []
    for _ in range(repeats):
        trace = assemble(source.run(request))
        plain = plain_beside(source, request, trace.finished)
        traces.append(trace)
        if plain is None:
            return trace
        plains.append(plain)
    trace = sorted(traces, key=lambda timed: timed.finished.decode_s / max(1, len(timed.finished.output_ids)))[
        repeats // 2
    ]
    ratios = [_ratio(timed.finished, plain) for timed, plain in zip(traces, plains, strict=True)]
    known = [ratio for ratio in ratios if ratio is not None]
    plain = replace(_middle(plains), runs=repeats, ratios=known if len(known) == repeats else [])
    return replace(trace, finished=replace(trace.finished, plain=plain))
