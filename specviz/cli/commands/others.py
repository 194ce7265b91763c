"""`specviz others`: show what every other drafter would have drafted at one round of a trace.

Place in the flow: reads a trace, asks the live engine for one round per drafter, prints a table. Labelled as a
counterfactual: the run is not changed, and one round says nothing about speed.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from specviz.cli.printed_run import TokenTexts, label
from specviz.cli.sources import live_source
from specviz.cli.terminal import MARKS, Terminal, out, printable, visible
from specviz.protocol.counterfactual import Other, candidates, others, riding_along
from specviz.theory.metrics import accepted_drafts, drafts

MOST_NODES = 24
"""nodes shown per draft; the rest is counted"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", metavar="TRACE", type=Path, help="a trace of these very models, .json or .json.gz")
    parser.add_argument("--round", type=int, metavar="N", default=0, help="the round to compare at (default 0)")
    parser.add_argument("--drafters", metavar="A,B,…", default="", help="these alone; without it, every drafter")
    parser.add_argument("--json", action="store_true", help="print one JSON object per drafter and line")


def run(args: argparse.Namespace) -> int:
    from specviz.trace import codec

    trace = codec.read(args.trace)
    names = [name.strip() for name in args.drafters.split(",") if name.strip()]
    terminal = out()
    heading = f"counterfactual at round {args.round}: the run is not changed; one round is no measure of speed"
    for index, other in enumerate(others(live_source(), trace, args.round, names)):
        if args.json:
            terminal.line(json.dumps(as_data(other)))
            continue
        if index == 0:
            terminal.line(heading)
        show(terminal, other)
    return 0


def as_data(other: Other) -> dict[str, object]:
    """What `--json` prints per drafter. Stable: keys are added, never renamed."""
    return {
        "drafter": other.drafter,
        "recorded": other.recorded,
        "reason": other.reason,
        "round": None if other.round is None else asdict(other.round),
    }


def show(terminal: Terminal, other: Other) -> None:
    """One drafter: how much it drafted and kept, its tree, and what the round would have committed."""
    name = f"{other.drafter}{' (this run)' if other.recorded else ''}"
    terminal.line()
    if other.round is None:
        terminal.line(f"{terminal.paint(name, 'bold')} · {printable(other.reason, keep='')}")
        return
    this, vocab = other.round, dict(other.vocab)
    drafted, accepted = len(drafts(this)), accepted_drafts(this)
    terminal.line(f"{terminal.paint(name, 'bold')} · {drafted} drafted, {accepted} accepted")
    for node in candidates(this)[:MOST_NODES]:
        line = f"{'  ' * node.depth}{MARKS[node.fate]} {visible(label(vocab, node.token))}"
        terminal.line(terminal.paint(line, node.fate))
    if drafted > MOST_NODES:
        terminal.line(f"  … and {drafted - MOST_NODES} more")
    if aside := riding_along(this):
        terminal.line(f"  {aside}")
    pieces = TokenTexts(vocab)
    text = "".join(pieces.next(item.token) for item in this.committed.tokens) + pieces.rest()
    terminal.line(f"  = {terminal.paint(visible(text), 'bold')}")
