"""Long work of the page: begun by one button, stopped by another, looked at as it goes on, told of where it fails.

    arm ─► the queue begins a `Job` ─► work, in a thread of its own (`Background`) ─► updates ─► the buttons back
     └──────── a `Switch` that Stop, leaving the page or the end of the job's time throws ──┘

A switch is armed before the work joins the queue, so that it reaches what still waits there. Knows no tab.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar, copy_context
from functools import partial
from math import inf
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

import gradio as gr
from gradio.components import Component
from gradio.events import Dependency

from specviz.app.look import notices
from specviz.app.look.events import ENGINE, QUIET
from specviz.errors import JobError, SpecVizError

log = logging.getLogger(__name__)

T = TypeVar("T")
Updates = tuple[object, ...]

# --- a job and its end -----------------------------------------------------------------------------------------------


class Job:
    """One piece of work that a visitor asked for: the queue makes it where it begins and ends it; the work asks it, in
    whatever thread, whether to go on."""

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
            raise JobError("nobody is listening any more, so this was stopped.")
        if self.is_over():
            raise JobError(
                f"the {self._most_s:g} s that this machine gives one job are over, so it was stopped; ask for less at "
                "a time."
            )


CURRENT: ContextVar[Job | None] = ContextVar("specviz_job", default=None)
"""set by the queue for all that a job calls"""


def current() -> Job:
    """The job that this is called in; one without an end where no queue began it."""
    return CURRENT.get() or Job()


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


MOST_GONE = 256
"""visitors remembered as gone, the last ones; their work has long ended when as many others have left"""


class Cancellations:
    """Switches of one activity by visitor (session hash), armed when the visitor asks for a run, and thrown by Stop or
    by leaving."""

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


# --- work beside the page --------------------------------------------------------------------------------------------


class Background(Generic[T]):
    """Collects `items` in a thread of its own, so that neither drawing nor a slow network holds the work up; `look`
    hands out all so far until they end."""

    def __init__(self, items: Iterator[T], stop: Callable[[], None]) -> None:
        """`stop` makes the items end early; it is called when nobody looks any more."""
        self._items = items
        self._stop = stop
        self._found: list[T] = []
        self._error: Exception | None = None
        # In the visitor's context: whoever lends a machine asks there whose time it is.
        collect = partial(copy_context().run, self._collect)
        self._thread = Thread(target=collect, name="specviz-background", daemon=True)

    def look(self, every_s: float) -> Iterator[Sequence[T]]:
        """Everything found so far, at least once, then each `every_s` until the work is over. Raises what it raised."""
        self._thread.start()
        working = True
        try:
            while working:
                self._thread.join(every_s)
                working = self._thread.is_alive()
                yield tuple(self._found)
        finally:
            self._stop()
        if self._error is not None:
            raise self._error

    def _collect(self) -> None:
        try:
            for item in self._items:
                self._found.append(item)
        except Exception as error:  # handed to whoever looks, in their thread
            self._error = error


class Faults:
    """What went wrong in the work inside `with`, as one sentence for the page: the program's own errors say it
    themselves, and of a fault of SpecViz the log keeps the rest. The page must stay usable whatever it was."""

    def __init__(self, work: str, advice: str = "") -> None:
        """`work` in a word, such as run; `advice`: a sentence after that of a fault."""
        self._work = work
        self._advice = advice
        self.sentence: str | None = None
        """None where nothing went wrong"""
        self.own = False
        """a fault of SpecViz's, and none of what was asked for"""

    def __enter__(self) -> Faults:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, SpecVizError):
            self.sentence = str(error)
        elif isinstance(error, Exception):
            self.own = True
            log.error("the %s failed", self._work, exc_info=error)
            said = f"The {self._work} failed ({type(error).__name__}); the server's log says more."
            self.sentence = f"{said} {self._advice}".rstrip()
        return isinstance(error, Exception)


# --- the buttons -----------------------------------------------------------------------------------------------------

MOST_TURNED_AWAY = 256
"""sessions of which is remembered why"""
TURNED_AWAY = (
    "This was not done: too many visitors are waiting, or the connection was lost. Your settings are unchanged; "
    "try again."
)
_turned_away: OrderedDict[str, str] = OrderedDict()


def turn_away(session: str, why: str) -> None:
    """Remember why a session's job had no place, for when its page asks."""
    _turned_away[session] = why
    while len(_turned_away) > MOST_TURNED_AWAY:
        _turned_away.popitem(last=False)


def why_turned_away(session: str) -> str | None:
    """Why the session's last job had no place; told once."""
    return _turned_away.pop(session, None)


def why_not(visitor: gr.Request) -> str:
    """Why the queue did not take the visitor's work."""
    return why_turned_away(visitor.session_hash or "") or TURNED_AWAY


def idle() -> tuple[gr.Button, gr.Button]:
    """Updates of (Run on, Stop off), when the work is over."""
    return gr.Button(interactive=True), gr.Button(interactive=False)


class Cancellable:
    """Base of the actions of one activity: a switch per visitor, thrown by its Stop button or by leaving."""

    def __init__(self) -> None:
        self._cancellations = Cancellations()

    def arm(self, visitor: gr.Request) -> Updates:
        """Before the work joins the queue: a fresh cancellation switch. Updates of (message, Run off, Stop on)."""
        self._cancellations.arm(visitor.session_hash or "")
        return (
            notices.message("Waiting for the engine…", "busy"),
            gr.Button(interactive=False),
            gr.Button(interactive=True),
        )

    def armed(self, visitor: gr.Request) -> Switch:
        """The visitor's switch for the current job."""
        return self._cancellations.armed(visitor.session_hash or "")

    def turned_away(self, visitor: gr.Request) -> Updates:
        """The queue did not take the work, or lost it: updates of (message, Run on, Stop off)."""
        return notices.message(why_not(visitor), "error"), *idle()

    def stop(self, visitor: gr.Request) -> None:
        """Shows nothing itself: its answer could arrive after the work's own last word and hide it."""
        self._cancellations.stop(visitor.session_hash or "")

    def leave(self, visitor: gr.Request) -> None:
        """The visitor closed the page: their work, if any, need not go on."""
        self._cancellations.leave(visitor.session_hash or "")


class Armed(Protocol):
    """Who begins the work of a button."""

    def arm(self, visitor: gr.Request) -> Updates: ...
    def turned_away(self, visitor: gr.Request) -> Updates: ...


def starts(
    press: Callable[..., Dependency],
    actions: Armed,
    shown: Sequence[Component],
    work: Callable[..., Any],
    given: Any,
    outputs: Any,
    lane: dict[str, Any] = ENGINE,
) -> Dependency:
    """Wires a `press`, such as `button.click`: it arms the visitor's switch and then does the `work` in its lane.
    `shown`: what `arm` answers, such as message, Run and Stop; where the queue is full they do not stay so. Returns
    the work."""
    doing: Dependency = press(actions.arm, None, list(shown), **QUIET).then(work, given, outputs, **lane)
    doing.failure(actions.turned_away, None, list(shown), **QUIET)
    return doing
