"""Starts the page: the same as `specviz app`, under the name that a Space looks for."""

from __future__ import annotations

import sys

from specviz.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["app", *sys.argv[1:]]))
