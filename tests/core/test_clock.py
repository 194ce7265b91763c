"""The engine's clock can be another one for a while, in one thread alone."""

from threading import Thread

import torch

from specviz.core.clock import PhaseClock, now, read_by

CPU = torch.device("cpu")


def test_phases_are_timed_by_the_clock_that_is_read_and_added_up_where_one_comes_again() -> None:
    ticks = iter([10.0, 11.0, 14.0, 19.0])
    with read_by(lambda: next(ticks)):
        clock = PhaseClock(CPU)
        clock.ended("draft")
        clock.ended("target")
        clock.ended("draft")
    assert clock.seconds == {"draft": 6.0, "target": 3.0}


def test_other_threads_and_what_comes_later_read_the_usual_clock() -> None:
    seen: list[float] = []
    with read_by(lambda: -1.0):
        other = Thread(target=lambda: seen.append(now(CPU)))
        other.start()
        other.join()
        assert now(CPU) == -1.0
    assert seen[0] > 0
    assert now(CPU) >= seen[0]
