"""One self-contained HTML file with the player and a trace in it: for export, offline use, notebooks and tests.

The file may not fetch anything: its own policy forbids it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import escape
from typing import Any

from specviz.app.components.scripts import FRAME, scripts, styles

Moment = Mapping[str, int | str | None]
"""{round, beat, node} as the player counts: the first round is 0, and `end` is the round's last token"""
MOST_CHARACTERS = 20_000_000
"""of a trace in a notebook's output: the notebook's file holds it once more"""
HEIGHT = 900
"""of the player in a notebook, in pixels"""


def standalone_html(trace_json: str, moment: Moment | None = None, lesson: Mapping[str, Any] | None = None) -> str:
    """A page that shows the trace, opened at `moment` and with the player of `lesson` where they are given.

    `trace_json` may hold any text: no `<` of it reaches the HTML parser.
    """
    parts = {
        "styles": styles(),
        "scripts": scripts(),
        "trace": _quoted(trace_json),
        "moment": _quoted(_json(moment)),
        "lesson": _quoted(_json(lesson)),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], FRAME)


def notebook_html(trace_json: str) -> str | None:
    """The same as a frame inside a notebook's output, cut off from the notebook; None where the trace is too large."""
    if len(trace_json) > MOST_CHARACTERS:
        return None
    look = f"width:100%;height:{HEIGHT}px;border:0"
    page = escape(standalone_html(trace_json), quote=True)
    return f'<iframe srcdoc="{page}" sandbox="allow-scripts allow-downloads" style="{look}" title="SpecViz"></iframe>'


def _json(value: Mapping[str, Any] | None) -> str:
    """As the browser writes it."""
    return json.dumps(dict(value) if value else None, separators=(",", ":"), ensure_ascii=False)


def _quoted(text: str) -> str:
    return text.replace("<", "\\u003c")
