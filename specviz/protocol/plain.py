"""Plain decoding timed beside a run: the same request without a drafter, in the same process, right after it.

Place in the flow: asks any trace source for the second run; what it measured goes into the trace as `Finished.plain`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from specviz.protocol.runs import RunRequest, TraceSource
from specviz.trace.assemble import assemble
from specviz.trace.beside import PlainDecoding
from specviz.trace.events import Finished, Trace

PLAIN = "none"
REPEATS = 3
"""of a recording: its trace is the median of so many runs, each with plain decoding right after it"""
WHOLE = ("eos", "stop", "length")
"""reasons of a run that came to its end"""


def has_plain(request: RunRequest, finished: Finished) -> bool:
    """Whether there is something to time beside a run: it drafted, and came to its end."""
    return request.drafter != PLAIN and finished.reason in WHOLE


def plain_beside(
    source: TraceSource, request: RunRequest, finished: Finished, cancelled: Callable[[], bool] = lambda: False
) -> PlainDecoding | None:
    """Run plain decoding once, with no distributions kept. None where there is nothing to time, or where plain decoding
    was stopped."""
    if not has_plain(request, finished):
        return None
    plain = replace(request.with_drafter(PLAIN), verifier="auto", verifier_options={}, record=False)
    if source.explain(plain) is not None:
        return None
    ended = next((one.event for one in source.run(plain, cancelled) if isinstance(one.event, Finished)), None)
    if ended is None or ended.reason not in WHOLE:
        return None
    return PlainDecoding(len(ended.output_ids), ended.decode_s, 1, ended.output_ids == finished.output_ids)


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
    trace = sorted(traces, key=lambda one: one.finished.decode_s / max(1, len(one.finished.output_ids)))[repeats // 2]
    plain = sorted(plains, key=lambda one: one.decode_s / max(1, one.output_tokens))[repeats // 2]
    return replace(trace, finished=replace(trace.finished, plain=replace(plain, runs=repeats)))
