"""The engine's clock: seconds, read after the device has finished what it was given."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch

_reading: ContextVar[Callable[[], float]] = ContextVar("reading", default=time.perf_counter)
"""what is read"""


@contextmanager
def read_by(clock: Callable[[], float]) -> Iterator[None]:
    """Inside, `now` reads this clock in this thread: such as the thread's own, which other programs disturb less."""
    token = _reading.set(clock)
    try:
        yield
    finally:
        _reading.reset(token)


def synchronize(device: torch.device) -> None:
    """Wait until the device has done what was asked of it; on a CPU it always has."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


def now(device: torch.device) -> float:
    """Seconds of a monotonic clock. Waits for the device, so that a difference of two readings is its work too."""
    synchronize(device)
    return _reading.get()()


def seconds_of(work: Callable[[], object], device: torch.device, clock: Callable[[], float]) -> float:
    """Seconds of the work alone by this clock, from when the device has nothing else to do until it has done it."""
    waits = device.type != "cpu"  # which is slow to ask behind a pass
    synchronize(device)
    began = clock()
    work()
    if waits:
        synchronize(device)
    return clock() - began


class PhaseClock:
    """Seconds of phases without a gap: each begins where the one before it ended, the first as the clock is made."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._read = now(device)
        self.seconds: defaultdict[str, float] = defaultdict(float)
        """by phase; of one that comes again the sum"""

    def ended(self, phase: str) -> None:
        """Whatever was done since the phase before ended is this one's."""
        before, self._read = self._read, now(self._device)
        self.seconds[phase] += self._read - before
