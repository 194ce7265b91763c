"""The engine's clock as two processes read it: it runs while a round does, and stands still between rounds.

What a drafter does while the engine's clock stands still (a trace is written, a page drawn, another run takes its turn)
would be drafted for nothing. Written by the target's side alone.
"""

from __future__ import annotations

import time
from collections.abc import MutableSequence
from typing import Any

BILLION = 1_000_000_000
RUNNING = -1
STOPPED, OFFSET = range(2)


class EngineClock:
    """Two words of 64 bits, in memory that both sides see: where it stands (`RUNNING` while it runs), and by how much
    the machine's own clock is ahead of it; nanoseconds."""

    def __init__(self, words: MutableSequence[int] | Any) -> None:
        """`words`: two of them, zero at first, for a clock that stands at 0."""
        self._words = words

    def run(self, at_s: float) -> None:
        """From now on, beginning at this time."""
        self._words[OFFSET] = time.perf_counter_ns() - round(at_s * BILLION)
        self._words[STOPPED] = RUNNING

    def stop(self) -> None:
        if self.is_running:
            self._words[STOPPED] = time.perf_counter_ns() - int(self._words[OFFSET])

    @property
    def is_running(self) -> bool:
        return int(self._words[STOPPED]) == RUNNING

    def now(self) -> float:
        """Seconds."""
        stopped = int(self._words[STOPPED])
        return (time.perf_counter_ns() - int(self._words[OFFSET]) if stopped == RUNNING else stopped) / BILLION
