"""A draft's shape drawn by hand, as a gradio component: a frame around `assets/js/drawing.js`.

The value is the list of paths as text, whatever it says; who holds the field keeps the two alike.
"""

from __future__ import annotations

from typing import Any

import gradio as gr

TEMPLATE = '<div class="sv-drawing"></div>'
"""fixed: whatever stood here from the data would be evaluated"""
ON_LOAD = """
SpecViz.mountDrawing(element, props, watch, (text) => { props.value = text; trigger("drawn"); });
"""
"""events are found by their name in this text; after `drawn` the value is what was drawn"""


class Drawing(gr.HTML):
    """A tree whose nodes are pressed to add a child or to remove a leaf. Listener: `drawn`."""

    def __init__(self, value: str = "", **settings: Any) -> None:
        super().__init__(
            value, html_template=TEMPLATE, css_template="", js_on_load=ON_LOAD, apply_default_css=False, **settings
        )

    def api_info(self) -> dict[str, Any]:
        return {"type": "string", "description": "a list of paths, such as 0; 1; 0,0"}
