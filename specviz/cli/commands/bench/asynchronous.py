"""`specviz bench asynchronous`: does drafting beside verifying pay here? Plain, in turn, PEARL and AMUSD in one run.

Place in the flow: an experiment of `specviz bench`; loads the pair, starts the drafter's process, prints one table.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from specviz.bench.core.contest import first_prompts
from specviz.bench.core.provenance import origin_here
from specviz.bench.core.report import check_section, markdown_table, write_between
from specviz.cli.parts.bench import add_count, add_pair_flags
from specviz.cli.parts.sources import SharedModels, live_source
from specviz.cli.parts.terminal import err, out
from specviz.errors import OptionError
from specviz.resources import ROOT

if TYPE_CHECKING:
    from specviz.bench.lanes.run import LanesRow

SUMMARY = "draft beside verifying: AMUSD and PEARL on two processes against drafting in turn"
PAGE = ROOT.parent / "docs" / "asynchronous.md"
MARK = "bench asynchronous"
HEAD = ("method", "× plain", "quartiles", "tokens/s", "drafter busy", "target busy", "thrown per token", "same text")


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_count(parser, "--prompts", 1, "prompts per family")
    add_count(parser, "--max-new-tokens", 64, "tokens per text, where it does not end before")
    add_count(parser, "--repeats", 3, "times each prompt is decoded by each method")
    add_count(parser, "--gamma", 4, "tokens drafted in turn, and by PEARL in a round")
    add_count(parser, "--ahead", 8, "tokens AMUSD's drafter may be ahead")
    add_count(parser, "--widest", 7, "tokens AMUSD verifies at most in a pass")
    add("--temperature", type=float, default=0.0, metavar="T", help="of the texts (default %(default)s)")
    add("--slow", type=float, default=6.0, metavar="MS",
        help="sleep after each pass of the slow drafter; 0: no such table (default %(default)s)")  # fmt: skip
    add("--write", type=Path, nargs="?", const=PAGE, metavar="PAGE",
        help="write the tables between the marks of a page, docs/asynchronous.md where none is named")  # fmt: skip
    add_pair_flags(parser)


def run(args: argparse.Namespace) -> int:
    from specviz.asynchronous.pair import Place
    from specviz.bench.lanes.run import LanesPlan, compare
    from specviz.lm.step_time import use_threads

    use_threads(args.threads)
    if args.slow < 0:
        raise OptionError(f"--slow is {args.slow:g} ms, but a sleep is 0 or longer.")
    if args.write:
        check_section(args.write, MARK)
    models = SharedModels()
    target = models(args.target, device=args.device, dtype=args.dtype)
    drafter = models(args.drafter_model, device=args.device, dtype=args.dtype)
    prompts = [
        (card.id, target.tokenizer.encode(card.text))
        for card in first_prompts(live_source(models).catalog(), args.prompts)
    ]
    place = Place(args.drafter_model, args.device, args.dtype)
    eos = target.info.eos_ids
    parts = []
    for slow in (0.0, args.slow) if args.slow else (0.0,):
        plan = LanesPlan(prompts, args.max_new_tokens, args.temperature, args.seed, args.gamma, args.ahead, args.widest,
                         args.repeats, slow / 1000)  # fmt: skip
        rows = compare(target.model, drafter.model, place, plan, lambda token: token in eos, err().line)
        parts.append(section(rows, slow, args))
    report = "\n\n".join([*parts, str(origin_here(target, drafter))])
    out().line(report)
    if args.write:
        write_between(args.write, MARK, report)
    return 0


def section(rows: list[LanesRow], slow_ms: float, args: argparse.Namespace) -> str:
    """One table under a sentence that says what was compared."""
    which = f"a drafter that sleeps {slow_ms:g} ms after each pass" if slow_ms else "the drafter as it is"
    body = [
        (one.method, f"{one.ratio:.2f}", f"{one.ratio_low:.2f} to {one.ratio_high:.2f}", f"{one.tokens_per_s:.0f}",
         f"{one.drafter_busy:.0%}", f"{one.target_busy:.0%}", f"{one.thrown:.2f}", f"{one.same_text}/{one.texts}")
        for one in rows
    ]  # fmt: skip
    said = (
        f"With {which}, temperature {args.temperature:g}, γ = {args.gamma}, AMUSD up to {args.ahead} tokens ahead and "
        f"{args.widest} in a pass:"
    )
    return f"{said}\n\n{markdown_table(HEAD, body)}"
