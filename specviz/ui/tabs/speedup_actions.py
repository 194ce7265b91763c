"""What the Speedup tab's controls do: plan a sweep, run it with progress, stop it, hand out the results.

What was measured before a stop or an error stays on the page. Knows nothing about the layout or the engine.
"""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import gradio as gr
from gradio.components import Component

from specviz.bench.sweep import BASELINE, SweepDrafter, SweepPoint, SweepSpec, run_count, sweep
from specviz.errors import OptionError, SpecVizError
from specviz.figures import notices
from specviz.figures.speedup import speedup_figure
from specviz.trace.source import Catalog, MethodDescription, TraceSource
from specviz.ui.background import Background, Counted
from specviz.ui.prompts import families
from specviz.ui.request import Limits, parse_option, within
from specviz.ui.stops import Stops
from specviz.views.speedup import speedup_view
from specviz.views.sweep_files import sweep_csv, sweep_json

log = logging.getLogger(__name__)

Given = Mapping[Component, Any]
Updates = tuple[object, ...]
LENGTH = "gamma"
"""the option that is a speculation length, in every drafter that has one"""
MOST_LENGTHS = 12
MOST_LENGTH = 64
PROGRESS_S = 0.25
CHART_S = 2.0
"""shortest time between two charts: drawing takes the same processor that is being measured"""
IDLE = "Nothing measured yet on this page."


@dataclass(frozen=True, slots=True)
class SweepForm:
    """The tab's controls, as they stand."""

    drafters: list[str]
    families: list[str]
    gammas: str
    trees: str
    temperature: float
    per_family: int
    repeats: int
    tokens: int


@dataclass(frozen=True, slots=True)
class SweepControls:
    """The tab's components by the form's field names."""

    fields: Mapping[str, Any]

    def form(self, given: Given) -> SweepForm:
        return SweepForm(**{name: given[component] for name, component in self.fields.items()})


class SpeedupActions:
    """The tab's actions over one source."""

    def __init__(self, source: TraceSource, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self.source = source
        self.limits = limits
        self.catalog: Catalog = source.catalog()
        self._clock = clock
        self._stops = Stops()

    def sweepable(self) -> list[MethodDescription]:
        """Every drafter but plain decoding, which is the baseline of them all."""
        return [method for method in self.catalog.drafters if method.name != BASELINE]

    def most_prompts(self) -> int:
        counts = [sum(card.family == family for card in self.catalog.prompts) for family in families(self.catalog)]
        return max(2, *counts) if counts else 2

    # --- planning ------------------------------------------------------------------------------------------------

    def spec(self, form: SweepForm) -> SweepSpec:
        """The controls as a sweep. Raises OptionError with a sentence naming what is missing."""
        lengths = _lengths(form.gammas)
        drafters = [drafter for name in form.drafters for drafter in self._cases(name, form.trees)]
        prompts = [
            card.id
            for family in form.families
            for card in [card for card in self.catalog.prompts if card.family == family][: int(form.per_family)]
        ]
        if not drafters:
            raise OptionError("no drafter is chosen; tick at least one.")
        if not prompts:
            raise OptionError("no prompt family is chosen; tick at least one.")
        return SweepSpec(
            drafters=tuple(drafters),
            gammas=lengths,
            prompt_ids=tuple(prompts),
            temperature=float(form.temperature),
            repeats=max(1, int(form.repeats)),
            max_new_tokens=min(int(form.tokens), self.limits.max_new_tokens),
        )

    def _cases(self, name: str, trees: str) -> Iterator[SweepDrafter]:
        method = next((method for method in self.sweepable() if method.name == name), None)
        if method is None:
            raise OptionError(f"there is no drafter '{name[:40]}' to measure; tick one of the list.")
        has_length = any(card.name == LENGTH for card in method.options)
        yield SweepDrafter(name, {}, LENGTH if has_length else None)
        shape = next((card for card in method.options if card.type == "ints"), None)
        for tree in filter(None, (part.strip() for part in trees.split(";"))):
            if shape is not None:
                options = within(self.limits, method, {shape.name: parse_option(shape, tree)})
                yield SweepDrafter(name, options, None, f"{name} tree {tree}")

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
        """Updates of (message, plot, table, JSON, CSV, Run, Cancel)."""

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
        nothing = (gr.skip(),) * 6
        chart_at = began
        for found in Background(sweep(counted, spec, stop.is_set), stop.set).look(PROGRESS_S):
            fresh, points[:] = len(found) > len(points), found
            now = self._clock()
            left = (now - began) / counted.runs * (total - counted.runs) if counted.runs else None
            line = notices.progress(counted.runs, total, left)
            if fresh and now - chart_at >= CHART_S:
                chart_at = now
                yield (line, *_picture(points), *nothing[2:])
            else:
                yield (line, *nothing)

    def _ending(self, points: Sequence[SweepPoint], problem: str | None, stopped: bool) -> Updates:
        buttons = (gr.Button(interactive=True), gr.Button(interactive=False))
        if not points:
            text = problem or "Cancelled before the first run was done."
            return (notices.message(text, "error" if problem else "plain"), *(gr.skip(),) * 4, *buttons)
        verdict = speedup_view(points).verdict
        if problem:
            line = notices.message(f"{problem} What was measured before is shown.", "error")
        else:
            line = notices.message(f"{'Cancelled. ' if stopped else ''}{verdict}", "good")
        return (line, *_picture(points), *_downloads(points), *buttons)


def _picture(points: Sequence[SweepPoint]) -> Updates:
    view = speedup_view(points)
    return speedup_figure(view), notices.sweep_table(view.rows)


def _downloads(points: Sequence[SweepPoint]) -> Updates:
    folder = Path(tempfile.mkdtemp(prefix="specviz-sweep-"))
    (folder / "sweep.json").write_text(sweep_json(points), encoding="utf-8")
    (folder / "sweep.csv").write_text(sweep_csv(points), encoding="utf-8")
    return tuple(gr.DownloadButton(value=str(folder / name), interactive=True) for name in ("sweep.json", "sweep.csv"))


def _lengths(text: str) -> tuple[int, ...]:
    """`1,2,4` → (1, 2, 4), each once and in order."""
    try:
        lengths = sorted({int(part) for part in text.split(",") if part.strip()})
    except ValueError as error:
        raise OptionError(
            f"the speculation lengths are {text[:40]!r}, but must be whole numbers with commas, such as 1,2,4."
        ) from error
    if not lengths or lengths[0] < 1 or lengths[-1] > MOST_LENGTH or len(lengths) > MOST_LENGTHS:
        raise OptionError(f"give 1 to {MOST_LENGTHS} speculation lengths between 1 and {MOST_LENGTH}, such as 1,2,4.")
    return tuple(lengths)
