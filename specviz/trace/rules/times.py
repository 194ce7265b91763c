"""Rules about the clock: passes fit into phases, rounds follow each other without a gap, and all add up.

Called by `check` on a structurally sound trace.
"""

from __future__ import annotations

from collections.abc import Iterator

from specviz.trace.events import Round, Trace
from specviz.trace.problems import Problem
from specviz.trace.rules.scene import EXACT, Producer, producer_of


def times(trace: Trace) -> Iterator[Problem]:
    """Phases, rounds and the whole run; what an engine's clock leaves between rounds is no more than `record_s`."""
    producer, clock, gaps = producer_of(trace.started), 0.0, 0.0
    for index, this in enumerate(trace.rounds):
        place = f"rounds[{index}]"
        yield from _phases(place, this, producer)
        slack = EXACT * (1 + clock)
        if this.start_s < clock - slack:
            told = "before the run began" if index == 0 else "inside the round before it"
            yield Problem(f"{place}.start_s", f"is {this.start_s:.9g}, which lies {told}")
        elif this.start_s > clock + slack and producer != "other":
            yield Problem(f"{place}.start_s", f"is {this.start_s:.9g}, but the rounds before it took {clock:.9g}")
        gaps += max(0.0, this.start_s - clock)
        clock = this.start_s + this.seconds
    yield from _steps(trace)
    if gaps > trace.finished.record_s + EXACT * (1 + clock):
        told = f"is {trace.finished.record_s:.6g}, but {gaps:.6g} seconds lie between the rounds"
        yield Problem("finished.record_s", told)
    total = sum(this.seconds for this in trace.rounds)
    if abs(trace.finished.decode_s - total) > EXACT * (1 + total):
        yield Problem("finished.decode_s", f"is {trace.finished.decode_s:.9g}, but the rounds add up to {total:.9g}")
    yield from _plain(trace)


def _plain(trace: Trace) -> Iterator[Problem]:
    """What stands beside the run may not contradict it; how long it took, no file can show."""
    plain, tokens = trace.finished.plain, len(trace.finished.output_ids)
    if plain is None:
        return
    if plain.same_text and plain.output_tokens != tokens:
        yield Problem(
            "finished.plain.output_tokens", f"is {plain.output_tokens}, but the same text has {tokens} tokens"
        )
    elif plain.output_tokens > trace.started.max_new_tokens:
        told = f"is {plain.output_tokens}, but at most {trace.started.max_new_tokens} were to be written"
        yield Problem("finished.plain.output_tokens", told)
    if plain.ratios and len(plain.ratios) != plain.runs:
        yield Problem("finished.plain.ratios", f"has {len(plain.ratios)} turns, but {plain.runs} are said to have run")
    if trace.started.drafter.name == "none":
        yield Problem("finished.plain", "stands beside a run that is plain decoding itself")


def _phases(place: str, this: Round, producer: Producer) -> Iterator[Problem]:
    drafting, scoring = this.drafted.seconds, this.scored.seconds
    if sum(one.seconds for one in this.drafted.passes) > drafting + EXACT * (1 + drafting):
        yield Problem(f"{place}.drafted.seconds", "is less than its passes took")
    within = this.scored.target_pass.seconds
    if within > scoring + EXACT * (1 + scoring):
        yield Problem(f"{place}.scored.seconds", "is less than its pass took")
    elif producer != "other" and within < scoring - EXACT * (1 + scoring):
        yield Problem(f"{place}.scored.target_pass.seconds", f"is {within:.9g}, but scoring took {scoring:.9g}")


def _steps(trace: Trace) -> Iterator[Problem]:
    for index, one in enumerate(trace.started.step_times):
        if not one.low_s <= one.median_s <= one.high_s:
            told = f"has a median of {one.median_s:.6g} outside {one.low_s:.6g} to {one.high_s:.6g}"
            yield Problem(f"started.step_times[{index}]", told)
