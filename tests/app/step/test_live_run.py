"""A live run on its way to the player: cumulative, throttled, whole at the end, kept when stopped."""

import json
from threading import Event

import pytest

from specviz.app.runs import stage as live_run
from specviz.app.runs.stage import TIMING, frames
from specviz.protocol.choice import Choice
from specviz.protocol.runs import Resume, RunRequest
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
    assert counts == [1, 2, 3, 4, 5, 6, 7, 8, 8, 8]
    assert TIMING in shown[-2].message
    assert json.loads(shown[0].player)["finished"] is None
    assert codec.loads(shown[-1].player) == shown[-1].trace


def test_no_more_than_twenty_frames_a_second() -> None:
    """Eight rounds about 10 ms apart fit into two frames, the word that plain decoding is timed, and the end."""
    shown = list(frames(ReplaySource(sample()), RunRequest("x"), never, clock=Clock(0.01)))
    assert len(shown) == 4


def test_a_stopped_run_keeps_what_was_computed() -> None:
    stop = Event()
    run = frames(ReplaySource(sample()), RunRequest("x"), stop.is_set, clock=Clock(1.0))
    next(run)
    next(run)
    stop.set()
    last = list(run)[-1]
    assert (len(last.trace.rounds), last.trace.finished.reason) == (2, "cancelled")
    assert "you stopped it" in last.message


def test_a_whole_run_has_plain_decoding_timed_beside_it_where_that_is_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    def timed(request: RunRequest) -> bool:
        last = list(frames(ReplaySource(sample()), request, never))[-1]
        return last.trace.finished.plain is not None

    assert timed(RunRequest("x"))
    assert not timed(RunRequest("x", drafter=Choice("none")))
    monkeypatch.setattr(live_run, "CHEAP_S", 0.0)
    assert not timed(RunRequest("x"))


def test_a_continued_run_is_compared_with_nothing() -> None:
    last = list(frames(ReplaySource(sample()), RunRequest("x"), never, Resume(sample(), 2)))[-1]
    assert last.trace.finished.plain is None
