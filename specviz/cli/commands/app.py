"""`specviz app`: serves the page that `app.py` builds, at a host and port of one's choice.

Place in the flow: loads the repository's `app.py` by its place. Knows nothing about the page or the engine.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from types import ModuleType
from typing import Any

from specviz.errors import OptionError
from specviz.resources import ROOT


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", metavar="ADDRESS", help="listen there (default: this machine alone)")
    parser.add_argument("--port", type=int, metavar="N", help="listen on this port (default: the first free from 7860)")


def run(args: argparse.Namespace) -> int:
    if args.port is not None and not 0 < args.port < 65536:
        raise OptionError(f"--port is {args.port}, but must lie between 1 and 65535.")
    page = load_page()
    chosen: dict[str, Any] = {"server_name": args.host, "server_port": args.port}
    settings = page.launch_settings(page.LIMITS) | {name: value for name, value in chosen.items() if value is not None}
    try:
        page.demo.launch(prevent_thread_lock=True, **settings)
    except OSError as error:
        raise OptionError(f"cannot serve on port {args.port}: {error}; choose another --port.") from None
    page.source.start()
    page.demo.block_thread()
    return 0


def load_page() -> ModuleType:
    """`app.py` beside the assets folder. Raises OptionError where SpecViz is not run from its repository."""
    path = ROOT.parent / "app.py"
    if not path.is_file():
        raise OptionError("app.py is missing; `specviz app` runs from the repository (git clone, then `make app`).")
    spec = importlib.util.spec_from_file_location("app", path)
    assert spec is not None
    assert spec.loader is not None
    page = importlib.util.module_from_spec(spec)
    sys.modules["app"] = page
    spec.loader.exec_module(page)
    return page
