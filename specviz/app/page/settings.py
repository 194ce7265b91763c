"""How the page is served: address, looks, limits. One place for the command line and the tests.

Local by default and quiet: no telemetry, no run history, nothing fetched from outside.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any

from starlette.middleware import Middleware

from specviz.app.components.scripts import head
from specviz.app.endpoints import mcp_installed
from specviz.app.form.request import Limits
from specviz.app.look.theme import page_theme
from specviz.app.page.door import Door
from specviz.app.page.policy import CompressedDocument, Policy
from specviz.app.page.uploaded import Uploads
from specviz.resources import asset_path, read_text

LEVEL = 6
"""of gzip: higher takes longer and saves one per cent"""


def on_a_space(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether this process runs as a Hugging Face Space."""
    return bool(environment.get("SPACE_ID"))


def address(environment: Mapping[str, str] = os.environ) -> str:
    """Where the page listens unless it is told otherwise. On a Space the server must listen on every address."""
    return "0.0.0.0" if on_a_space(environment) else "127.0.0.1"


def is_public(host: str | None = None, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether strangers may come: the page listens on more than this machine alone, or a tier is set for it, as it is
    for one that stands behind a proxy."""
    return bool(environment.get("SPECVIZ_TIER")) or not _is_loopback(host or address(environment))


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:  # a name: what it stands for is the resolver's to say, but for this one
        return host == "localhost"


def launch_settings(limits: Limits, environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Keyword arguments for `Blocks.launch`."""
    return {
        "server_name": address(environment),
        "share": False,  # else a variable of Gradio's opens a tunnel
        "theme": page_theme(),
        "head": head() + page_style(),
        "max_file_size": limits.zip_bytes,
        "footer_links": [],
        "run_history": False,
        "ssr_mode": False,
        "show_error": True,
        "state_session_capacity": 200,
        "mcp_server": mcp_installed(),
        "app_kwargs": {
            "middleware": [
                Middleware(Uploads, largest=limits.import_bytes, behind_proxy=on_a_space(environment)),
                Middleware(Policy, on_a_space=on_a_space(environment)),
                Middleware(Door),
                Middleware(CompressedDocument, compresslevel=LEVEL),
            ]
        },
    }


def page_style() -> str:
    """The page's own style sheet; in the head, because Gradio loses the media rules of what it is given as CSS."""
    return f"<style>\n{read_text(asset_path('css', 'page.css'))}</style>\n"
