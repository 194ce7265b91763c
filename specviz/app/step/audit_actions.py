"""The button under a run that recomputes it from the checkpoints, and the one that stops it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import gradio as gr
from gradio.components import Component

from specviz.app.cancellable import give_back
from specviz.app.cancellation import Cancellations
from specviz.app.form.request import Limits, check_models, models_of_run
from specviz.app.look import notices
from specviz.app.look.events import ENGINE, QUIET
from specviz.app.step.audit_card import card
from specviz.errors import ModelError, SpecVizError
from specviz.protocol.audits import Audit, Audits
from specviz.protocol.runs import TraceSource
from specviz.trace import codec
from specviz.trace.events import Trace
from specviz.trace.limits import UPLOAD

log = logging.getLogger(__name__)

Updates = tuple[object, ...]
EXPLAINED = (
    "Recomputes p, q, verdicts, residuals and text of the run above from its checkpoints, through plain transformers "
    "forwards: nothing of the engine takes part."
)


@dataclass(slots=True)
class AuditParts:
    run: gr.Button
    stop: gr.Button
    shown: gr.HTML


def audit_controls() -> AuditParts:
    """Lay out the buttons and the place of the answer."""
    with gr.Row(elem_classes="sv-actions"):
        run = gr.Button("Audit this run: recompute from the checkpoints", size="sm", min_width=260, elem_id="sv-audit")
        stop = gr.Button("Stop the audit", size="sm", min_width=120, interactive=False, elem_id="sv-audit-stop")
    return AuditParts(run, stop, gr.HTML(notices.note(EXPLAINED), elem_id="sv-audit-shown"))


class AuditActions:
    """Over one source; of a visitor their cancellation switch is kept."""

    def __init__(self, source: TraceSource, limits: Limits, stops: Cancellations) -> None:
        self._source = source
        self._limits = limits
        self._stops = stops

    def arm(self, visitor: gr.Request) -> Updates:
        """Before the work joins the queue: a fresh switch. Updates of (answer, Audit off, Stop on)."""
        self._stops.arm(visitor.session_hash or "")
        busy = notices.message("Waiting for the engine…", "busy")
        return busy, gr.Button(interactive=False), gr.Button(interactive=True)

    def stop(self, visitor: gr.Request) -> None:
        self._stops.stop(visitor.session_hash or "")

    def audit(self, player: str, visitor: gr.Request) -> Iterator[Updates]:
        """The answer as it grows, for (answer, Audit, Stop); an error becomes its sentence."""
        idle = (gr.Button(interactive=True), gr.Button(interactive=False))
        found: Audit | None = None
        try:
            trace = codec.loads(player or "", UPLOAD)
            stop = self._stops.armed(visitor.session_hash or "")
            for found in self._offered(trace).audit(trace, stop.is_set):
                yield card(found), gr.skip(), gr.skip()
            stop.check()
            said = notices.message("Stopped before anything was recomputed.") if found is None else card(found, True)
            yield said, *idle
        except SpecVizError as error:
            done = "" if found is None else card(found, True)
            yield done + notices.message(f"not audited{' further' if done else ''}: {error}", "error"), *idle
        except Exception as error:  # a fault of specviz: the page must stay usable, the log keeps the rest
            log.exception("an audit failed")
            text = f"The audit failed ({type(error).__name__}); the server's log says more."
            yield notices.message(text, "error"), *idle

    def _offered(self, trace: Trace) -> Audits:
        """Who recomputes. Raises ModelError where nobody can, or where a stranger's file names other models."""
        if not isinstance(self._source, Audits):
            raise ModelError("there are no checkpoints behind this page; run `specviz audit` where there are.")
        check_models(models_of_run(trace.started), self._source.catalog(), self._limits)
        return self._source


def wire_audit(actions: AuditActions, parts: AuditParts, player: Component) -> None:
    answered = [parts.shown, parts.run, parts.stop]
    audit = parts.run.click(actions.arm, None, answered, **QUIET).then(actions.audit, player, answered, **ENGINE)
    give_back(audit, answered)
    parts.stop.click(actions.stop, None, None, **QUIET)
