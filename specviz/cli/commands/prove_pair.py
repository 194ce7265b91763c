"""`specviz prove survivors`: what K-SEQ gains by keeping the surviving drafts, measured on the bundled pair.

Place in the flow: runs through the live source, prints a table or JSON. Knows nothing about how a rule judges.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from specviz.cli.parts.progress import bar
from specviz.cli.parts.sources import live_source
from specviz.cli.parts.terminal import out
from specviz.errors import OptionError


def survivors_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--drafts", type=int, default=4, metavar="K", help="independent drafts per round (default %(default)s)")
    add("--levels", type=int, default=4, metavar="N", help="tokens per draft (default %(default)s)")
    add("--temperature", type=float, default=0.8, metavar="T", help="above 0 (default %(default)s)")
    add("--seeds", type=int, default=3, metavar="N", help="runs per prompt, with seeds 0, 1, … (default %(default)s)")
    add("--tokens", type=int, default=64, metavar="N", help="tokens per run (default %(default)s)")
    add("--json", action="store_true", help="print one JSON object")


def survivors(args: argparse.Namespace) -> int:
    from specviz.bench.trees.survivors import measure, request

    for name in ("drafts", "levels", "seeds", "tokens"):
        if getattr(args, name) < 1:
            raise OptionError(f"--{name} is {getattr(args, name)}, but must be at least 1.")
    source = live_source()
    prompts = source.catalog().prompts
    asked = request(args.drafts, args.levels, args.temperature, args.tokens)
    with bar(2 * len(prompts) * args.seeds, "runs") as shown:
        found = measure(source, asked, prompts, range(args.seeds), shown.update)
    if args.json:
        out().line(json.dumps([asdict(one) for one in found]))
        return 0
    for one in found:
        name = "surviving drafts go on" if one.survivors else "the accepted node's own go on"
        value, low, high = one.per_round
        out().line(f"{name:<30} {value:.3f} [{low:.3f}–{high:.3f}] accepted per round, {one.rounds} rounds")
    return 0
