"""Puts the named endpoints on the page, in the engine's lane where they compute; says whether they are MCP tools."""

from __future__ import annotations

from importlib.util import find_spec

from gradio.events import api

from specviz.app.endpoints.answers import Answers

LANE = {"concurrency_id": "engine", "concurrency_limit": 1}
"""as `page.events.ENGINE`, and public: two runs at once would spoil each other's times"""


def named_endpoints(answers: Answers) -> None:
    """`/catalogue`, `/run`, `/check` and `/sweep`, inside the current Blocks."""
    api(answers.catalogue, api_name="catalogue", queue=False)
    api(answers.run, api_name="run", **LANE)
    api(answers.check, api_name="check", concurrency_limit=2)
    api(answers.sweep, api_name="sweep", **LANE)


def mcp_installed() -> bool:
    """Whether the extra is there that gradio serves MCP with (`pip install 'specviz[mcp]'`)."""
    return find_spec("mcp") is not None
