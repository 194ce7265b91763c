"""One piece of work that a visitor asked for, and why it may have to end: its time is over, or nobody hears it.

Place in the flow: the page's queue begins a job and ends it; the work, in whatever thread, asks `current` whether to go
on. Work that no queue began goes on for ever.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from contextvars import ContextVar
from math import inf
from threading import Event

from specviz.errors import JobError


class Job:
    """Begins where it is made."""

    def __init__(self, most_s: float = inf, clock: Callable[[], float] = time.monotonic) -> None:
        """`most_s`: the seconds that the machine gives it."""
        self._most_s = most_s
        self._clock = clock
        self._until = clock() + most_s
        self._left = Event()

    def leave(self) -> None:
        """Whoever asked for it has gone, or never came to hear it."""
        self._left.set()

    def is_left(self) -> bool:
        return self._left.is_set()

    def is_over(self) -> bool:
        return self._left.is_set() or self._clock() >= self._until

    def check(self) -> None:
        """Raises JobError where it is over."""
        if self._left.is_set():
            raise JobError("nobody listens to this any more, so it was ended.")
        if self.is_over():
            raise JobError(
                f"the {self._most_s:g} s that this machine gives one job are over, so it was ended; ask for less at "
                "a time."
            )


MOST_TURNED_AWAY = 256
"""sessions of which is remembered why"""
CURRENT: ContextVar[Job | None] = ContextVar("specviz_job", default=None)
"""set by the queue for all that a job calls"""


def current() -> Job:
    """The job that this is called in."""
    return CURRENT.get() or Job()


_turned_away: OrderedDict[str, str] = OrderedDict()


def turn_away(session: str, why: str) -> None:
    """Remember why a session's job had no place, for when its page asks."""
    _turned_away[session] = why
    while len(_turned_away) > MOST_TURNED_AWAY:
        _turned_away.popitem(last=False)


def why_turned_away(session: str) -> str | None:
    """Why the session's last job had no place; told once."""
    return _turned_away.pop(session, None)
