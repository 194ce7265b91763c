"""Garbage that was at work when the collector was told to leave things alone is found the next time."""

from __future__ import annotations

import gc
import weakref

from specviz.allocator import set_aside, settle


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
