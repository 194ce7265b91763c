"""What the buttons of a learning stop policy do: retrain on this page's runs, go back to the shipped weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gradio as gr

from specviz.app.job import Faults
from specviz.app.look import notices
from specviz.app.look.events import ENGINE, LATEST, QUIET
from specviz.app.step.controls import SHIPPED, RetrainingControls
from specviz.app.step.retraining import Retraining
from specviz.protocol.runs import TraceSource


class RetrainingActions:
    """Each answers with the line beside the buttons."""

    def __init__(self, source: TraceSource, retraining: Retraining) -> None:
        self._source = source
        self._retraining = retraining

    def retrain(self, policy: str, visitor: gr.Request) -> str:
        with Faults("training") as faults:
            said = self._retraining.learn(visitor.session_hash or "", policy, self._source)
        if faults.sentence:
            return notices.message(faults.sentence, "error")
        return notices.message(f"{said} Runs of this page use it from now on.", "good")

    def reset(self, policy: str, visitor: gr.Request) -> str:
        self._retraining.forget(visitor.session_hash or "", policy)
        return notices.note(SHIPPED)

    def choose(self, policy: str, visitor: gr.Request) -> str:
        """Which weights the policy goes by, when it is chosen."""
        own = self._retraining.weights(visitor.session_hash or "", policy) is not None
        return notices.note("It goes by what it learnt from this page's runs." if own else SHIPPED)


def wire_retraining(
    actions: RetrainingActions, controls: RetrainingControls, stopping: Any, learners: Sequence[str]
) -> None:
    """The buttons appear with a stop policy that learns."""

    def offer(policy: str, visitor: gr.Request) -> tuple[object, str]:
        return gr.Group(visible=policy in learners), actions.choose(policy, visitor)

    stopping.change(offer, stopping, [controls.box, controls.line], **LATEST)
    controls.retrain.click(actions.retrain, stopping, controls.line, **ENGINE)
    controls.reset.click(actions.reset, stopping, controls.line, **QUIET)
