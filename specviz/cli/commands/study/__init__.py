"""`specviz study`: run a study whose result is shipped and shown on the page.

Place in the flow: each study is a module of this folder with a SUMMARY, `configure` and `run`.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from types import ModuleType


def studies() -> list[str]:
    """The modules of this folder, as they are typed."""
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__))


def configure(parser: argparse.ArgumentParser) -> None:
    chosen = parser.add_subparsers(dest="study", metavar="STUDY", required=True)
    for name in studies():
        module = _module(name)
        summary: str = module.SUMMARY
        description = summary[0].upper() + summary[1:] + "."
        module.configure(chosen.add_parser(name, help=summary, description=description, allow_abbrev=False))


def run(args: argparse.Namespace) -> int:
    return int(_module(args.study).run(args))


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
