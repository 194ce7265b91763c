"""The Learn button: the lessons resolved against the gallery's runs, and what shows a lesson's run in the player.

Everything else happens in `assets/js/lesson.js`, which drives the player by its handle.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import gradio as gr
from gradio.components import Component

from specviz.app.page.events import QUIET
from specviz.app.parts.gallery import Gallery
from specviz.lessons.lesson import read
from specviz.lessons.resolve import Read, lessons_json

TEMPLATE = '<div class="sv-learn-box"></div>'
"""fixed: whatever stood here from the data would be evaluated"""
ON_LOAD = (
    "SpecViz.mountLearn(element.querySelector('.sv-learn-box'), "
    "{ data: props.value, load: (file) => trigger('lesson', { file }) });"
)
"""events are found by their name in this text; `lesson` carries the file of a recorded run"""


class Learn(gr.HTML):
    """The button with the list of lessons behind it. Listeners: `lesson` (a lesson wants a recorded run shown)."""

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
    return json.dumps(lessons_json(read(), traces), separators=(",", ":"))


def wire_learn(
    learn: Learn, open_recorded: Callable[[str | None], Any], tabs: gr.Tabs, stage: Sequence[Component]
) -> None:
    """A lesson's run goes the way of every recorded run, so that the rest of the page knows what is shown.

    `open_recorded` returns what the components of `stage` become.
    """

    def show(event: gr.EventData) -> Any:
        return gr.Tabs(selected="step"), *open_recorded(str(event.file))

    learn.lesson(show, None, [tabs, *stage], **QUIET)
