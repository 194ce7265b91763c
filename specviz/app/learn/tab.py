"""The Learn tab: the lessons as cards, each of which begins its lesson beside the player.

The cards are drawn in the browser, where the lessons are played and what was done is remembered
(`assets/js/page/lesson.js`).
"""

from __future__ import annotations

from typing import Any

import gradio as gr

from specviz.app.learn.lessons import Learn, lessons_of, wire_learn
from specviz.app.step.tab import TAB as WATCH_TAB
from specviz.app.tab import Page, Tab

TITLE = (
    "Short lessons, in order. Each plays beside the picture in *Watch*, with questions, and goes on where you left it."
)
TEMPLATE = '<div class="sv-lessons"></div>'
ON_LOAD = "SpecViz.showLessons(element.querySelector('.sv-lessons'));"


class LessonCards(gr.HTML):
    """The list of lessons."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(
            "", html_template=TEMPLATE, css_template="", js_on_load=ON_LOAD, apply_default_css=False, **settings
        )

    def api_info(self) -> dict[str, Any]:
        return {"type": "string", "description": "nothing: the cards are drawn in the browser"}


def learn_tab() -> None:
    """Build the tab's content inside the current Blocks."""
    gr.Markdown(TITLE, elem_classes="sv-intro")
    LessonCards(elem_id="sv-lessons")


def _connect(page: Page) -> None:
    wire_learn(page.actions(TAB), page.gallery, page.front, page.parts(WATCH_TAB).stage())


TAB = Tab("learn", "Learn", "front", 2, lambda page: Learn(lessons_of(page.gallery)),
          lambda page, place, learn: learn_tab(), _connect)  # fmt: skip
