"""`specviz prove chat`: greedy texts of an instruct model, with every drafter, against `transformers.generate`.

Place in the flow: asks `bench.generated`, prints, keeps rows so that it can be stopped and gone on with, and writes the
table into docs/losslessness.md.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from specviz.bench.core.report import check_section, markdown_table, write_between
from specviz.bench.generated import Reference, Row, keep, kept, rows, spread, summaries
from specviz.cli.sources import live_source
from specviz.cli.terminal import out, printable, progress
from specviz.errors import OptionError
from specviz.lm.fetched import SMOLLM2, real_model
from specviz.protocol.pairs import pair_named
from specviz.protocol.runs import RunRequest
from specviz.resources import ROOT

PAGE, MARK = ROOT.parent / "docs" / "losslessness.md", "chat texts"
SURE = 0.001
"""logits: two tokens nearer than this may come out in another order by rounding alone"""


def flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--target", default=SMOLLM2.name, metavar="NAME", help="a model of `specviz get` (default %(default)s)")
    add("--drafters", metavar="A,B,…", help="these alone; without it, all that can draft for it")
    add("--prompts", type=int, default=20, metavar="N", help="of its own, family by family (default %(default)s)")
    add("--tokens", type=int, default=32, metavar="N", help="at most, of each text (default %(default)s)")
    add("--out", type=Path, metavar="FILE.json", help="keep every row here; rows that are there are not run again")
    add("--write", action="store_true", help="also put the table into docs/losslessness.md")
    add("--json", action="store_true", help="print the rows as JSON")


def run(args: argparse.Namespace) -> int:
    for name in ("prompts", "tokens"):
        if getattr(args, name) < 1:
            raise OptionError(f"--{name} is {getattr(args, name)}, but must be at least 1.")
    if args.write:
        check_section(PAGE, MARK)
    folder, source = real_model(args.target).fetched(), live_source(measure=False)
    pair = pair_named(source.catalog(), args.target)
    assert pair is not None, "every real model is a pair."
    drafters = pair.drafters if args.drafters is None else tuple(args.drafters.split(","))
    for drafter in drafters:
        if drafter not in pair.drafters:
            raise OptionError(f"'{drafter[:40]}' cannot draft for {args.target}; choose {', '.join(pair.drafters)}.")
    prompts = spread(pair.prompts, args.prompts)
    request = RunRequest("", args.target, max_new_tokens=args.tokens)
    names = {card.id for card in prompts}
    known = [] if args.out is None else kept(args.out)
    compared = [row for row in known if row.prompt in names and row.drafter in drafters and row.most == args.tokens]
    running = rows(source, Reference(folder), prompts, request, drafters, tuple(compared))
    for row in progress(running, "texts", len(prompts) * len(drafters) - len(compared)):
        compared.append(row)
        known.append(row)
        if args.out is not None:
            keep(args.out, known)
    if args.write:
        said = f"`specviz prove chat`: {len(prompts)} messages to {args.target}, at most {args.tokens} tokens each."
        write_between(PAGE, MARK, f"{table(compared)}\n\n{said}")
    out().line(json.dumps([asdict(row) for row in compared]) if args.json else printable(table(compared)))
    return 0 if all(row.margin is None or row.margin < SURE for row in compared if not row.whole) else 1


def table(compared: Sequence[Row]) -> str:
    """A drafter a line; where a text differs, from which token on and how near the next token was to the first."""
    head = ("drafter", "texts that differ, and by which margin", "texts alike", "tokens a pass", "smallest margin")
    body = [
        (
            f"`{drafter.drafter}`",
            "; ".join(map(_difference, drafter.different)) or "–",
            f"{drafter.whole} of {drafter.prompts}",
            f"{drafter.tokens_per_pass:.2f}",
            f"{drafter.least:.4f}",
        )
        for drafter in summaries(compared)
    ]
    return markdown_table(head, body, words=2)


def _difference(row: Row) -> str:
    apart = "the end" if row.margin is None else f"{row.margin:.4f} apart"
    return f"{row.prompt} from token {row.equal + 1} ({apart})"
