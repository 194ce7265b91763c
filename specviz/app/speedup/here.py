"""A sweep in the visitor's own browser: drafter × length measured there, plain decoding in the same loop, and shown by
the same chart, whose badges name the browser as its machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import gradio as gr

from specviz.app.look import notices
from specviz.app.look.events import sent
from specviz.app.runs.elsewhere import asked, read_runs, refused
from specviz.app.runs.gallery import ShownSweep
from specviz.app.speedup.actions import OUTPUTS, Given, SpeedupActions, Updates
from specviz.app.speedup.running import SweepControls
from specviz.app.speedup.view import both_speeds
from specviz.bench.sweep.runner import planned, points_made, runnable, warm_ups_made
from specviz.errors import SpecVizError
from specviz.protocol.sweeps.result import introduce, with_points

SWEEP = "sweep"
COMMAND = "Run here, in a visitor's own browser"


@dataclass(frozen=True, slots=True)
class BrowserSweeps:
    """Over the tab's actions, which keep what each visitor asked for and what they are shown."""

    actions: SpeedupActions

    def ask(self, controls: SweepControls) -> Callable[..., str]:
        """What a press of Run here is answered."""

        def answer(given: Given, visitor: gr.Request) -> str:
            key = visitor.session_hash or ""
            try:
                definition = self.actions.definition(controls, given, key)
                plan = planned(self.actions.source, self.actions.spec(definition))
            except SpecVizError as error:
                return refused(SWEEP, str(error))
            self.actions.asked_here[key] = definition
            return asked(SWEEP, [run.request for run in plan])

        return answer

    def show(self, visitor: gr.Request, event: gr.EventData) -> Updates:
        """Updates of the tab's outputs, of the runs that the browser made."""
        key = visitor.session_hash or ""
        source, definition = self.actions.source, self.actions.asked_here.get(key)
        if definition is None:
            return _said("this page was loaded anew; press Run here again.")
        try:
            spec = self.actions.spec(definition)
            plan = planned(source, spec)
            runs = read_runs(sent(event, "runs", str), [run.request for run in plan])
            traces = [run.trace for run in runs]
            met = warm_ups_made(spec, plan, traces, [run.refusal for run in runs])
            fresh = introduce(source, definition, runnable(spec, met), met, COMMAND)
        except SpecVizError as error:
            return _said(str(error))
        before = self.actions.results.get(key)
        done = self.actions.results[key] = ShownSweep(with_points(fresh, points_made(plan, traces)), live=True)
        absent = ", ".join(warmed.name for warmed in met if warmed.started is None)
        without = f", without {absent}, which it does not have" if absent else ""
        return self.actions.picture(key, before=f"Run in your browser{without}. {both_speeds(before, done)}")


def _said(sentence: str) -> Updates:
    return notices.message(sentence, "error"), *(gr.skip(),) * (len(OUTPUTS) - 1)
