"""What the When-it-pays tab's controls do: plan a sweep, run it with progress, stop it, go on with it, hand out the
results.

What was measured before a stop or an error stays on the page.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.components import Component

from specviz.app.form.fields import families
from specviz.app.form.request import Limits
from specviz.app.job import Cancellable, Faults, why_not
from specviz.app.lab.chart import Shown
from specviz.app.look import notices
from specviz.app.offered import served_folder
from specviz.app.runs.gallery import ShownSweep
from specviz.app.speedup.figure import speedup_figure, sweep_table
from specviz.app.speedup.predicting import Prediction, sentence, timing
from specviz.app.speedup.running import (
    ZIP,
    RunningSweep,
    SweepControls,
    SweepForm,
    check_count,
    check_limits,
    definition_of,
    measure,
    zip_keeper,
)
from specviz.app.speedup.view import (
    SpeedupView,
    both_speeds,
    drawn,
    drawn_note,
    machines_table,
    offer_results,
    offer_settings,
    origin,
    speedup_view,
)
from specviz.bench.sweep.runner import Keep
from specviz.errors import BenchError, OptionError, SpecVizError
from specviz.protocol.clocks import Clocks
from specviz.protocol.prompt_file import read_prompts
from specviz.protocol.runs import Catalog, PromptCard, TraceSource
from specviz.protocol.sweeps import store as sweep_store
from specviz.protocol.sweeps.definition import SweepDefinition, SweepSpec, cases, expand, request_for, run_count
from specviz.protocol.sweeps.points import SweepPoint, title
from specviz.protocol.sweeps.result import points_of, with_points
from specviz.protocol.sweeps.store import read_definition

Given = Mapping[Component, Any]
Updates = tuple[object, ...]
OUTPUTS = (
    "message",
    "origin",
    "plot",
    "table",
    "points",
    "as_json",
    "as_csv",
    "run",
    "resume",
    "cancel",
    "analyse",
    "predict",
)
"""what an action may change, in this order"""
IDLE = "Nothing measured yet on this page."
OPENING = "Opening the recorded sweep…"


def _updates(**changed: object) -> Updates:
    """Values for OUTPUTS; what is not named stays as it is."""
    return tuple(changed.get(name, gr.skip()) for name in OUTPUTS)


class SpeedupActions(Cancellable):
    """The tab's actions over one source. `shipped` is the recorded result that the tab opens with, if there is one."""

    def __init__(
        self,
        source: TraceSource,
        limits: Limits,
        shipped: ShownSweep | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self.source = source
        self.limits = limits
        self.catalog: Catalog = source.catalog()
        self._shipped = shipped
        self._clock = clock
        self.results: dict[str, ShownSweep] = {}
        self._files: dict[str, SweepDefinition] = {}
        self._prompts: dict[str, tuple[PromptCard, ...]] = {}
        self.asked_here: dict[str, SweepDefinition] = {}
        self._folders: dict[str, Path] = {}
        self._traces: dict[str, Path] = {}
        self._open: set[str] = set()

    def most_prompts(self) -> int:
        counts = [sum(card.family == family for card in self.catalog.prompts) for family in families(self.catalog)]
        return max(2, *counts) if counts else 2

    def shown(self, visitor: str) -> ShownSweep | None:
        """The result that this visitor (session hash) sees: their own, or the recorded one."""
        return self.results.get(visitor, self._shipped)

    def machines(self) -> str:
        """The recorded sweep on two kinds of machine, as HTML; empty where it was kept of one."""
        return "" if self._shipped is None else machines_table(self._shipped)

    def traces(self, visitor: str) -> Path | None:
        """A zip of the traces of the runs that this visitor sees; None where none were kept."""
        kept = self._traces.get(visitor)
        return kept if kept is not None and kept.is_file() else None

    # --- planning ------------------------------------------------------------------------------------------------

    def spec(self, definition: SweepDefinition) -> SweepSpec:
        """Every case. Raises OptionError with a sentence naming what is unknown or too much for this machine."""
        spec = expand(definition, self.catalog)
        check_limits(definition, spec, self.catalog, self.limits)
        return spec

    def definition(self, controls: SweepControls, given: Given, visitor: str = "") -> SweepDefinition:
        """The form as a sweep, on the visitor's own prompts where they opened some. Raises OptionError, also where a
        case cannot be run."""
        definition = definition_of(controls.form(given), self.catalog, self.limits)
        if visitor in self._prompts:
            definition = replace(definition, own_prompts=self._prompts[visitor], families=())
        spec = self.spec(definition)
        for case in cases(spec):
            for temperature in spec.temperatures:
                reason = self.source.explain(request_for(spec, case, temperature))
                if reason:
                    raise OptionError(f"{title(case)} cannot be measured: {reason}")
        return definition

    def estimate(self, controls: SweepControls) -> Callable[[Given, gr.Request], Updates]:
        """(message, sweep file) for what pressing Run would do, before anybody presses it. A file that was opened is
        left: who changes the form means the form."""

        def count(given: Given, visitor: gr.Request) -> Updates:
            self._files.pop(visitor.session_hash or "", None)
            try:
                definition = self.definition(controls, given, visitor.session_hash or "")
            except SpecVizError as error:
                return notices.message(str(error), "error"), gr.DownloadButton(interactive=False)
            runs = run_count(self.spec(definition))
            path = offer_settings(definition)
            own = f" on your own {len(definition.own_prompts)} prompts" if definition.own_prompts else ""
            line = notices.message(f"Run sweep makes {runs} runs{own}, plain decoding among them.")
            return line, gr.DownloadButton(value=path, interactive=True)

        return count

    def first_settings(self, form: SweepForm) -> str | None:
        """The untouched form as a sweep file; None where there is nothing to measure."""
        try:
            return offer_settings(definition_of(form, self.catalog, self.limits))
        except OptionError:
            return None

    def open_file(self, path: str | None, visitor: gr.Request) -> Updates:
        """A sweep file waits for Run, and so do prompts; a result is shown, and can be resumed where it is not
        complete."""
        key = visitor.session_hash or ""
        try:
            if path is None:
                raise BenchError(
                    "no file arrived; choose a sweep file (.toml), prompts (.jsonl) or a result (.json or .json.gz)."
                )
            if Path(path).suffix == ".jsonl":
                self._prompts[key] = own = read_prompts(Path(path))
                self._files.pop(key, None)
                kinds = len({card.family for card in own})
                said = f"Run sweep takes your own {len(own)} prompts of {kinds} families in place of the form's."
                return _updates(message=notices.message(f"{said} Reload the page for the bundled ones."))
            if Path(path).suffix == ".zip":
                self._traces[key] = Path(path)
                said = f"{Path(path).name}: Analyse these runs opens the traces in it."
                return _updates(message=notices.message(said), analyse=gr.Button(interactive=True))
            if Path(path).suffix == ".toml":
                definition = read_definition(path)
                runs = run_count(self.spec(definition))
                self._files[key] = definition
                named = definition.title or Path(path).name
                line = notices.message(f"{named}: Run sweep makes its {runs} runs and leaves the form aside.")
                return (line, *self.opened(visitor)[1:])
            if Path(path).stat().st_size > self.limits.import_bytes:
                raise BenchError(notices.too_large(self.limits.import_bytes))
            self.results[key] = ShownSweep(sweep_store.read(path), live=False)
            self._traces.pop(key, None)
        except SpecVizError as error:
            return _updates(message=notices.message(str(error), "error"))
        return self.picture(key)

    # --- running -------------------------------------------------------------------------------------------------

    def arm(self, visitor: gr.Request) -> Updates:
        self._cancellations.arm(visitor.session_hash or "")
        self._open.add(visitor.session_hash or "")
        return _updates(
            message=notices.message("Waiting for the engine…", "busy"),
            run=gr.Button(interactive=False),
            resume=gr.Button(interactive=False),
            cancel=gr.Button(interactive=True),
            analyse=gr.Button(interactive=False),
            predict=gr.Button(interactive=False),
        )

    def turned_away(self, visitor: gr.Request) -> Updates:
        """The queue did not take the sweep, or lost it: updates of OUTPUTS."""
        return self._idle(visitor.session_hash or "", notices.message(why_not(visitor), "error"))

    def leave(self, visitor: gr.Request) -> None:
        super().leave(visitor)
        key = visitor.session_hash or ""
        self.results.pop(key, None)
        self._files.pop(key, None)
        self._prompts.pop(key, None)
        self.asked_here.pop(key, None)
        self._traces.pop(key, None)
        self._open.discard(key)
        folder = self._folders.pop(key, None)
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    def run(self, controls: SweepControls, keep: gr.Checkbox | None = None) -> Callable[..., Iterator[Updates]]:
        """Updates of OUTPUTS, for the sweep file that was opened last, or else for the form; `keep` says whether the
        runs' traces are wanted."""

        def press(given: Given, visitor: gr.Request) -> Iterator[Updates]:
            key = visitor.session_hash or ""
            file = self._files.get(key)

            def job() -> RunningSweep:
                definition = file or self.definition(controls, given, key)
                return RunningSweep(
                    definition, keep=self._keeper(key, definition) if keep is not None and given[keep] else None
                )

            yield from self._guarded(key, job)

        return press

    def _keeper(self, key: str, definition: SweepDefinition) -> Keep:
        """Into a zip that begins empty. Raises OptionError for more runs than are kept."""
        check_count(run_count(self.spec(definition)))
        return zip_keeper(self._folder(key) / ZIP)

    def resume(self, visitor: gr.Request) -> Iterator[Updates]:
        """Go on with the result that is shown."""
        key = visitor.session_hash or ""

        def job() -> RunningSweep:
            shown = self.shown(key)
            if shown is None:
                raise BenchError("there is no sweep to go on with; press Run sweep.")
            kept = self.traces(key) if shown.live else None
            keep = None if kept is None else zip_keeper(kept)
            return RunningSweep(shown.result.definition, shown.result, points=points_of(shown.result), keep=keep)

        yield from self._guarded(key, job)

    def _guarded(self, key: str, make: Callable[[], RunningSweep]) -> Iterator[Updates]:
        """The sweep's updates, and whatever happens, its last word."""
        stop = self._cancellations.armed(key)
        job, stopped = None, False
        with Faults("sweep") as faults:
            job = make()
            self._begin_traces(key, job)
            for line, drawn in measure(job, self.source, self.spec(job.definition), stop, self._clock):
                stopped = stop.is_set()
                yield _updates(message=line, **(self._so_far(job) if drawn else {}))
        problem = faults.sentence
        if self._cancellations.gone(key):  # nobody will see it, and nobody would clear it away
            return
        if job is not None and job.result is not None and job.points:
            before, done = self.results.get(key), ShownSweep(with_points(job.result, job.points), live=True)
            self.results[key] = done
            yield self.picture(key, problem, stopped, before=both_speeds(before, done))
        else:
            text = problem or "Cancelled before the first run was done."
            yield self._idle(key, notices.message(text, "error" if problem else "plain"))

    # --- predicting ----------------------------------------------------------------------------------------------

    @property
    def can_predict(self) -> bool:
        """Recordings and simulations have no machine behind them."""
        return isinstance(self.source, Clocks)

    def predict(self, visitor: gr.Request) -> Iterator[Updates]:
        """The sweep that is shown, on this machine's clock, beside what was measured."""
        key = visitor.session_hash or ""
        stop = self._cancellations.armed(key)
        prediction: Prediction | None = None
        with Faults("prediction") as faults:
            shown = self.shown(key)
            if shown is None:
                raise BenchError("there is no sweep to predict; open one, or press Run sweep.")
            for line, made in timing(self.source, shown.result, stop, self.catalog, self.limits):
                prediction = made
                yield _updates(message=line)
        if not self._cancellations.gone(key):
            yield self.picture(key, faults.sentence, prediction=prediction)

    def _begin_traces(self, key: str, job: RunningSweep) -> None:
        """What was kept of another sweep goes; one that goes on keeps its own."""
        if job.kept is None and key in self._folders:
            (self._folders[key] / ZIP).unlink(missing_ok=True)
        if job.keep is not None:
            self._traces[key] = self._folder(key) / ZIP
        else:
            self._traces.pop(key, None)

    # --- showing -------------------------------------------------------------------------------------------------

    def opened(self, visitor: gr.Request) -> Updates:
        """The recorded result, the first time that a visitor opens the tab and has none of their own."""
        key = visitor.session_hash or ""
        if key in self._open or key in self.results or self._shipped is None:
            return _updates()
        self._open.add(key)
        return self.picture(key)

    def picture(
        self, key: str, problem: str | None = None, stopped: bool = False, prediction: Prediction | None = None,
        before: str = "",
    ) -> Updates:  # fmt: skip
        """Everything about the result that is shown, the prediction beside it, and the sentence about it."""
        shown = self.shown(key)
        if shown is None:
            return self._idle(key, notices.message(IDLE))
        points = points_of(shown.result)
        view = speedup_view(points)
        verdict = f"{view.verdict}{drawn_note(points)}"
        if problem:
            line = notices.message(f"{problem} What was measured before is shown.", "error")
        elif prediction is not None:
            line = notices.message(sentence(prediction, view), "good")
        else:
            line = notices.message(f"{before}{'Cancelled. ' if stopped else ''}{verdict}", "good")
        as_json, as_csv = offer_results(shown)
        return self._idle(
            key,
            line,
            origin=notices.badge_row([*origin(shown), *([prediction.badge] if prediction is not None else [])]),
            as_json=gr.DownloadButton(value=as_json, interactive=True),
            as_csv=gr.DownloadButton(value=as_csv, interactive=True),
            **_chart(points, view, prediction),
        )

    def _so_far(self, job: RunningSweep) -> dict[str, object]:
        """The chart of a sweep that is running, and that it is this one: not the recorded one that stood here."""
        assert job.result is not None, "a chart is drawn of runs, which begin after the warm-up."
        live = ShownSweep(with_points(job.result, job.points), live=True)
        return {"origin": notices.badge_row(origin(live)), **_chart(job.points, speedup_view(job.points))}

    def _idle(self, key: str, line: str, **changed: object) -> Updates:
        shown = self.shown(key)
        return _updates(
            message=line,
            run=gr.Button(interactive=True),
            resume=gr.Button(interactive=shown is not None and not shown.result.complete),
            cancel=gr.Button(interactive=False),
            analyse=gr.Button(interactive=self.traces(key) is not None),
            predict=gr.Button(interactive=self.can_predict and shown is not None),
            **changed,
        )

    def _folder(self, key: str) -> Path:
        """The visitor's own folder for their runs' traces; session hashes come from outside and name no folder."""
        if key not in self._folders:
            self._folders[key] = Path(tempfile.mkdtemp(prefix="specviz-sweep-", dir=served_folder()))
        return self._folders[key]


def _chart(points: Sequence[SweepPoint], view: SpeedupView, prediction: Prediction | None = None) -> dict[str, object]:
    """`view`: of all the points."""
    shown = drawn(points)
    beside = None if prediction is None else prediction.charted
    return {
        "plot": speedup_figure(view if len(shown) == len(points) else speedup_view(shown), beside),
        "table": sweep_table(view.rows, () if prediction is None else prediction.whole.rows),
        "points": Shown(tuple(shown)),
    }
