"""`specviz train`: train the bundled models on the Python standard library.

Place in the flow: a name under `specviz`.
"""

from __future__ import annotations

import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    from specviz.training import command

    command.configure(parser)


def run(args: argparse.Namespace) -> int:
    from specviz.training import command

    return command.run(args)
