"""The child between two texts: it waits for the next, and ends where none comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from multiprocessing import forkserver
from typing import Any, ClassVar

import pytest

from specviz.asynchronous import process as processes
from specviz.asynchronous.process import drafting_process, end_waiting, hand_back
from specviz.lm.place import Origin

ORIGIN = Origin("drafter", "cpu", "float32")


class Child:
    """Stands in for a `DraftingProcess` whose text is over."""

    is_drafting = True
    model = (ORIGIN, "ab")

    def __init__(self) -> None:
        self.closed = 0

    def leave(self) -> None:
        pass

    def close(self) -> None:
        self.closed += 1


class Later:
    """Stands in for a timer, which the test lets go off."""

    made: ClassVar[list[Later]] = []

    def __init__(self, seconds: float, call: Callable[[], None]) -> None:
        self.seconds, self.call, self.cancelled = seconds, call, False
        Later.made.append(self)

    def start(self) -> None:
        pass

    def cancel(self) -> None:
        self.cancelled = True


@pytest.fixture(autouse=True)
def template(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What was done to the process that children begin as copies of."""
    done: list[str] = []
    end_waiting()
    Later.made.clear()
    monkeypatch.setattr(processes, "Timer", Later)
    monkeypatch.setattr(processes, "active_children", list)
    monkeypatch.setattr(processes, "get_all_start_methods", lambda: ["forkserver"])
    assert callable(forkserver._forkserver._stop), "what nothing public does"
    monkeypatch.setattr(forkserver._forkserver, "_stop", lambda: done.append("ended"))
    yield done
    end_waiting()


def waiting() -> Any:
    child: Any = Child()
    hand_back(child)
    return child


def test_the_next_text_of_the_same_weights_takes_the_child_that_waits(template: list[str]) -> None:
    child = waiting()
    assert drafting_process(ORIGIN, "ab") is child
    (later,) = Later.made
    assert later.cancelled
    later.call()  # it had gone off at this very moment
    assert (child.closed, template) == (0, [])


def test_a_child_that_waits_in_vain_ends_and_what_it_was_a_copy_of(template: list[str]) -> None:
    child = waiting()
    (later,) = Later.made
    assert later.seconds == 300.0
    later.call()
    assert (child.closed, template) == (1, ["ended"])


def test_what_another_child_is_a_copy_of_stays(template: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "active_children", lambda: ["another"])
    child = waiting()
    Later.made[0].call()
    assert (child.closed, template) == (1, [])


def test_one_child_waits_at_a_time(template: list[str]) -> None:
    first, second = waiting(), waiting()
    assert (first.closed, second.closed) == (1, 0)
    assert Later.made[0].cancelled
