"""What a class asks of the page, as chips under the player: each fills the controls and runs, with a line on what to
look for. And a prompt outside the small world of the bundled models: said kindly, with three prompts that work.

    chip ─► the line ─► per step: the controls filled ─► the run ─► beside the run before
                    └► no engine behind the page: the recording that answers it, or why there is none

    run ─► the source says how surprising the prompt was to the target ─► above what its own world is ─► the sentence

Only for the bundled target: what a large model finds surprising says nothing about what it can do. Lays out and
answers; how a run is made and shown is the tab's own business (`actions`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.components import Component

from specviz.app.look import notices
from specviz.app.look.events import Answer
from specviz.app.runs.deferred import DeferredSource
from specviz.app.runs.gallery import SUFFIX
from specviz.app.step.actions import StepActions, Updates
from specviz.app.step.asked import QUESTIONS, Question, Values
from specviz.app.step.controls import Controls
from specviz.app.step.filling import by_control
from specviz.app.step.opening import OpeningActions
from specviz.app.step.pairs import is_asked, question_name
from specviz.errors import SpecVizError
from specviz.protocol.pairs import pair_of
from specviz.protocol.runs import Catalog, RunRequest, Surprised, TraceSource

NO_RECORDING = "The engine behind this page did not load, and no recorded run answers this: {line}"
NO_ENGINE = "The engine behind this page did not load; this run was recorded. {line}"
ANY_MODEL = (
    "SmolLM2-135M-Instruct stands under the bar as a pair of its own. For any other choose Settings, Models: type a "
    "folder, or a hub name such as HuggingFaceTB/SmolLM2-360M-Instruct, as target model; where both have one "
    "vocabulary a smaller relative of it drafts, and any drafter without a model does. In a terminal: "
    "specviz run --target FOLDER --chat."
)
OWN_MODELS_ONLY = (
    "A public page runs the models that it lists alone; on a machine of yours specviz app takes any folder or hub name "
    "as target model (Settings, Models), and so does specviz run --target FOLDER --chat."
)


@dataclass(frozen=True, slots=True)
class QuestionParts:
    """The chips and the line below them."""

    chips: Sequence[tuple[Question, gr.Button]]
    line: gr.HTML

    def named(self) -> dict[str, gr.Button]:
        """The chips, which follow the pair, by name."""
        return {question_name(question.label): chip for question, chip in self.chips}


def question_chips(catalog: Catalog, target: str) -> QuestionParts:
    """Build them inside the current Blocks: those whose drafters there are, in sight where the target's pair has
    them."""
    known, pair = {method.name for method in catalog.drafters}, pair_of(catalog, target)
    asked = [question for question in QUESTIONS if question.drafters <= known]
    with gr.Row(elem_classes="sv-actions sv-questions", elem_id="sv-questions"):
        gr.HTML('<span class="sv-note">What happens with …</span>', min_width=0, elem_classes="sv-ask")
        chips = [(question, _chip(question.label, is_asked(pair, question))) for question in asked]
    return QuestionParts(chips, gr.HTML("", elem_id="sv-question-line"))


def _chip(label: str, visible: bool) -> gr.Button:
    return gr.Button(label, size="sm", min_width=80, scale=0, visible=visible, elem_classes="sv-chip")


@dataclass(frozen=True, slots=True)
class QuestionActions:
    """Answers of the chips over the tab's own actions."""

    step: StepActions
    opens: OpeningActions
    controls: Controls

    def can_run(self) -> bool:
        """Whether an engine is there, or on its way."""
        return not (isinstance(self.step.source, DeferredSource) and self.step.source.failed)

    def said(self, question: Question) -> str:
        """The line, as HTML."""
        line = question.line or (ANY_MODEL if self.step.limits.any_model else OWN_MODELS_ONLY)
        if question.steps and not self.can_run():
            line = (NO_ENGINE if self._recorded(question) else NO_RECORDING).format(line=line)
        return notices.message(line)

    def _recorded(self, question: Question) -> str:
        """File of the recording, where the gallery has it; empty."""
        file = f"{question.recording}{SUFFIX}"
        return file if any(card.file == file for card in self.step.gallery.cards) else ""

    def open_recording(self, question: Question) -> Callable[[], Answer]:
        """As `OpeningActions` answers; nothing where the chip runs, or no recording answers it."""

        def opened() -> Answer:
            file = "" if self.can_run() else self._recorded(question)
            return self.opens.open_recorded(file) if file else {}

        return opened

    def fill(self, changes: Values) -> Callable[[], Answer]:
        """The controls as the run will have them."""

        def filled() -> Answer:
            held: Mapping[str, Any] = by_control(changes) if self.can_run() else {}
            return {name: value for name, value in held.items() if name in self.controls.fields}

        return filled

    def arm(self, visitor: gr.Request) -> Updates:
        return self.step.arm(visitor) if self.can_run() else (gr.skip(),) * 3

    def turned_away(self, visitor: gr.Request) -> Updates:
        return self.step.turned_away(visitor)

    def run(self, changes: Values) -> Callable[..., Iterator[Updates]]:
        """The run of the controls' values with these changes, whatever of them the browser has filled in by now."""
        live = self.step.run_live(self.controls, changes)

        def start(given: Mapping[Component, Any], visitor: gr.Request) -> Iterator[Updates]:
            if self.can_run():
                yield from live(given, visitor)
            else:
                yield (gr.skip(),) * 6

        return start


# --- outside the small world -----------------------------------------------------------------------------------------


MOST = 4.0
"""nats per token. The prompts of the bundled set lie below (3.95 is the highest), questions of the wide world above,
but for a few: `tests/live/test_surprise.py` has both lists, and who is on the wrong side"""
SIGNS = frozenset("()[]{}=<>_;#\\")
"""a prompt with one of these is code or a table, which begins surprisingly wherever it is from: it is not judged"""
WORKING = ("story-once-upon-a-time-there-was-a", "facts-what-is-the-capital-of-france", "sums-346-183")
SENTENCE = (
    "This prompt is unlike anything these two small models have learnt, so their text means little. They "
    "know a small world (short stories, facts, sums, letters) and some Python. These work:"
)


@dataclass(frozen=True, slots=True)
class OutsideParts:
    """The sentence's row, and a button for each prompt that works."""

    row: gr.Row
    prompts: list[tuple[str, gr.Button]]


def outside_row(catalog: Catalog) -> OutsideParts:
    """Build it inside the current Blocks, out of sight."""
    texts = {card.id: card.text for card in catalog.prompts}
    with gr.Row(visible=False, elem_classes="sv-actions sv-outside", elem_id="sv-outside") as row:
        gr.HTML(notices.note(SENTENCE), min_width=240)
        known = [texts[name] for name in WORKING if name in texts]
        prompts = [(text, gr.Button(text, size="sm", min_width=80, elem_classes="sv-chip")) for text in known]
    return OutsideParts(row, prompts)


def is_outside(prompt: str, surprise: float | None) -> bool:
    """Whether the target was more surprised than by any prompt of its own world; of code and tables, never."""
    return surprise is not None and surprise > MOST and not SIGNS.intersection(prompt)


def looks_outside(source: TraceSource, controls: Controls) -> Callable[[Mapping[Any, Any]], gr.Row]:
    """After a run: the row, seen where its prompt lies outside."""

    def look(given: Mapping[Any, Any]) -> gr.Row:
        values = {name: given[controls.fields[name]] for name in ("prompt", "target", "chat", "scene")}
        prompt, usual = str(values["prompt"] or ""), RunRequest(prompt="").target
        own = values["target"] == usual and not values["chat"] and not values["scene"]
        if not own or not isinstance(source, Surprised) or SIGNS.intersection(prompt):
            return gr.Row(visible=False)
        try:
            return gr.Row(visible=is_outside(prompt, source.surprise(RunRequest(prompt=prompt))))
        except SpecVizError:  # the run itself has said what is wrong
            return gr.Row(visible=False)

    return look
