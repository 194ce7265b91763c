"""What the Speedup tab's controls do: plan a sweep, run it with progress, stop it, hand out the results.

What was measured before a stop or an error stays on the page. Knows nothing about the layout or the engine.
"""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Any

import gradio as gr
from gradio.components import Component

from specviz.bench.points import title
from specviz.bench.sweep import SweepPoint, SweepSpec, cases, request_for, run_count, sweep
from specviz.errors import OptionError, SpecVizError
from specviz.figures import notices
from specviz.figures.speedup import speedup_figure
from specviz.trace.source import Catalog, TraceSource
from specviz.ui.background import Background, Counted
from specviz.ui.prompts import families
from specviz.ui.request import Limits
from specviz.ui.stops import Stops
from specviz.ui.tabs.lab import Shown
from specviz.ui.tabs.sweep_form import SweepControls, SweepForm, sweep_spec
from specviz.views.speedup import speedup_view
from specviz.views.sweep_files import sweep_csv, sweep_json

log = logging.getLogger(__name__)

Given = Mapping[Component, Any]
Updates = tuple[object, ...]
PROGRESS_S = 0.25
CHART_S = 2.0
"""shortest time between two charts: drawing takes the same processor that is being measured"""
IDLE = "Nothing measured yet on this page."


class SpeedupActions:
    """The tab's actions over one source."""

    def __init__(self, source: TraceSource, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self.source = source
        self.limits = limits
        self.catalog: Catalog = source.catalog()
        self._clock = clock
        self._stops = Stops()

    def most_prompts(self) -> int:
        counts = [sum(card.family == family for card in self.catalog.prompts) for family in families(self.catalog)]
        return max(2, *counts) if counts else 2

    # --- planning ------------------------------------------------------------------------------------------------

    def spec(self, form: SweepForm) -> SweepSpec:
        """The controls as a sweep. Raises OptionError with a sentence naming what is missing or cannot be run."""
        spec = sweep_spec(form, self.catalog, self.limits)
        for case in cases(spec):
            reason = self.source.explain(request_for(spec, case))
            if reason:
                raise OptionError(f"{title(case)} cannot be measured: {reason}")
        return spec

    def estimate(self, controls: SweepControls) -> Callable[[Given], str]:
        """What pressing Run would do, before anybody presses it."""

        def count(given: Given) -> str:
            try:
                runs = run_count(self.spec(controls.form(given)))
            except SpecVizError as error:
                return notices.message(str(error), "error")
            return notices.message(f"Run sweep makes {runs} runs, plain decoding among them.")

        return count

    # --- running -------------------------------------------------------------------------------------------------

    def arm(self, visitor: gr.Request) -> Updates:
        self._stops.arm(visitor.session_hash or "")
        return (
            notices.message("Waiting for the engine…", "busy"),
            gr.Button(interactive=False),
            gr.Button(interactive=True),
        )

    def stop(self, visitor: gr.Request) -> None:
        """Shows nothing itself: its answer could arrive after the sweep's own last word and hide it."""
        self._stops.stop(visitor.session_hash or "")

    def leave(self, visitor: gr.Request) -> None:
        self._stops.leave(visitor.session_hash or "")

    def run(self, controls: SweepControls) -> Callable[..., Iterator[Updates]]:
        """Updates of (message, plot, table, points, JSON, CSV, Run, Cancel)."""

        def measure(given: Given, visitor: gr.Request) -> Iterator[Updates]:
            stop = self._stops.armed(visitor.session_hash or "")
            points: list[SweepPoint] = []
            problem, stopped = None, False
            try:
                for update in self._measure(self.spec(controls.form(given)), stop, points):
                    stopped = stop.is_set()
                    yield update
            except SpecVizError as error:
                problem = str(error)
            except Exception as error:  # a fault of ours: what was measured stays, the log keeps the rest
                log.exception("a sweep failed")
                problem = f"The sweep failed ({type(error).__name__}); the server's log says more."
            yield self._ending(points, problem, stopped)

        return measure

    def _measure(self, spec: SweepSpec, stop: Event, points: list[SweepPoint]) -> Iterator[Updates]:
        """Progress each quarter of a second, a chart now and then; `points` grows on the way."""
        total, began = run_count(spec), self._clock()
        counted = Counted(self.source)
        nothing = (gr.skip(),) * 7
        chart_at = began
        for found in Background(sweep(counted, spec, stop.is_set), stop.set).look(PROGRESS_S):
            fresh, points[:] = len(found) > len(points), found
            now = self._clock()
            left = (now - began) / counted.runs * (total - counted.runs) if counted.runs else None
            line = notices.progress(counted.runs, total, left)
            if fresh and now - chart_at >= CHART_S:
                chart_at = now
                yield (line, *_picture(points), *nothing[3:])
            else:
                yield (line, *nothing)

    def _ending(self, points: Sequence[SweepPoint], problem: str | None, stopped: bool) -> Updates:
        buttons = (gr.Button(interactive=True), gr.Button(interactive=False))
        if not points:
            text = problem or "Cancelled before the first run was done."
            return (notices.message(text, "error" if problem else "plain"), *(gr.skip(),) * 5, *buttons)
        verdict = speedup_view(points).verdict
        if problem:
            line = notices.message(f"{problem} What was measured before is shown.", "error")
        else:
            line = notices.message(f"{'Cancelled. ' if stopped else ''}{verdict}", "good")
        return (line, *_picture(points), *_downloads(points), *buttons)


def _picture(points: Sequence[SweepPoint]) -> Updates:
    view = speedup_view(points)
    return speedup_figure(view), notices.sweep_table(view.rows), Shown(tuple(points))


def _downloads(points: Sequence[SweepPoint]) -> Updates:
    folder = Path(tempfile.mkdtemp(prefix="specviz-sweep-"))
    (folder / "sweep.json").write_text(sweep_json(points), encoding="utf-8")
    (folder / "sweep.csv").write_text(sweep_csv(points), encoding="utf-8")
    return tuple(gr.DownloadButton(value=str(folder / name), interactive=True) for name in ("sweep.json", "sweep.csv"))
