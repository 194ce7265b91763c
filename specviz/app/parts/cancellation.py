"""One cancellation switch per visitor and activity: it reaches a run that computes or still waits in the queue."""

from __future__ import annotations

from threading import Event, Lock


class Cancellations:
    """Switches by visitor. A switch is armed when the visitor asks for a run, and thrown by Stop or by leaving."""

    def __init__(self) -> None:
        self._events: dict[str, Event] = {}
        self._lock = Lock()

    def arm(self, visitor: str) -> Event:
        """A fresh switch; the previous run of this visitor, if any still goes, is stopped."""
        with self._lock:
            before = self._events.get(visitor)
            if before is not None:
                before.set()
            event = self._events[visitor] = Event()
            return event

    def armed(self, visitor: str) -> Event:
        """The visitor's switch, armed on first use."""
        with self._lock:
            return self._events.setdefault(visitor, Event())

    def stop(self, visitor: str) -> None:
        with self._lock:
            event = self._events.get(visitor)
        if event is not None:
            event.set()

    def leave(self, visitor: str) -> None:
        """Stop and forget."""
        with self._lock:
            event = self._events.pop(visitor, None)
        if event is not None:
            event.set()
