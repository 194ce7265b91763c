"""The Learn tab: the lessons as cards, each of which begins its lesson beside the player, and what shows a lesson's
run.

Lessons are resolved here against the gallery's recorded runs. The cards are drawn in the browser, where the lessons are
played and what was done is remembered (`assets/js/page/lesson.js`, which drives the player by its handle).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import gradio as gr
from gradio.components import Component

from specviz.app.components.framed import Learn, LessonCards
from specviz.app.look import notices
from specviz.app.look.events import QUIET, latest, sent, sent_texts
from specviz.app.runs.gallery import Gallery
from specviz.app.runs.stage import stage_of
from specviz.app.step.tab import TAB as WATCH_TAB
from specviz.app.tab import WATCH, Page, Tab
from specviz.errors import TraceError
from specviz.lessons.lesson import FOLDER, read_lesson
from specviz.lessons.resolve import Read, lessons_json
from specviz.resources import without
from specviz.trace import codec

TITLE = (
    "Short lessons, in order. Each plays next to the player in *Watch*, asks questions, and goes on where you left off."
)
MOST_FILES = 8
"""texts sent at once"""


def lessons_of(gallery: Gallery) -> str:
    """All lessons as JSON text, resolved against the gallery's runs."""
    traces: Mapping[str, Read] = {card.file: partial(gallery.read, card.file) for card in gallery.cards}
    lessons = (without(path, read_lesson, None) for path in sorted(FOLDER.glob("*.toml")))
    return json.dumps(lessons_json([lesson for lesson in lessons if lesson is not None], traces), separators=(",", ":"))


def texts_of(gallery: Gallery, files: Sequence[str]) -> str:
    """Recorded runs as JSON text: {"texts": {file: trace}}. Raises TraceError for a file that is not in the gallery."""
    return json.dumps({"texts": {file: codec.dumps(gallery.read(file)) for file in files[:MOST_FILES]}})


def wire_learn(learn: Learn, gallery: Gallery, tabs: gr.Tabs, stage: Sequence[Component]) -> None:
    """A lesson's run becomes the value of the player like any other, so that the rest of the page knows what is shown.

    `stage`: the Watch tab's player, badges, panels and message.
    """

    def show(event: gr.EventData) -> Any:
        try:
            trace = gallery.read(sent(event, "file", str))
        except TraceError as error:
            return gr.skip(), gr.skip(), gr.skip(), gr.skip(), notices.message(str(error), "error")
        return gr.Tabs(selected=WATCH), *stage_of(trace)

    def texts(event: gr.EventData) -> Any:
        try:
            return texts_of(gallery, sent_texts(event, "files"))
        except TraceError:  # the page asked for a run that was taken away; its player says so when it is shown
            return gr.skip()

    # Of two runs asked for in quick succession the second must come: `once`, gradio's default, would drop it.
    learn.lesson(show, None, [tabs, *stage], **latest())
    learn.texts(texts, None, learn, **QUIET)


def learn_tab() -> None:
    """Build the tab's content inside the current Blocks."""
    gr.Markdown(TITLE, elem_classes="sv-intro")
    LessonCards(elem_id="sv-lessons")


def _connect(page: Page) -> None:
    wire_learn(page.actions(TAB), page.gallery, page.front, page.parts(WATCH_TAB).stage())


TAB = Tab(
    "learn",
    "Learn",
    "front",
    2,
    lambda page: Learn(lessons_of(page.gallery)),
    lambda page, place, learn: learn_tab(),
    _connect,
)
