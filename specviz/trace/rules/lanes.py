"""Rules about what a drafter did beside the target's passes: one thing at a time, on the run's clock, and in time.

Called by `check` on a structurally sound trace.
"""

from __future__ import annotations

from collections.abc import Iterator

from specviz.errors import shown
from specviz.trace.events import BESIDE, IN_TURN, LaneSpan, Round, Trace
from specviz.trace.known_methods import known_drafter
from specviz.trace.rules.scene import EXACT
from specviz.trace.structure import Problem
from specviz.trace.summary import drafts


def lanes(trace: Trace) -> Iterator[Problem]:
    """Spans of a lane follow one another and end before their round is reported; a candidate was drafted before the
    target's pass that reads it."""
    drafter = known_drafter(trace.started.drafter)
    free = dict[str, float]()
    drafted = list[LaneSpan]()
    proposed = 0
    for this in trace.rounds:
        place, spans = f"rounds[{this.index}].drafted.lanes", this.drafted.lanes
        if spans and drafter is not None and not drafter.beside:
            told = f"hold {len(spans)} spans, but '{trace.started.drafter.name}' drafts before the target's pass"
            yield Problem(place, told)
        yield from _in_order(place, this, free)
        if drafter is not None and drafter.beside:
            yield from _named(trace, place, this, drafter.in_turn)
        drafted += [span for span in spans if span.what == "draft"]
        proposed += len(drafts(this))
        if drafted if drafter is None else drafter.beside:
            yield from _in_time(place, this, drafted, proposed)


def _in_order(place: str, this: Round, free: dict[str, float]) -> Iterator[Problem]:
    """`free`: when each lane ended what it did last."""
    over = this.start_s + this.seconds
    slack = EXACT * (1 + over)
    for number, lane in enumerate(this.drafted.lanes):
        at, before = f"{place}[{number}]", free.get(lane.lane, 0.0)
        if lane.start_s < before - slack:
            told = f"is {lane.start_s:.9g}, but this lane was busy until {before:.9g}"
            yield Problem(f"{at}.start_s", told)
        if lane.end_s < lane.start_s:
            yield Problem(f"{at}.end_s", f"is {lane.end_s:.9g}, but it began at {lane.start_s:.9g}")
        elif lane.what == "roll back" and lane.end_s > lane.start_s:
            yield Problem(f"{at}.end_s", f"is {lane.end_s:.9g}, but a roll back at {lane.start_s:.9g} takes no time")
        if lane.end_s > over + slack:
            yield Problem(f"{at}.end_s", f"is {lane.end_s:.9g}, but the round was over at {over:.9g}")
        free[lane.lane] = max(before, lane.end_s)


def _in_time(place: str, this: Round, drafted: list[LaneSpan], proposed: int) -> Iterator[Problem]:
    """No drafted token is proposed twice: one that was judged is text, or was thrown away."""
    reading = this.start_s + this.drafted.seconds
    there = sum(lane_span.tokens for lane_span in drafted if lane_span.end_s <= reading + EXACT * (1 + reading))
    if there < proposed:
        told = f"hold {there} tokens drafted before the target's pass, but {proposed} candidates were proposed by then"
        yield Problem(place, told)


def _named(trace: Trace, place: str, this: Round, option: str) -> Iterator[Problem]:
    """The lane is the one that the options say; in turn nothing is drafted while the target's pass runs."""
    in_turn = bool(trace.started.drafter.options.get(option))
    due, reading = IN_TURN if in_turn else BESIDE, this.start_s + this.drafted.seconds
    scored = reading + this.scored.seconds
    for number, lane in enumerate(this.drafted.lanes):
        if lane.lane != due:
            told = f"is {shown(lane.lane)}, but with {option} {trace.started.drafter.options.get(option)} it is '{due}'"
            yield Problem(f"{place}[{number}].lane", told)
        elif in_turn and lane.what == "draft" and reading + EXACT < lane.end_s and lane.start_s < scored - EXACT:
            yield Problem(f"{place}[{number}]", "lies in the target's pass, but this lane drafts between its passes")
