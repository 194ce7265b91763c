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


def now(device: torch.device) -> float:
    """Seconds of a monotonic clock. Waits for the device, so that a difference of two readings is its work too."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()
    return _reading.get()()


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
