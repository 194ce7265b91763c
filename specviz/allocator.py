"""What is asked of the C library's allocator: back what is free after models were loaded and visitors have left, and of
a server few arenas.

What was free between two tensors that stay is kept for later, hundreds of megabytes after a model was loaded. And glibc
gives threads arenas of their own, eight for each core, and each keeps what it has freed. The page's work goes
through dozens of threads, one after another, so hundreds of megabytes of holes came together. With two arenas and one
lane of work nobody waits. Other C libraries have no such calls, and need none.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

M_ARENA_MAX = -8
"""`mallopt`'s number for it (malloc.h)"""
ARENAS = 2


def few_arenas() -> None:
    """For the whole process, from here on."""
    mallopt = _call("mallopt")
    if mallopt is not None:
        mallopt(M_ARENA_MAX, ARENAS)


def give_back() -> None:
    """Hand memory that is free to the system; some tens of milliseconds, in which Python goes on."""
    trim = _call("malloc_trim")
    if trim is not None:
        trim(0)


def leave_alone() -> None:
    """Collect garbage, and take what stays out of the collector's further rounds: one over all that torch and a few
    models hold takes a quarter of a second, and counts as the work of whoever it stops."""
    gc.collect()
    gc.freeze()


def set_aside() -> None:
    """`leave_alone`, and hand back what is free; some tenths of a second, in which Python stands still.

    What was set aside before is not looked at again, so that the next model of many costs no more than the first.
    """
    leave_alone()
    give_back()


def settle() -> None:
    """`set_aside`, with all that was set aside before: what was at work then, such as a training with its model, is
    garbage by now, and in circles that nobody else would ever find."""
    gc.unfreeze()
    set_aside()


@contextmanager
def resting() -> Iterator[None]:
    """No round of the collector within: of what is imported and built there nearly all stays, and its rounds are a
    quarter of the time that torch, transformers and gradio take to import. Also a decorator."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _call(name: str) -> Callable[..., int] | None:
    """A function of the C library, where it has one of that name."""
    try:
        found: Callable[..., int] = getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError, TypeError):  # no such function, or no such way of loading
        return None
    return found
