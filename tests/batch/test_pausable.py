"""A function that pauses where it asks: its answers, its errors, and its end before its time."""

import gc

import pytest
from greenlet import greenlet

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


def standing() -> int:
    """Bodies that wait somewhere."""
    gc.collect()
    return sum(isinstance(kept, greenlet) and bool(kept) for kept in gc.get_objects())


def test_an_error_before_the_first_question_is_raised_at_once() -> None:
    before = standing()
    with pytest.raises(ZeroDivisionError):
        Pausable(lambda ask: 1 // 0)
    assert standing() == before


def test_a_question_goes_to_whoever_answered_last() -> None:
    """One body stands inside another: each goes on from where it is answered."""
    heard: list[object] = []

    def outer(ask):
        inner.answer(ask("outer"))
        heard.append(inner.asked)

    inner: Pausable[str, int] = Pausable(lambda ask: heard.append(ask("first") + int(ask("second"))))
    one: Pausable[str, int] = Pausable(outer)
    one.answer(1)
    assert one.over
    assert heard == ["second"]
    inner.answer(2)
    assert heard == ["second", 3]
    assert inner.over


def test_one_that_leaves_runs_its_endings_and_nothing_stands_any_more() -> None:
    ended: list[str] = []
    before = standing()

    def body(ask):
        try:
            ask("?")
        finally:
            ended.append("ended")

    one: Pausable[str, int] = Pausable(body)
    assert standing() == before + 1
    one.leave()
    assert ended == ["ended"]
    assert one.over
    assert standing() == before
    one.leave()
