"""`specviz list`: drafters, verifiers, models and prompts to choose from.

Place in the flow: prints a `Catalog`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from specviz.cli.commands.run import own_flags
from specviz.cli.method_flags import flag_of, option_help
from specviz.cli.sources import live_source
from specviz.cli.terminal import Terminal, out, printable
from specviz.protocol.runs import MethodDescription, ModelDescription, PromptCard

KINDS = ("drafters", "tree_policies", "stop_policies", "verifiers", "models", "prompts")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", nargs="?", choices=KINDS, help="show these alone (default: all)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    catalog = live_source().catalog()
    kinds = [args.kind] if args.kind else list(KINDS)
    if args.json:
        out().line(json.dumps({kind: [asdict(item) for item in getattr(catalog, kind)] for kind in kinds}))
        return 0
    terminal = out()
    for number, kind in enumerate(kinds):
        if len(kinds) > 1:
            terminal.line(("\n" if number else "") + terminal.paint(kind, "bold"))
        for item in getattr(catalog, kind):
            SHOWN[kind](terminal, item)
    return 0


def _method(role: str, terminal: Terminal, item: MethodDescription) -> None:
    marks = ("" if item.lossless else " [lossy]") + (" [temperature 0 alone]" if item.temperatures == "zero" else "")
    marks += "" if item.deployable else " [upper bound, cannot be deployed]"
    terminal.line(f"{terminal.paint(f'{item.name:<14}', 'accepted')} {printable(item.summary, keep='')}{marks}")
    for option in item.options:
        terminal.line(f"    {flag_of(role, option.name, own_flags()):<14} {printable(option_help(option), keep='')}")


def _model(terminal: Terminal, item: ModelDescription) -> None:
    state = "" if item.available else " [not here yet; `specviz train` makes it]"
    name = terminal.paint(f"{printable(item.name, keep=''):<14}", "accepted")
    terminal.line(f"{name} {item.role}, {item.parameters:,} parameters: {printable(item.summary, keep='')}{state}")


def _prompt(terminal: Terminal, item: PromptCard) -> None:
    text = printable(f"{item.family:<10} {item.title}: {item.description}", keep="")
    terminal.line(f"{terminal.paint(f'{item.id:<26}', 'accepted')} {text}")


SHOWN: Mapping[str, Callable[[Terminal, Any], None]] = {
    "drafters": partial(_method, "drafter"),
    "tree_policies": partial(_method, "tree_policy"),
    "stop_policies": partial(_method, "stop_policy"),
    "verifiers": partial(_method, "verifier"),
    "models": _model,
    "prompts": _prompt,
}
