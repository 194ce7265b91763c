"""`specviz bench drafters`: all registered drafters against plain decoding, prompt family by prompt family.

Place in the flow: an experiment of `specviz bench`; asks the source which drafters there are, lets each run once
unmeasured, has the contest run them, prints and writes the report.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from specviz.bench.core.contest import ContestPlan, contest, first_prompts
from specviz.bench.core.provenance import origin_of
from specviz.bench.core.report import between, check_section, plain_data, write_between
from specviz.bench.core.run import FirstRun
from specviz.bench.drafters import plan as drafter_plan
from specviz.bench.drafters.rows import Section, sections
from specviz.bench.drafters.stored import check_mergeable, merged, place_of_report, read_report, write_report
from specviz.bench.drafters.table import DrafterReport, markdown, summary
from specviz.cli.parts.bench import PAIR, add_count, add_pair_flags, at_least_one, deliver, time_limit
from specviz.cli.parts.progress import progress
from specviz.cli.parts.sources import SharedModels, live_source
from specviz.cli.parts.terminal import err
from specviz.errors import BenchError, OptionError
from specviz.protocol.runs import MethodDescription, PromptCard, RunRequest, TraceSource
from specviz.resources import ROOT

SUMMARY = "compare all drafters with plain decoding on every prompt family, those that remember cold and warm"
README = ROOT.parent / "README.md"
PAGE = ROOT.parent / "docs" / "bench_drafters.md"
MARK = "bench drafters"
BOTH = Path()
"""`--write` without a page"""


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--drafters", default="", metavar="A,B,…", help="these alone; without it, every drafter")
    add_count(parser, "--prompts", 2, "prompts per family")
    add_count(parser, "--repeats", 1, "times everything is run")
    add_count(parser, "--max-new-tokens", 48, "tokens per run")
    add("--temperature", type=float, default=0.0, metavar="T", help="0 decodes greedily (default)")
    add_count(parser, "--warm-up-prompts", 4, "other prompts of the family behind a warm start")
    add("--max-minutes", type=float, metavar="M", help="stop after M minutes and report what is done")
    add("--json", type=Path, metavar="FILE", help="write the report as JSON; - prints it instead of the tables")
    add("--write", type=Path, nargs="?", const=BOTH, metavar="PAGE",
        help="write the tables between the marks of a page; where none is named, of docs/bench_drafters.md, and those "
        "over all prompts of README.md")  # fmt: skip
    add_pair_flags(parser)


def run(args: argparse.Namespace) -> int:
    at_least_one(args, ("prompts", "repeats", "max_new_tokens", "warm_up_prompts", "threads"))
    if args.temperature < 0:
        raise OptionError(f"--temperature is {args.temperature:g}, but must be at least 0.")
    kept = _kept(args)
    report = measure(args, live_source(SharedModels(), args.threads), kept)
    if args.write is not None:
        report = report if kept is None else merged(kept, report)
        _write(args.write, report)
    return deliver(args.json, plain_data(report), markdown(report))


def measure(args: argparse.Namespace, source: TraceSource, kept: DrafterReport | None = None) -> DrafterReport:
    """Run every drafter once, then the contest, and sum it up. Raises BenchError where no plain run was finished, and
    before the contest where its rows could not stand beside those of `kept`."""
    catalog = source.catalog()
    names = [name.strip() for name in args.drafters.split(",") if name.strip()]
    methods = drafter_plan.chosen(catalog, names)
    prompts = first_prompts(catalog, args.prompts)
    template = RunRequest(
        prompt="",
        temperature=args.temperature,
        max_new_tokens=args.max_new_tokens,
        record=False,
        **{name: getattr(args, name) for name in PAIR},
    )
    err().line(f"warming up {len(methods)} drafters…")
    first_runs = drafter_plan.first_runs(source, methods, template, prompts[0])
    met = list(progress(first_runs, "warm-up", len(methods)))
    blank = _blank(args, met, prompts)
    if kept is not None:
        families = ["", *dict.fromkeys(card.family for card in prompts)]
        check_mergeable(kept, replace(blank, sections=tuple(Section(family, ()) for family in families)))
    warm_up_prompts = drafter_plan.warm_up_prompts(catalog, prompts, args.warm_up_prompts)
    entrants = drafter_plan.entrants(source, met, template, warm_up_prompts)
    err().line(f"{len(entrants)} contestants × {len(prompts)} prompts × {args.repeats} repeats…")
    plan = ContestPlan(drafter_plan.lineup(entrants), prompts, args.repeats, warm_up=False)
    with time_limit(args.max_minutes) as cancelled:
        outcomes = list(progress(contest(plan, cancelled), "bench", plan.runs))
    return replace(blank, sections=sections(entrants, outcomes), complete=len(outcomes) == plan.runs)


def _blank(
    args: argparse.Namespace, met: Sequence[tuple[MethodDescription, FirstRun]], prompts: Sequence[PromptCard]
) -> DrafterReport:
    """The report before the contest."""
    return DrafterReport(
        sections=(),
        absent={method.name: first.reason for method, first in met if first.started is None},
        origin=origin_of([first.started for _, first in met if first.started is not None]),
        later={},
        prompts=len(prompts),
        warm_up_prompts=args.warm_up_prompts,
        repeats=args.repeats,
        max_new_tokens=args.max_new_tokens,
        temperature=args.temperature,
        seed=args.seed,
        complete=False,
    )


def _page(where: Path) -> Path:
    return PAGE if where == BOTH else where


def _kept(args: argparse.Namespace) -> DrafterReport | None:
    """The page's other rows, where some drafters alone are measured anew. Raises BenchError, before the measurement,
    for a page without marks, and for one whose other rows would be lost."""
    if args.write is None:
        return None
    page = _page(args.write)
    for one in (page, README) if args.write == BOTH else (page,):
        check_section(one, MARK)
    if not args.drafters:
        return None
    kept = read_report(place_of_report(page))
    if kept is None and between(page, MARK).strip():
        raise BenchError(
            f"{page.name} has rows, but {place_of_report(page).name}, which would keep them, is not beside it; run all "
            "drafters once with --write, or name another page."
        )
    return kept


def _write(where: Path, report: DrafterReport) -> None:
    page = _page(where)
    write_between(page, MARK, markdown(report))
    write_report(report, place_of_report(page))
    if where == BOTH:
        write_between(README, MARK, summary(report))
