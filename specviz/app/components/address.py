"""The page's address as a gradio component: what a link names comes to the server, once on opening and whenever it
changes.

What is written into the address is written in the browser (`assets/js/player/address.js`), while stepping.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import gradio as gr

TEMPLATE = '<div class="sv-recordings" hidden></div>'
ON_LOAD = """
SpecViz.named(JSON.parse(props.value || "{}"));
SpecViz.followTabs();
SpecViz.openLinks((fields) => {
  const again = fields.ask && !fields.run;
  if (again) trigger("rerun", fields);
  else trigger("asked", fields);
});
"""
"""events are found by their names in this text: `asked` for what is there already, `rerun` for a run to be made again;
both carry the fields of `docs/links.md`"""


class Address(gr.HTML):
    """Invisible. `recorded`: run id → the name by which links call that recorded run."""

    def __init__(self, recorded: Mapping[str, str], **settings: Any) -> None:
        super().__init__(
            json.dumps(dict(recorded)), html_template=TEMPLATE, css_template="", js_on_load=ON_LOAD,
            apply_default_css=False, elem_classes="sv-address", **settings,
        )  # fmt: skip

    def api_info(self) -> dict[str, Any]:
        return {"type": "string", "description": "names of recorded runs by run id, as JSON text"}
