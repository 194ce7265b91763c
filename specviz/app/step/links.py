"""Links to a moment, on the server's side: show the recorded run they name, run their request again, fill in their
values.

The fields of a link are those of `docs/links.md`; they come from strangers. Where in the run a link points is the
player's business, in the browser.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr
from gradio.components import Component

from specviz.app.components.framed import Address
from specviz.app.form.kept import Kept
from specviz.app.form.methods import kinds
from specviz.app.form.request import request_from
from specviz.app.look import notices
from specviz.app.look.events import ENGINE, QUIET, carried
from specviz.app.runs.gallery import SUFFIX
from specviz.app.runs.stage import Frame, shown_as, stage_of
from specviz.app.step import filling
from specviz.app.step.actions import StepActions
from specviz.app.step.filling import GAMMA
from specviz.app.step.pairs import Following
from specviz.app.tab import WATCH, TabRows, is_tab
from specviz.errors import SpecVizError, TraceError
from specviz.protocol.choice import renamed
from specviz.protocol.links import read_request, text_hash, unpack
from specviz.protocol.pairs import for_target, pair_of
from specviz.protocol.runs import RunRequest

SIMULATED = "simulated"
"""the name in links of a simulated run"""
AGAIN = "This link is a live run; running it again…"
SAME = "The text is the same as the link's."
OTHER = "The text differs from the link's: this machine, or its models, wrote another one."
REMADE = "This recording was made again after the link was written, so the moment may have moved."
Updates = dict[Any, Any]
"""by component or, of the tabs, layout"""


@dataclass(frozen=True, slots=True)
class LinkParts:
    """What links write to."""

    tabs: TabRows
    stage: Sequence[Component]
    """the Watch tab's player, badges, panels and message"""
    run: gr.Button
    stop: gr.Button
    form: Mapping[str, Any]
    """the run's controls by the name of their value, and what follows the pair of models"""
    kept: Sequence[Kept] = ()
    """the other tabs' controls"""
    document: tuple[Component, Callable[[str], str]] | None = None
    """where the page of a method is read, and its text by its name"""

    @property
    def running(self) -> list[Component]:
        """What a run updates, in its order."""
        return [*self.stage, self.run, self.stop]

    def outputs(self) -> list[Any]:
        doc = [] if self.document is None else [self.document[0]]
        others = [output for kept in self.kept for output in kept.outputs()]
        return [*self.tabs.outputs(), *self.running, *self.form.values(), *others, *doc]


@dataclass(frozen=True, slots=True)
class Again:
    """A link's run, to be made again."""

    request: RunRequest
    text: str
    """the hash of the link's text; empty where it names none"""


class LinkActions:
    """What happens when a link is opened."""

    def __init__(self, step: StepActions, parts: LinkParts) -> None:
        self.step = step
        self.parts = parts
        self.waiting = gr.State(None)
        """what `rerun` runs"""

    def asked(self, event: gr.EventData) -> Updates:
        """Show what a link names: its tab, its recorded run, the methods it chooses, the values of other tabs."""
        parts, message = self.parts, self.parts.stage[3]
        updates: Updates = parts.tabs.opening(_text(event, "tab"))
        try:
            name = _text(event, "run")
            if name == SIMULATED:
                updates |= self._simulated(event)
            elif name:
                updates |= self._recorded(name, _text(event, "text"))
            if chosen := _text(event, "choose"):
                updates |= self._chosen(read_request(chosen))
            updates |= self._elsewhere(event)
        except SpecVizError as error:
            updates[message] = notices.message(str(error), "error")
        return updates | self._typed(event)

    def waits(self, event: gr.EventData, visitor: gr.Request) -> Updates:
        """Show what a link asks to run, and that it waits for the engine; or why it cannot be run."""
        parts, message = self.parts, self.parts.stage[3]
        try:
            asked = read_request(_text(event, "ask"))
            form = filling.asked_values(asked)
            limits = self.step.limits
            request = replace(request_from(form, self.step.catalog, limits), dtype=asked.dtype)
            elsewhere = self._elsewhere(event)
        except SpecVizError as error:
            return {message: notices.message(str(error), "error"), self.waiting: None, **self._typed(event)}
        tab = _text(event, "tab")
        _, run, stop = self.step.arm(visitor)
        return {
            **parts.tabs.opening(tab if is_tab(tab) else WATCH),
            message: notices.message(AGAIN, "busy"),
            parts.run: run,
            parts.stop: stop,
            **self._fill(asked),
            **elsewhere,
            **self._typed(event),
            self.waiting: Again(request, _text(event, "text")),
        }

    def rerun(self, again: Again | None, visitor: gr.Request) -> Iterator[Updates]:
        """Run what waits, and say whether its text is the link's."""
        shown = self.parts.running
        if again is None:
            yield {shown[0]: gr.skip()}
            return
        expected = again.text

        def said(frame: Frame) -> str:
            if frame.trace is None:
                return f"{AGAIN} {frame.message}"
            same = not expected or text_hash(frame.trace.finished.text) == expected
            return f"{frame.message} {SAME if same and expected else '' if same else OTHER}".rstrip()

        for update in self.step.run_again(again.request, visitor, said):
            yield dict(zip(shown, update, strict=True))

    def _typed(self, event: gr.EventData) -> Updates:
        """The prompt that the visitor had typed before the page was loaded anew, whatever the link fills in."""
        typed = _text(event, "typed")
        fits = bool(typed) and len(typed) <= self.step.limits.prompt_chars
        return {self.parts.form["prompt"]: typed} if fits else {}

    def _recorded(self, name: str, expected: str) -> Updates:
        """The recorded run of that name. Raises TraceError where there is none."""
        trace = self.step.gallery.read(f"{name}{SUFFIX}")
        remade = bool(expected) and text_hash(trace.finished.text) != expected
        said = shown_as(trace, self.step.gallery.comment(f"{name}{SUFFIX}"))
        shown = stage_of(trace, REMADE if remade else said)
        # Filled as the gallery fills it: methods that this page does not know stay out of its controls.
        values = filling.values_of(trace.started, self.step.catalog, self.step.limits)
        form = self._followed(trace.started.target.name, filling.by_control(values))
        return {**dict(zip(self.parts.stage, shown, strict=True)), **form}

    def _fill(self, request: RunRequest) -> Updates:
        """The request in the form."""
        return self._followed(request.target, filling.by_control(filling.asked_values(request)))

    def _chosen(self, request: RunRequest) -> Updates:
        """Its methods in the form; where the pair that the page opens on does not have them, its pair and a prompt of
        that too."""
        step = self.step
        methods = {GAMMA, *(kind.group for kind in kinds(step.catalog))}
        held = filling.by_control(filling.asked_values(request))
        kept = {name: value for name, value in held.items() if name in methods or "." in name}
        opening = pair_of(step.catalog, step.opening_target)
        if opening is None or request.drafter.name in opening.drafters:
            return {self.parts.form[name]: value for name, value in kept.items() if name in self.parts.form}
        models = {name: held[name] for name in ("target", "drafter_model", "chat")}
        prompt = for_target(step.catalog, request.target).prompts[0].text
        return self._followed(request.target, {**kept, **models, "prompt": prompt})

    def _followed(self, target: str, held: Mapping[str, Any]) -> Updates:
        """Values of the form by name, and every list as it is for the target."""
        fitting = {name: value for name, value in held.items() if name in self.parts.form}
        answer = Following(self.step.catalog, self.step.gallery).answer(target, fitting)
        return {self.parts.form[name]: update for name, update in answer.items() if name in self.parts.form}

    def _simulated(self, event: gr.EventData) -> Updates:
        """The simulated run of the link's values for the tab that makes such runs, drawn again from its seed."""
        chosen = _text(event, "set")
        values = unpack(chosen) if chosen else {}
        for tab in self.parts.kept:
            if tab.simulated is not None:
                given = values.get(tab.tab, {}) if isinstance(values, dict) else {}
                shown = tab.simulated(tab.fitting(given) if isinstance(given, dict) else {})
                return dict(zip(self.parts.stage, shown, strict=True))
        return {}

    def _elsewhere(self, event: gr.EventData) -> Updates:
        """What a link shows in other tabs: the page of a method, the values of their controls."""
        updates: Updates = {}
        if (doc := _text(event, "doc")) and self.parts.document is not None:
            shown, text_of = self.parts.document
            updates[shown] = gr.Markdown(text_of(doc), visible=True)
        if what := _text(event, "what"):  # links of earlier releases
            updates |= self._kept({"what-if": unpack(what)})
        if chosen := _text(event, "set"):
            updates |= self._kept(unpack(chosen))
        return updates

    def _kept(self, values: object) -> Updates:
        """The controls of every tab that the link has values for."""
        if not isinstance(values, dict) or not all(isinstance(value, dict) for value in values.values()):
            raise TraceError("this link's values cannot be read; ask for a new one.")
        updates: Updates = {}
        for kept in self.parts.kept:
            updates |= kept.filled(renamed(values.get(kept.tab, {})))
        return updates


def _text(event: gr.EventData, name: str) -> str:
    value = carried(event, name)
    return value if isinstance(value, str) else ""


def wire_links(step: StepActions, recorded: Mapping[str, str], parts: LinkParts) -> Address:
    """Put the page's address into the current Blocks. `recorded`: as `recorded_names` finds them."""
    actions = LinkActions(step, parts)
    address = Address(recorded)
    address.asked(actions.asked, None, parts.outputs(), **QUIET)
    waits = address.rerun(actions.waits, None, [*parts.outputs(), actions.waiting], **QUIET)
    again = waits.then(actions.rerun, actions.waiting, parts.running, **ENGINE)
    again.failure(step.turned_away, None, [parts.stage[3], parts.run, parts.stop], **QUIET)
    for kept in parts.kept:
        kept.follow()
    return address
