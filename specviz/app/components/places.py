"""HTML with buttons that open the player somewhere: their presses come to the server as one event.

The value is finished HTML, escaped by whoever wrote it.
"""

from __future__ import annotations

from typing import Any

import gradio as gr

ON_LOAD = """
element.addEventListener("click", (event) => {
  const at = event.target.closest("[data-open]");
  if (!at) return;
  const { run, round, node, found } = at.dataset;
  trigger("opened", { run, round: Number(round), node: node ? Number(node) : null, found: !!found });
});
"""
"""events are found by their name in this text; `opened` carries {run, round, node, found}"""


class Places(gr.HTML):
    """Listener: `opened` (a button with `data-open` was pressed)."""

    def __init__(self, value: str = "", **settings: Any) -> None:
        super().__init__(value, js_on_load=ON_LOAD, **settings)

    def api_info(self) -> dict[str, Any]:
        return {"type": "string", "description": "HTML"}
