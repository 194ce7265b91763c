"""The player's scripts and styles as text: for the page's head, and for a file that stands alone.

Everything is inlined, so nothing is fetched and the same player runs from a folder, a Space or a notebook.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from specviz.app.components.frame import FRAME
from specviz.resources import asset_path
from specviz.trace.known_rules import declarations

SCRIPTS = (
    "declared.js", "bytes.js", "numbers.js", "state.js", "address.js", "bounds.js", "rejudge.js", "sibling_rules.js", "path_rules.js",
    "rules.js", "words.js", "dom.js", "light.js",
    "text.js", "tree.js", "bars.js", "card.js", "rejudging.js", "exhibits.js", "lanes.js", "transport.js", "qr.js", "exports.js", "share.js", "embed.js",
    "specviz.js",
    "charts.js", "replay.js", "race.js",
)  # fmt: skip
"""in the order in which they build on each other"""
STYLES = ("tokens.css", "player.css", "share.css", "race.css")


@cache
def scripts() -> str:
    """All scripts, joined, after what the verifiers declare of their rules."""
    return "\n".join([_declared(), *(asset_path("js", name).read_text(encoding="utf-8") for name in SCRIPTS)])


def _declared() -> str:
    """`assets/rules.json`, and the frame of a page that stands alone, as a script: no `<`, so that nothing in it can end
    the script element."""
    rules = json.dumps(declarations(), separators=(",", ":")).replace("<", "\\u003c")
    page = json.dumps(FRAME).replace("<", "\\u003c")
    return f"globalThis.SpecViz = {{ DECLARED: {rules}, FRAME: {page} }};"


@cache
def styles() -> str:
    """Colours and the player's looks; the page's own style sheet is not part of it."""
    return "\n".join(asset_path("css", name).read_text(encoding="utf-8") for name in STYLES)


def head() -> str:
    """For `launch(head=…)`: gradio rewrites the selectors of `css=`, a head it leaves alone."""
    return f"<style data-specviz>\n{styles()}</style>\n<script data-specviz>\n{scripts()}</script>\n"


def css_paths() -> list[Path]:
    """For `launch(css_paths=…)`: the page around the player."""
    return [asset_path("css", "page.css")]
