"""A real model brought to this machine by a button under the bar, seen where its pair is chosen: how far it is, stopped
and gone on with.

    Get ─► arm ─► `Fetches.fetch`, in a thread of its own ─► progress ─► the target, listed as one that is there

On a page that strangers reach there is no button: what its machine holds is its host's to say. Imports no torch; the
source does the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import gradio as gr

from specviz.app.form.fields import model_choices
from specviz.app.form.request import Limits
from specviz.app.job import Background, Cancellable, Faults, idle, starts
from specviz.app.look import notices
from specviz.app.look.events import FETCHING, QUIET, Answer, by_name
from specviz.errors import ModelError
from specviz.protocol.runs import Catalog, FetchableModel, Fetches, Fetching, TraceSource

LOOK_S = 0.5
"""how often the page is told how far it is"""
READY = "Press Run."

Updates = tuple[object, ...]


@dataclass(slots=True)
class FetchParts:
    """The components of one model."""

    model: FetchableModel
    box: gr.Column
    """all of it: seen where the model's pair is chosen"""
    row: gr.Row
    get: gr.Button
    stop: gr.Button
    line: gr.HTML

    def changes(self, form: Mapping[str, Any]) -> dict[str, Any]:
        """What `FetchActions` answers, by name: these, and the list of targets."""
        return {"line": self.line, "get": self.get, "stop": self.stop, "row": self.row, "target": form["target"]}


def fetchable(catalog: Catalog, limits: Limits) -> tuple[FetchableModel, ...]:
    """What this page offers to get."""
    return catalog.fetchable if limits.any_model else ()


def fetch_controls(model: FetchableModel, shown: bool) -> FetchParts:
    """Lay them out inside the current Blocks."""
    with gr.Column(visible=shown, elem_id=f"sv-fetch-{model.name}") as box:
        with gr.Row(elem_classes="sv-actions") as row:
            get = gr.Button(
                f"Get {model.title}, {_megabytes(model.size_bytes)} MB",
                size="sm",
                min_width=260,
                elem_id=f"sv-get-{model.name}",
            )
            stop = gr.Button("Stop", size="sm", min_width=80, interactive=False, elem_id=f"sv-get-stop-{model.name}")
        line = gr.HTML(notices.note(about(model)), elem_id=f"sv-get-line-{model.name}")
    return FetchParts(model, box, row, get, stop, line)


def about(model: FetchableModel) -> str:
    """Licence and source, in a line."""
    return f"A real instruct model. Licence: {model.licence}. Source: {model.origin}. It is kept on this machine."


def how_far(state: Fetching) -> str:
    """A bar over the bytes; before the first of them, and once all are here, a sentence."""
    if not state.total:
        return notices.message("Asking where it can be had…", "busy")
    if state.here >= state.total:
        return notices.message(f"All {_megabytes(state.here)} MB are here and are being unpacked…", "busy")
    return notices.progress(_megabytes(state.here), _megabytes(state.total), None, "MB")


def _megabytes(count: int) -> int:
    return round(count / 1e6)


class FetchActions(Cancellable):
    """Over one source; of a visitor their cancellation switch is kept."""

    def __init__(self, source: TraceSource) -> None:
        super().__init__()
        self._source = source

    def arm(self, visitor: gr.Request) -> Updates:
        """See `Cancellable.arm`; no engine is waited for."""
        return notices.message("Waiting for the download to begin…", "busy"), *super().arm(visitor)[1:]

    def get(self, model: FetchableModel) -> Callable[[gr.Request], Iterator[Answer]]:
        """How far it is; then the model among those that are there, or a sentence on why not."""

        def fetch(visitor: gr.Request) -> Iterator[Answer]:
            stop, last = self.armed(visitor), Fetching()
            with Faults("download") as faults:
                states = self._fetches().fetch(model.name, stop.is_set)
                for seen in Background(states, stop.set).look(LOOK_S):
                    last = seen[-1] if seen else last
                    if not last.sentence:
                        yield {"line": how_far(last)}
                if not last.sentence:
                    stop.check()
            yield self._ending(model, last, faults.sentence)

        return fetch

    def _ending(self, model: FetchableModel, last: Fetching, problem: str | None) -> Answer:
        buttons = dict(zip(("get", "stop"), idle(), strict=True))
        if problem:
            return {"line": notices.message(problem, "error"), **buttons}
        if not last.sentence:
            kept = f"{_megabytes(last.here)} of {_megabytes(last.total)} MB are" if last.total else "What is here is"
            return {"line": notices.message(f"Stopped. {kept} kept; the next press goes on from there."), **buttons}
        said = notices.message(f"{last.sentence}. {READY}", "good")
        return {"line": said, **buttons, "row": gr.Row(visible=False), "target": gr.Dropdown(self._targets())}

    def opened(self, model: FetchableModel) -> Callable[[], Answer]:
        """A page that opens later, perhaps after the model has come: what it offers then."""

        def look() -> Answer:
            lacking = model in self._source.catalog().fetchable
            offered = {"row": gr.Row(visible=lacking), "line": gr.HTML(visible=lacking)}
            return {**offered, "target": gr.Dropdown(self._targets())}

        return look

    def _targets(self) -> list[tuple[str, str]]:
        """What there is by now."""
        return model_choices(self._source.catalog().models, "target")

    def _fetches(self) -> Fetches:
        if not isinstance(self._source, Fetches):
            raise ModelError("there is no machine behind this page; run `specviz get` where there is one.")
        return self._source


def wire_fetch(actions: FetchActions, parts: FetchParts, form: Mapping[str, Any]) -> None:
    """`form`: the run's controls by the name of their value."""
    shown = parts.changes(form)
    armed = [parts.line, parts.get, parts.stop]
    work = by_name(actions.get(parts.model), shown)
    starts(parts.get.click, actions, armed, work, None, list(shown.values()), FETCHING)
    parts.stop.click(actions.stop, None, None, **QUIET)


def wire_opening(blocks: gr.Blocks, actions: FetchActions, parts: FetchParts, form: Mapping[str, Any]) -> None:
    """A model that came while the page stood is offered on every page that opens from then on."""
    shown = parts.changes(form)
    blocks.load(by_name(actions.opened(parts.model), shown), None, list(shown.values()), **QUIET)
