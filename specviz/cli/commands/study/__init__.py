"""`specviz study`: run a study whose result is shipped and shown on the page.

Place in the flow: each study is a module of this folder with a SUMMARY, `configure` and `run`.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil


def studies() -> list[str]:
    """The modules of this folder."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def configure(parser: argparse.ArgumentParser) -> None:
    chosen = parser.add_subparsers(dest="study", metavar="STUDY", required=True)
    for name in studies():
        module = importlib.import_module(f"{__name__}.{name}")
        summary: str = module.SUMMARY
        description = summary[0].upper() + summary[1:] + "."
        module.configure(chosen.add_parser(name, help=summary, description=description, allow_abbrev=False))


def run(args: argparse.Namespace) -> int:
    return int(importlib.import_module(f"{__name__}.{args.study}").run(args))
