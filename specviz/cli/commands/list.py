"""`specviz list`: what `run` can be asked for, from the same catalog that draws the page's controls.

Place in the flow: prints a `Catalog`. Knows nothing about how runs work.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from specviz.cli.parts.sources import live_source
from specviz.cli.parts.summary import option_text
from specviz.cli.parts.terminal import Terminal, out, printable
from specviz.protocol.runs import MethodDescription, ModelDescription, OptionCard, PromptCard

KINDS = ("drafters", "growths", "stoppings", "verifiers", "models", "prompts")


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


def _method(terminal: Terminal, item: MethodDescription) -> None:
    marks = ("" if item.lossless else " [lossy]") + (" [temperature 0 alone]" if item.temperatures == "zero" else "")
    marks += "" if item.deployable else " [upper bound, cannot be deployed]"
    terminal.line(f"{terminal.paint(f'{item.name:<14}', 'accepted')} {printable(item.summary, keep='')}{marks}")
    for option in item.options:
        terminal.line(f"    --{option.name.replace('_', '-'):<12} {printable(option_help(option), keep='')}")


def option_help(option: OptionCard) -> str:
    """Help, legal values and default of an option in one line."""
    limits = []
    if option.choices:
        limits.append("one of " + ", ".join(option.choices))
    if option.minimum is not None or option.maximum is not None:
        low = "" if option.minimum is None else f"{option.minimum:g}"
        high = "" if option.maximum is None else f"{option.maximum:g}"
        limits.append(f"{low}…{high}")
    if option.default is not None:
        limits.append(f"default {option_text(option.default) or 'none'}")
    return f"{option.help} ({'; '.join(limits)})" if limits else option.help


def _model(terminal: Terminal, item: ModelDescription) -> None:
    state = "" if item.available else " [not here yet; `specviz train` makes it]"
    name = terminal.paint(f"{printable(item.name, keep=''):<14}", "accepted")
    terminal.line(f"{name} {item.role}, {item.parameters:,} parameters: {printable(item.summary, keep='')}{state}")


def _prompt(terminal: Terminal, item: PromptCard) -> None:
    text = printable(f"{item.family:<10} {item.title}: {item.description}", keep="")
    terminal.line(f"{terminal.paint(f'{item.id:<26}', 'accepted')} {text}")


SHOWN: Mapping[str, Callable[[Terminal, Any], None]] = {
    "drafters": _method,
    "growths": _method,
    "stoppings": _method,
    "verifiers": _method,
    "models": _model,
    "prompts": _prompt,
}
