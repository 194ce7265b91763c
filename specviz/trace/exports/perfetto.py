"""A run's lanes as Chrome trace events, which Perfetto (ui.perfetto.dev) and chrome://tracing open.

Place in the flow: reads a trace, gives plain data; `assets/js/rules/exports.js` writes the same in the browser. Format:
the Trace Event Format; `ts` and `dur` are microseconds. Slices are measured durations laid end to end in the order in
which the engine works: drafting, target pass, verdicts, commit. Passes of a drafter lie end to end from the start of
their draft, because only their lengths are measured; those of one that works beside the target lie where they were
measured, in a lane of their own.
"""

from __future__ import annotations

from typing import Any

from specviz.trace.characters import token_alone
from specviz.trace.events import IN_TURN, LaneSpan, Round, Trace
from specviz.trace.summary import accepted_drafts, counted, drafts

Event = dict[str, Any]
PROCESS = 1
LANES = {"draft": 1, "verify": 2, "host": 3}
"""lane → its thread: what the drafter computes, what the target computes, what the engine decides"""
BESIDE = 4
"""thread of the first lane of a drafter that works beside the target"""
MICRO = 1e6


def chrome_trace(trace: Trace) -> dict[str, Any]:
    """The file's content: `json.dumps` it. Raises nothing: every trace has times, if only modelled ones."""
    started, first = trace.started, trace.finished.prefill_s
    events = [_slice("verify", "prompt", 0.0, first, {"rows": len(started.prompt_ids)})]
    beside = _beside(trace)
    waits = any(lane != IN_TURN for lane in beside)
    accepted = drafted = 0
    for this in trace.rounds:
        begin = first + this.start_s
        drafted += len(counted(this))
        accepted += accepted_drafts(this)
        events += _round(trace, this, begin, "wait" if waits else "draft")
        events += [_span(lane, first, beside[lane.lane]) for lane in this.drafted.lanes]
        events.append(_counter("cache rows", begin + this.seconds, this.committed.cache_kept))
        if drafted:
            events.append(_counter("running acceptance", begin + this.seconds, accepted / drafted))
    events.sort(key=lambda event: event["ts"])  # stable: of equal moments the outer slice stays first
    return {
        "traceEvents": [*_names(trace), *events],
        "displayTimeUnit": "ms",
        "otherData": {
            "producer": started.producer,
            "run_id": started.run_id,
            "source": started.source,
            "times": "modelled" if started.source == "simulated" else "measured",
        },
    }


def _names(trace: Trace) -> list[Event]:
    started = trace.started
    title = f"SpecViz: {started.drafter.name} + {started.verifier.name}, {started.source}"
    names = [_meta("process_name", 0, title)]
    return names + [_meta("thread_name", thread, lane) for lane, thread in (LANES | _beside(trace)).items()]


def _beside(trace: Trace) -> dict[str, int]:
    """Lane of a drafter that works beside the target → its thread."""
    lanes = dict.fromkeys(lane.lane for this in trace.rounds for lane in this.drafted.lanes)
    return {lane: BESIDE + number for number, lane in enumerate(lanes)}


def _span(lane_span: LaneSpan, first: float, thread: int) -> Event:
    place = {
        "name": lane_span.what,
        "cat": lane_span.lane,
        "pid": PROCESS,
        "tid": thread,
        "ts": _micro(first + lane_span.start_s),
    }
    if lane_span.what == "roll back":
        return {"ph": "i", "s": "t", **place, "args": {"tokens": lane_span.tokens}}
    return {
        "ph": "X",
        **place,
        "dur": _micro(lane_span.end_s - lane_span.start_s),
        "args": {"tokens": lane_span.tokens},
    }


def _meta(what: str, thread: int, name: str) -> Event:
    return {"ph": "M", "name": what, "pid": PROCESS, "tid": thread, "ts": 0, "args": {"name": name}}


def _round(trace: Trace, this: Round, begin: float, first: str) -> list[Event]:
    """`first`: what the time before the target's pass is, drafting or waiting for a drafter that drafts meanwhile."""
    number, candidates = this.index + 1, len(drafts(this))
    events = []
    if this.drafted.seconds > 0:
        events.append(_slice("draft", f"{first} {number}", begin, this.drafted.seconds, {"candidates": candidates}))
    at = begin
    for pass_ in this.drafted.passes:
        events.append(
            _slice("draft", "drafter pass", at, pass_.seconds, {"rows": pass_.rows, "cached": pass_.cached_rows})
        )
        at += pass_.seconds
    at = begin + this.drafted.seconds
    rows, cached = this.scored.target_pass.rows, this.scored.target_pass.cached_rows
    events.append(_slice("verify", f"target pass {number}", at, this.scored.seconds, {"rows": rows, "cached": cached}))
    at += this.scored.seconds
    events.append(_counter("cache rows", at, cached + rows))
    kept = {"accepted": accepted_drafts(this)}
    events.append(_slice("host", f"verdicts {number}", at, this.judged.seconds, kept))
    at += this.judged.seconds
    for trial in this.judged.trials:
        if not trial.accepted:
            token = token_alone(trace, this.nodes[trial.node].token)
            events.append(
                _instant(f"rejected {token}", at, {"node": trial.node, "depth": this.nodes[trial.node].depth})
            )
    made = {"tokens": len(this.committed.tokens), "origin": this.judged.origin}
    events.append(_slice("host", f"commit {number}", at, this.committed.seconds, made))
    return events


def _slice(lane: str, name: str, start_s: float, seconds: float, args: Event) -> Event:
    times = {"ts": _micro(start_s), "dur": _micro(seconds)}
    return {"ph": "X", "name": name, "cat": lane, "pid": PROCESS, "tid": LANES[lane], **times, "args": args}


def _instant(name: str, at_s: float, args: Event) -> Event:
    place = {"pid": PROCESS, "tid": LANES["host"], "ts": _micro(at_s)}
    return {"ph": "i", "s": "t", "name": name, "cat": "rejection", **place, "args": args}


def _counter(name: str, at_s: float, value: float) -> Event:
    return {"ph": "C", "name": name, "pid": PROCESS, "tid": 0, "ts": _micro(at_s), "args": {"value": value}}


def _micro(seconds: float) -> float:
    """Microseconds, to the nanosecond."""
    return round(seconds * MICRO, 3)
