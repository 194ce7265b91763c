"""The race as a gradio component: a frame around `assets/js/page/race.js`.

The value is JSON text as `specviz.app.race.view.race_json` writes it; an empty text shows an empty stage.
"""

from __future__ import annotations

from typing import Any

import gradio as gr

TEMPLATE = '<div class="sv-player sv-race"></div>'
"""fixed: whatever stood here from the data would be evaluated"""
ON_LOAD = "SpecViz.mountRace(element, props, watch);"


class RaceStage(gr.HTML):
    """Replays a recorded race in the browser."""

    def __init__(self, value: str = "", **settings: Any) -> None:
        super().__init__(
            value, html_template=TEMPLATE, css_template="", js_on_load=ON_LOAD, apply_default_css=False, **settings
        )

    def api_info(self) -> dict[str, Any]:
        return {"type": "string", "description": "a race as JSON text"}
