"""A live run on its way to the player: cumulative, throttled, whole at the end, kept when stopped."""

from __future__ import annotations

import json
from threading import Event

from specviz.app.parts.live_run import frames
from specviz.protocol.runs import RunRequest
from specviz.trace import codec
from tests.app.doubles import ReplaySource, sample


class Clock:
    """Advances by a fixed step at each reading."""

    def __init__(self, step: float) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def never() -> bool:
    return False


def test_every_frame_carries_all_rounds_so_far_and_the_last_one_is_a_whole_trace() -> None:
    shown = list(frames(ReplaySource(sample()), RunRequest("x"), never, clock=Clock(1.0)))
    counts = [len(json.loads(frame.player)["rounds"]) for frame in shown]
    assert counts == [1, 2, 3, 4, 5, 6, 7, 8, 8]
    assert json.loads(shown[0].player)["finished"] is None
    assert codec.loads(shown[-1].player) == shown[-1].trace


def test_no_more_than_twenty_frames_a_second() -> None:
    """Eight rounds about 10 ms apart fit into two frames and the end."""
    shown = list(frames(ReplaySource(sample()), RunRequest("x"), never, clock=Clock(0.01)))
    assert len(shown) == 3


def test_a_stopped_run_keeps_what_was_computed() -> None:
    stop = Event()
    run = frames(ReplaySource(sample()), RunRequest("x"), stop.is_set, clock=Clock(1.0))
    next(run)
    next(run)
    stop.set()
    last = list(run)[-1]
    assert last.trace is not None
    assert (len(last.trace.rounds), last.trace.finished.reason) == (2, "cancelled")
    assert "stopped by you" in last.message
