"""`specviz bench pair`: what the bundled models know of the small world, and how often each drafter is accepted.

Place in the flow: an experiment of `specviz bench`; to be run again whenever the bundled models change.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from specviz.bench.core.report import check_section, write_between
from specviz.cli.experiment import add_count, at_least_one, deliver
from specviz.cli.terminal import err
from specviz.resources import ROOT

SUMMARY = "measure what the bundled models know of plain English and how often each drafter is accepted"
MARK = "pair"


def configure(parser: argparse.ArgumentParser) -> None:
    add_count(parser, "--cases", 60, "held-out cases per figure, half as many for sums")
    add_count(parser, "--prompts", 6, "prompts per family for the acceptance")
    add_count(parser, "--threads", 1, "torch threads")
    parser.add_argument(
        "--models",
        type=Path,
        default=ROOT / "models",
        metavar="FOLDER",
        help="holds target, drafter and drafter-weak (default: the bundled ones)",
    )
    parser.add_argument(
        "--write",
        type=Path,
        nargs="?",
        const=Path("docs/pair.md"),
        metavar="PAGE",
        help="keep the tables in PAGE (default docs/pair.md) and in the models' cards",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON; - prints them instead")


def run(args: argparse.Namespace) -> int:
    from specviz.cli.named_weights import bundled, in_words
    from specviz.lm.step_time import use_threads
    from specviz.training import publication
    from specviz.training.options import TrainOptions
    from specviz.training.pair_report import markdown

    at_least_one(args, ("cases", "prompts", "threads"))
    if args.write is not None:
        check_section(args.write, MARK)  # before the measurement, not after it
    use_threads(args.threads)
    options = replace(
        TrainOptions(),
        out_dir=args.models,
        figure_cases=args.cases,
        figure_prompts=args.prompts,
        prompts=ROOT / "prompts" / "prompts.json",
    )
    pair = publication.measured(options, err().row)
    history = publication.whole_history(pair, options)
    tables = markdown(pair, history) + "\n"
    if args.write is not None:
        publication.write_pair(pair, options, err().row)
        write_between(args.write, MARK, f"{tables}\n{in_words(bundled(args.models))}\n")
    return deliver(args.json, {**pair, "history": history}, tables)
