"""What goes with a visitor whose state makes room for others'."""

from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from specviz.app.page import sessions as of_sessions
from specviz.app.page.sessions import SETTLE_AT_WORK_S, SETTLE_S, Sessions


class Work:
    """What a queue says of its jobs."""

    begun = 0
    is_working = False


def test_what_the_tabs_keep_of_a_visitor_goes_with_the_state_that_makes_room() -> None:
    with gr.Blocks() as demo:
        gr.HTML("")
    left: list[str] = []

    def leave(visitor: Any) -> None:
        left.append(visitor.session_hash)

    work: Any = Work()
    sessions = Sessions(work, [leave])
    sessions.set_blocks(SimpleNamespace(state_session_capacity=2, default_config=demo.default_config))
    for program in ("first", "second"):
        assert sessions[program] is not None
    sessions.delete_all_expired_state()
    assert left == []
    assert sessions["third"] is not None
    sessions.delete_all_expired_state()
    sessions.delete_all_expired_state()
    assert left == ["first"]


def test_memory_is_tidied_after_jobs_when_the_engine_rests_and_now_and_then_where_it_never_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, tidied = [1000.0], list[float]()

    class Beside:
        """A thread that is over at once."""

        def __init__(self, target: Any, name: str, daemon: bool) -> None:
            self._target = target

        def start(self) -> None:
            self._target()

    monkeypatch.setattr(of_sessions, "Thread", Beside)
    monkeypatch.setattr(of_sessions, "settle", lambda: tidied.append(now[0]))
    monkeypatch.setattr(of_sessions, "time", SimpleNamespace(monotonic=lambda: now[0]))
    work: Any = Work()
    sessions = Sessions(work, [])

    def after(seconds: float) -> list[float]:
        now[0] += seconds
        sessions.delete_all_expired_state()
        return tidied

    assert after(SETTLE_S + 1) == [], "nothing has happened"
    work.begun = 1
    assert after(0.0) == [1061.0]
    assert after(SETTLE_S + 1) == [1061.0]
    work.begun, work.is_working = 2, True
    assert after(SETTLE_S + 1) == [1061.0], "a run is measured"
    assert after(SETTLE_AT_WORK_S) == [1061.0, 1483.0]
