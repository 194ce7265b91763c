"""The picture of a scene as a gradio component: a frame around `assets/js/panels/picture.js`.

The value is JSON text, a list of shapes as a trace's header holds them; an empty text shows nothing.
"""

from __future__ import annotations

from typing import Any

import gradio as gr

TEMPLATE = '<div class="sv-scene"></div>'
"""fixed: whatever stood here from the data would be evaluated"""
ON_LOAD = "SpecViz.mountScene(element, props, watch);"


class ScenePicture(gr.HTML):
    """Draws one picture."""

    def __init__(self, value: str = "", **settings: Any) -> None:
        super().__init__(
            value, html_template=TEMPLATE, css_template="", js_on_load=ON_LOAD, apply_default_css=False, **settings
        )

    def api_info(self) -> dict[str, Any]:
        return {"type": "string", "description": "a list of shapes as JSON text"}
