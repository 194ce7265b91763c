"""Puts the named endpoints on the page, in the engine's lane where they compute; says whether they are MCP tools."""

from __future__ import annotations

from importlib.util import find_spec

from gradio.events import api

from specviz.app.endpoints.answers import Answers
from specviz.app.look.events import ENGINE

LANE = {name: ENGINE[name] for name in ("concurrency_id", "concurrency_limit")}
"""the engine's lane, for events that are public"""


def named_endpoints(answers: Answers) -> None:
    """`/catalogue`, `/run`, `/check` and `/sweep`, inside the current Blocks."""
    api(answers.catalogue, api_name="catalogue", queue=False)
    api(answers.run, api_name="run", **LANE)
    api(answers.check, api_name="check", concurrency_limit=2)
    api(answers.sweep, api_name="sweep", **LANE)


def mcp_installed() -> bool:
    """Whether the extra is there that gradio serves MCP with (`pip install 'specviz[mcp]'`)."""
    return find_spec("mcp") is not None
