"""Garbage that was at work when the collector was told to leave things alone is found the next time, and it rests
while much is built that stays."""

import gc
import weakref

import pytest

from specviz.allocator import resting, set_aside, settle


class Knot:
    """Refers to itself, as a training to its loop and back."""

    def __init__(self) -> None:
        self.itself = self


def test_what_was_at_work_when_memory_was_tidied_is_found_the_next_time() -> None:
    at_work = Knot()
    alive = weakref.ref(at_work)
    set_aside()
    assert alive() is not None
    del at_work
    set_aside()
    assert alive() is not None, "out of the collector's sight"
    settle()
    assert alive() is None
    gc.unfreeze()


@resting()
def failing() -> None:
    assert not gc.isenabled()
    raise KeyError


def test_the_collector_rests_within_and_works_again_whatever_happened() -> None:
    with pytest.raises(KeyError):
        failing()
    assert gc.isenabled()
