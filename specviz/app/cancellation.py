"""One cancellation switch per visitor and activity: it reaches a run that computes or still waits in the queue."""

from __future__ import annotations

from threading import Event, Lock

from specviz.app.job import Job, current

MOST_GONE = 256
"""visitors remembered as gone, the last ones; their work has long ended when as many others have left"""


class Switch:
    """Stops work: thrown by the visitor, or because the job that the work belongs to is over."""

    def __init__(self, event: Event, job: Job) -> None:
        self._event = event
        self._job = job
        self._ended = False
        """by the job, while the visitor wanted more"""

    def is_set(self) -> bool:
        """Whether the work must end."""
        if not self._event.is_set() and self._job.is_over():
            self._ended = True
        return self._ended or self._event.is_set()

    def set(self) -> None:
        self._event.set()

    def check(self) -> None:
        """After the work. Raises JobError where the job ended it, and not the visitor."""
        if self._ended:
            self._job.check()


class Cancellations:
    """Switches by visitor. A switch is armed when the visitor asks for a run, and thrown by Stop or by leaving."""

    def __init__(self) -> None:
        self._events: dict[str, Event] = {}
        self._gone: dict[str, Event] = {}
        """thrown switches of visitors who have left: work of theirs that begins only now must not go on unseen"""
        self._lock = Lock()

    def arm(self, visitor: str) -> Event:
        """A fresh switch; the previous run of this visitor, if any still goes, is stopped."""
        with self._lock:
            self._gone.pop(visitor, None)
            before = self._events.get(visitor)
            if before is not None:
                before.set()
            event = self._events[visitor] = Event()
            return event

    def armed(self, visitor: str) -> Switch:
        """The visitor's switch for the current job, armed on first use; of one who has left, the thrown one."""
        with self._lock:
            event = self._gone.get(visitor) or self._events.setdefault(visitor, Event())
        return Switch(event, current())

    def stop(self, visitor: str) -> None:
        with self._lock:
            event = self._events.get(visitor)
        if event is not None:
            event.set()

    def leave(self, visitor: str) -> None:
        """Stop, also what still waits in the queue, and forget."""
        with self._lock:
            event = self._gone[visitor] = self._events.pop(visitor, Event())
            event.set()
            while len(self._gone) > MOST_GONE:
                del self._gone[next(iter(self._gone))]

    def gone(self, visitor: str) -> bool:
        """Whether the visitor has left and not come back: nothing of theirs need be kept."""
        with self._lock:
            return visitor in self._gone
