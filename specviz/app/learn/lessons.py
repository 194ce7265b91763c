"""The lessons behind the page: resolved against the gallery's runs, and what shows a lesson's run in the player.

Everything else happens in `assets/js/page/lesson.js`, which drives the player by its handle.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import gradio as gr
from gradio.components import Component

from specviz.app.look import notices
from specviz.app.look.events import LATEST, QUIET
from specviz.app.look.sent import sent, sent_texts
from specviz.app.runs.gallery import Gallery
from specviz.app.step.actions import stage_of
from specviz.app.tab import WATCH
from specviz.errors import TraceError
from specviz.lessons.lesson import FOLDER, read_lesson
from specviz.lessons.resolve import Read, lessons_json
from specviz.resources import without
from specviz.trace import codec

TEMPLATE = '<div class="sv-learn-box" hidden></div>'
"""fixed: whatever stood here from the data would be evaluated"""
ON_LOAD = (
    "const learn = SpecViz.mountLearn(element.querySelector('.sv-learn-box'), { data: props.value, button: false, "
    "load: (file) => trigger('lesson', { file }), gather: (files) => trigger('texts', { files }) });"
    "watch('value', () => learn.keep(props.value));"
)
"""events are found by their name in this text; `lesson` carries the file of a recorded run that is to be shown, `texts`
files whose texts are wanted, so that an exported file can hold a whole lesson"""
MOST_FILES = 8
"""texts sent at once"""


class Learn(gr.HTML):
    """Nothing to see: what plays lessons stands outside the tabs, whose content is mounted when they are first opened;
    `learn.tab` shows the list. Listeners: `lesson` (it wants a recorded run shown) and
    `texts` (it wants runs as text, to be answered by the value)."""

    def __init__(self, value: str, **settings: Any) -> None:
        """`value`: what `lessons_of` returns."""
        super().__init__(
            value, html_template=TEMPLATE, css_template="", js_on_load=ON_LOAD, apply_default_css=False, **settings
        )

    def api_info(self) -> dict[str, Any]:
        return {"type": "string", "description": "resolved lessons as JSON text"}


def lessons_of(gallery: Gallery) -> str:
    """All lessons as JSON text, resolved against the gallery's runs."""
    traces: Mapping[str, Read] = {card.file: partial(gallery.read, card.file) for card in gallery.cards}
    lessons = (without(path, read_lesson, None) for path in sorted(FOLDER.glob("*.toml")))
    return json.dumps(lessons_json([one for one in lessons if one is not None], traces), separators=(",", ":"))


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
    learn.lesson(show, None, [tabs, *stage], **LATEST)
    learn.texts(texts, None, learn, **QUIET)
