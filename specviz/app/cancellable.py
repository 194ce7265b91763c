"""The start and the stop of a tab's long work, as its buttons see them.

Place in the flow: base of the actions whose tab has one button that runs and one that stops.
"""

from __future__ import annotations

from collections.abc import Sequence

import gradio as gr
from gradio.components import Component
from gradio.events import Dependency

from specviz.app.cancellation import Cancellations
from specviz.app.job import why_turned_away
from specviz.app.look import notices
from specviz.app.look.events import QUIET

Updates = tuple[object, ...]
TURNED_AWAY = (
    "This was not done: too many visitors wait at this moment, or the connection was lost. Your settings are as they "
    "were; try again."
)


def why_not(visitor: gr.Request) -> str:
    """Why the queue did not take the visitor's work."""
    return why_turned_away(visitor.session_hash or "") or TURNED_AWAY


def turned_away(visitor: gr.Request) -> Updates:
    """The queue did not take the work, or lost it: updates of (message, Run on, Stop off)."""
    return notices.message(why_not(visitor), "error"), gr.Button(interactive=True), gr.Button(interactive=False)


def give_back(work: Dependency, shown: Sequence[Component]) -> Dependency:
    """Where the queue is full a page's buttons must not stay as `arm` left them. shown: message, Run, Stop; returns
    the work itself."""
    work.failure(turned_away, None, list(shown), **QUIET)
    return work


class Cancellable:
    """One switch per visitor."""

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

    def stop(self, visitor: gr.Request) -> None:
        """Shows nothing itself: its answer could arrive after the work's own last word and hide it."""
        self._cancellations.stop(visitor.session_hash or "")

    def leave(self, visitor: gr.Request) -> None:
        """The visitor closed the page: their work, if any, need not go on."""
        self._cancellations.leave(visitor.session_hash or "")
