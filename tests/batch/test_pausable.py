"""A function that pauses where it asks: its answers, its errors, and its end before its time."""

import threading

import pytest

from specviz.batch.pausable import Pausable


def test_it_runs_up_to_each_question_and_no_further() -> None:
    seen: list[object] = []

    def body(ask):
        seen.append("begun")
        seen.append(ask("first"))
        seen.append(ask("second"))

    one: Pausable[str, int] = Pausable(body)
    assert (one.asked, seen) == ("first", ["begun"])
    one.answer(1)
    assert (one.asked, seen) == ("second", ["begun", 1])
    one.answer(2)
    assert one.over
    assert seen == ["begun", 1, 2]


def test_it_may_ask_from_deep_inside() -> None:
    def deep(ask, depth):
        return ask(depth) if depth == 5 else deep(ask, depth + 1)

    one: Pausable[int, str] = Pausable(lambda ask: deep(ask, 0))
    assert one.asked == 5


def test_its_error_reaches_who_answered_and_it_is_over() -> None:
    def body(ask):
        ask("?")
        raise ValueError("seen")

    one: Pausable[str, int] = Pausable(body)
    with pytest.raises(ValueError, match="seen"):
        one.answer(0)
    assert one.over
    one.leave()


def test_an_error_before_the_first_question_is_raised_at_once() -> None:
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        Pausable(lambda ask: 1 // 0)
    assert threading.active_count() == before


def test_one_that_leaves_runs_its_endings_and_its_thread_is_gone() -> None:
    ended: list[str] = []
    before = threading.active_count()

    def body(ask):
        try:
            ask("?")
        finally:
            ended.append("ended")

    one: Pausable[str, int] = Pausable(body)
    one.leave()
    assert ended == ["ended"]
    assert one.over
    assert threading.active_count() == before
    one.leave()
