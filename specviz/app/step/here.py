"""*Run here*: what stands in the controls, run by the visitor's own browser, and the offer of it where the server's
queue has no room.

    press ─► the controls as a request, or why they are none ─► the browser: can it? ─► models ─► rounds ─► the trace
                                                          the player, as they are made ◄──────────────┘         │
                                                                                        `OpeningActions` ◄──────┘

No work of the queue: whoever runs in their own browser waits for nobody. What the browser's engine has is its own to
say (`assets/js/engine/methods.js`); here is only what the server asks of every request.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import gradio as gr
from gradio.components import Component

from specviz.app.components.engine_files import megabytes
from specviz.app.components.framed import RunHere
from specviz.app.job import idle, why_not
from specviz.app.look import notices
from specviz.app.look.events import QUIET
from specviz.app.runs.elsewhere import browsers_request
from specviz.app.step.actions import Given, StepActions, Updates
from specviz.app.step.controls import Controls
from specviz.errors import SpecVizError

OFFER = "() => SpecViz.offerHere()"
START = "(answer) => SpecViz.startHere(answer)"
SAYS = "() => SpecViz.hereSays()"
BEGINS = "() => SpecViz.hereBegins()"


def ask_here(actions: StepActions, controls: Controls) -> Callable[[Given], str]:
    """What a press is answered: the request, or the sentence why the controls are none."""

    def asked(given: Given) -> str:
        try:
            return json.dumps({"request": browsers_request(actions.request(controls, given))})
        except SpecVizError as error:
            return json.dumps({"refusal": str(error)})

    return asked


@dataclass(frozen=True, slots=True)
class Offering:
    """Who begins the work of Run: where the queue turns a visitor away, their own browser is offered."""

    actions: StepActions

    def arm(self, visitor: gr.Request) -> Updates:
        return self.actions.arm(visitor)

    def turned_away(self, visitor: gr.Request) -> Updates:
        offer = f"Or press Run here: your own browser has no queue, and fetches {megabytes()} MB the first time."
        return notices.message(f"{why_not(visitor)} {offer}", "error"), *idle()


def wire_here(
    here: RunHere,
    message: Component,
    around: Sequence[Component],
    ask: Callable[[Given], str],
    inputs: Collection[Component],
) -> None:
    """A press asks for the request and starts the browser with it; what that says stands where Run says it. `around`:
    badges and panels, which are the run's before from its first round on."""
    here.asked(ask, set(inputs), here, **QUIET).then(None, here, None, js=START, **QUIET)
    here.said(None, None, message, js=SAYS, **QUIET)
    here.began(None, None, list(around), js=BEGINS, **QUIET)
