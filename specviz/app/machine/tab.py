"""The Machine tab: how long a target pass over n rows takes, here or elsewhere, and how many nodes are free. Below it a
fold: a smaller draft head, with its size and the text it is cut down by to choose.

Shows a shipped, loaded or just measured curve, and measures one here. A curve from a file may hold anything and is read
with limits. What was measured before a stop stays. The fold counts without an engine: it answers while the slider
moves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import gradio as gr

from specviz.app.form.kept import Kept
from specviz.app.job import Background, Cancellable, Faults, idle, starts
from specviz.app.look import notices
from specviz.app.look.events import QUIET, READING, Answer, by_name
from specviz.app.machine.view import (
    MachineView,
    curve_csv,
    machine_figure,
    machine_table,
    machine_view,
    provenance,
    setting_label,
)
from specviz.app.offered import offered
from specviz.app.studies.tab import build, show
from specviz.app.tab import Page, Tab
from specviz.errors import ModelError, SpecVizError, TraceError
from specviz.protocol.clocks import Clocks
from specviz.protocol.profiles import HardwareCurve, Profiled, ProfileRequest, dumps, read
from specviz.protocol.runs import Profiles, TraceSource
from specviz.resources import without
from specviz.studies.heads.result import BUNDLED, STUDY
from specviz.theory import roofline as hardware
from specviz.theory import token_frequencies as frequencies


def heads_fold() -> Kept:
    """The study of smaller draft heads, folded up. Returns what a link holds of it."""
    result = STUDY.shipped()
    if result is None or not without(BUNDLED, frequencies.read, None):
        gr.HTML(notices.note("Smaller draft heads are not shown: what was measured of them is damaged."))
        return Kept("heads", {}, (), lambda values: {})
    with gr.Accordion("A smaller draft head: what it covers, what it costs", open=False, elem_id="sv-heads"):
        gr.Markdown(STUDY.intro)
        controls, outputs = build(STUDY, result)
    names = ("head_size", "head_text")

    def fill(values: Mapping[str, Any]) -> dict[Any, Any]:
        chosen = [values.get(name, choice.value) for name, choice in zip(names, STUDY.choices(result), strict=True)]
        return dict(zip(outputs, show(STUDY, result, *chosen), strict=True))

    return Kept("heads", dict(zip(names, controls, strict=True)), tuple(outputs), fill)


# --- what the controls do --------------------------------------------------------------------------------------------


Own = Mapping[str, HardwareCurve]
IDLE = (
    "Shipped curves were measured beforehand; Measure here times the bundled target now, on the machine that serves "
    "this page, in less than a minute if nothing else runs."
)
NOT_SHIPPED = "This link's curve was measured or loaded on another page and is not in the link; a shipped one is shown."
HERE = ProfileRequest(contexts=(128,), repeats=9)
"""what Measure here times"""
PROGRESS_S = 0.25
CHART_S = 3.0
"""shortest time between two charts: drawing takes the same processor that is being measured"""
MOST_OWN = 12
"""curves that a page keeps beside the shipped ones"""


class MachineActions(Cancellable):
    """The tab's actions over one source."""

    def __init__(self, source: TraceSource, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._source = source
        self._clock = clock

    @property
    def can_predict(self) -> bool:
        """Whether When it pays can put its sweep on this machine's clock."""
        return isinstance(self._source, Clocks)

    @property
    def can_measure(self) -> bool:
        """Recordings and simulations have no machine behind them."""
        return isinstance(self._source, Profiles)

    def curves(self) -> list[str]:
        """Labels of the shipped curves."""
        return list(_labelled({}))

    def settings(self, label: str | None) -> list[str]:
        """Labels of the passes that a shipped curve has."""
        curve = _labelled({}).get(label or "")
        return [] if curve is None else [setting_label(*setting) for setting in hardware.settings(curve)]

    # --- showing -------------------------------------------------------------------------------------------------

    def open(self, own: Own, chosen: str | None, setting: str | None) -> Answer:
        """The chosen curve at the chosen setting; the first of each where nothing is chosen."""
        there = _labelled(own)
        if not there:
            return {"sentence": notices.message("No curve is shipped; press Measure here, or load one.")}
        name = chosen if chosen in there else next(iter(there))
        return _shown(there, name, setting)

    def linked(self, chosen: object, setting: object) -> Answer:
        """For a link, which names a curve but holds none."""
        name = chosen if isinstance(chosen, str) else None
        line = notices.message(IDLE if name is None or name in _labelled({}) else NOT_SHIPPED)
        return {"message": line, **self.open({}, name, setting if isinstance(setting, str) else None)}

    def choose(self, own: Own, chosen: str | None) -> Answer:
        return self.open(own, chosen, None)

    def load(self, path: str | None, own: Own) -> Answer:
        """A curve of the visitor's."""
        try:
            if path is None:
                raise TraceError("no file arrived; choose a .json curve that `specviz profile` wrote.")
            curve = read(path)
        except SpecVizError as error:
            return {"message": notices.message(str(error), "error")}
        kept, name = _with(own, curve, "loaded")
        line = notices.message(f"Showing the loaded curve of {curve.name}.", "good")
        return {"message": line, "own": kept, **self.open(kept, name, None)}

    # --- measuring -----------------------------------------------------------------------------------------------

    def measure(self, own: Own, visitor: gr.Request) -> Iterator[Answer]:
        """Progress, charts on the way, and at the end the curve beside the visitor's others."""
        stop = self.armed(visitor)
        last = None
        with Faults("measurement") as faults:
            if not isinstance(self._source, Profiles):
                raise ModelError("there is no engine behind this page; run `specviz profile` where there is one.")
            steps = Background(self._source.profile(HERE, stop.is_set), stop.set).look(PROGRESS_S)
            for line, curve, fresh in self._looks(steps):
                last = curve or last
                drawn = _picture(machine_view(last, *hardware.settings(last)[0])) if fresh and last else {}
                yield {"message": line, **drawn}
            stop.check()
        yield self._ending(own, last, faults.sentence)

    def _looks(self, steps: Iterator[object]) -> Iterator[tuple[str, HardwareCurve | None, bool]]:
        """Progress, the newest curve, and whether it is time to draw it."""
        began = drawn = self._clock()
        seen = 0
        curve: HardwareCurve | None = None
        for step in steps:
            assert isinstance(step, tuple)
            news: tuple[Profiled, ...] = step[seen:]
            seen = len(step)
            newest = next((profiled.curve for profiled in reversed(news) if profiled.curve is not None), None)
            curve = newest or curve
            now = self._clock()
            fresh = newest is not None and now - drawn >= CHART_S
            drawn = now if fresh else drawn
            yield _progress(step[-1] if step else None, now - began), curve, fresh

    def _ending(self, own: Own, curve: HardwareCurve | None, problem: str | None) -> Answer:
        buttons = dict(zip(("measure", "cancel"), idle(), strict=True))
        if curve is None:
            text = problem or "Cancelled before every width was timed three times; nothing is kept."
            return {"message": notices.message(text, "error" if problem else "plain"), **buttons}
        kept, name = _with(own, curve, "measured here")
        said = "Measured here, now." if curve.complete else "Cancelled; what was timed before is shown."
        line = notices.message(
            f"{problem} What was timed before is shown." if problem else said, "error" if problem else "good"
        )
        return {"message": line, "own": kept, **self.open(kept, name, None), **buttons}


def _progress(step: Profiled | None, seconds: float) -> str:
    if step is None:
        return notices.message("Waiting for the engine…", "busy")
    left = seconds / step.done * (step.total - step.done) if step.done else None
    return notices.progress(step.done, step.total, left, "passes")


def _label(curve: HardwareCurve) -> str:
    return f"{curve.name} · {curve.model.name}, {curve.machine.dtype}"


def _labelled(own: Own) -> dict[str, HardwareCurve]:
    """The visitor's curves, the newest first, then the shipped ones."""
    shipped = {_label(curve): curve for curve in hardware.curves().values()}
    return {**dict(reversed(list(own.items()))), **shipped}


def _with(own: Own, curve: HardwareCurve, origin: str) -> tuple[dict[str, HardwareCurve], str]:
    """The visitor's curves with one more, under a name that no other has; the oldest go when there are too many."""
    base = f"{origin}: {_label(curve)}"
    name = next(label for label in (base, *(f"{base} ({i})" for i in range(2, MOST_OWN + 3))) if label not in own)
    kept = {**own, name: curve}
    return dict(list(kept.items())[-MOST_OWN:]), name


def _shown(there: Mapping[str, HardwareCurve], name: str, setting: str | None) -> Answer:
    curve = there[name]
    labels = {setting_label(*known): known for known in hardware.settings(curve)}
    label = setting if setting in labels else next(iter(labels))
    return {
        "curve": gr.Dropdown(choices=list(there), value=name),
        "setting": gr.Dropdown(choices=list(labels), value=label),
        **_picture(machine_view(curve, *labels[label])),
        "as_csv": gr.DownloadButton(value=offered("times.csv", curve_csv(curve)), interactive=True),
        "as_json": gr.DownloadButton(value=offered("curve.json", dumps(curve)), interactive=True),
    }


def _picture(view: MachineView) -> Answer:
    return {
        "sentence": notices.message(view.sentence, "good"),
        "plot": machine_figure(view),
        "table": machine_table(view),
        "facts": provenance(view),
    }


# --- the tab ---------------------------------------------------------------------------------------------------------


INTRO = (
    "Speculative decoding pays as long as a wider target pass costs little more. Marks with whiskers are "
    "**measured** times of one pass over n rows (median and quartiles); the dotted line is the **roofline**, modelled "
    "from the model's size and two rates measured in the same run: reading from memory and multiplying matrices. At "
    "the *knee*, wider passes begin to cost; at the *ridge*, multiplying takes as long as reading.\n\n"
    "Why width is free on a large GPU: a pass over few rows waits for the weights to come from memory, which takes the "
    "same time for one row as for sixty. Only where multiplying the added rows takes longer than that reading do they "
    "cost anything, and a laptop's processor, slow at multiplying for what it reads, is there after a few rows."
)


def machine_tab(actions: MachineActions, tab: gr.Tab) -> tuple[Kept, Kept, gr.Button]:
    """Build the tab's content inside `tab`. The chart is drawn when the tab is first opened. Returns what a link holds
    of it, and the button that predicts a sweep, which When it pays wires."""
    gr.Markdown(INTRO, elem_classes="sv-intro")
    own = gr.State({})
    first = next(iter(actions.curves()), None)
    passes = actions.settings(first)
    with gr.Row(elem_classes="sv-gallery"):
        curve = gr.Dropdown(
            actions.curves(), value=first, label="machine and model", scale=3, min_width=260, elem_id="sv-machine-curve"
        )
        setting = gr.Dropdown(
            passes, value=next(iter(passes), None), label="pass", scale=2, min_width=220, elem_id="sv-machine-setting"
        )
        upload = gr.UploadButton(
            "Load a curve", file_types=[".json"], size="sm", min_width=140, elem_id="sv-machine-load"
        )
    with gr.Row(elem_classes="sv-actions"):
        measure = gr.Button(
            "Measure here", variant="primary", min_width=140, interactive=actions.can_measure, elem_id="sv-machine-run"
        )
        cancel = gr.Button("Cancel", variant="stop", min_width=100, interactive=False, elem_id="sv-machine-cancel")
        predict = gr.Button(
            "Predict a sweep here", min_width=160, interactive=actions.can_predict, elem_id="sv-machine-predict"
        )
    message = gr.HTML(notices.message(IDLE), elem_id="sv-machine-message")
    sentence = gr.HTML(elem_id="sv-machine-sentence")
    plot = gr.Plot(show_label=False, elem_id="sv-machine-plot")
    table = gr.HTML(elem_id="sv-machine-table")
    facts = gr.HTML(elem_id="sv-machine-facts")
    with gr.Row():
        as_csv = gr.DownloadButton("Times as CSV", interactive=False, size="sm", min_width=140)
        as_json = gr.DownloadButton("Curve as JSON", interactive=False, size="sm", min_width=140)

    heads = heads_fold()

    shown: dict[str, Any] = {
        "message": message, "own": own, "curve": curve, "setting": setting, "sentence": sentence, "plot": plot,
        "table": table, "facts": facts, "as_csv": as_csv, "as_json": as_json, "measure": measure, "cancel": cancel,
    }  # fmt: skip
    outputs = list(shown.values())
    tab.select(by_name(actions.open, shown), [own, curve, setting], outputs, **QUIET)
    curve.input(by_name(actions.choose, shown), [own, curve], outputs, **QUIET)
    setting.input(by_name(actions.open, shown), [own, curve, setting], outputs, **QUIET)
    upload.upload(by_name(actions.load, shown), [upload, own], outputs, **READING)
    starts(measure.click, actions, [message, measure, cancel], by_name(actions.measure, shown), own, outputs)
    cancel.click(actions.stop, None, None, **QUIET)

    def fill(values: Mapping[str, Any]) -> dict[Any, Any]:
        answer = actions.linked(values.get("curve"), values.get("setting"))
        return {shown[name]: update for name, update in answer.items()}

    kept = {"curve": curve, "setting": setting}
    written = tuple(part for name, part in shown.items() if name not in ("own", "measure", "cancel", *kept))
    return Kept("machine", kept, written, fill, frozenset(kept)), heads, predict


def _build(page: Page, tab: gr.Tab, actions: MachineActions) -> gr.Button:
    *kept, predict = machine_tab(actions, tab)
    page.kept.extend(kept)
    return predict


TAB = Tab("machine", "Machine", "lab", 4, lambda page: MachineActions(page.source), _build)
