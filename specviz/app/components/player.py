"""The player as a gradio component: a frame around the scripts in `assets/js`.

The value is the JSON text of a trace, or of one still being computed (`finished` null, every round so far); an empty
text shows an empty stage. It is a text and not an object because gradio compares objects key by key on each update.
"""

from __future__ import annotations

from typing import Any

import gradio as gr

TEMPLATE = '<div class="sv-player"></div>'
"""fixed: whatever stood here from the data would be evaluated"""
ON_LOAD = "SpecViz.mount(element, props, watch, (data) => trigger('branch', data));"
"""events are found by their name in this text; `branch` carries {round, node, token}"""


class Player(gr.HTML):
    """Steps through one run. Listeners: `branch` (continue from a round with a token of the visitor's choice)."""

    def __init__(self, value: str = "", **settings: Any) -> None:
        super().__init__(
            value, html_template=TEMPLATE, css_template="", js_on_load=ON_LOAD, apply_default_css=False, **settings
        )

    def api_info(self) -> dict[str, Any]:
        return {"type": "string", "description": "a trace as JSON text"}
