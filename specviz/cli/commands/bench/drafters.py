"""`specviz bench drafters`: all registered drafters against plain decoding, prompt family by prompt family.

Place in the flow: an experiment of `specviz bench`; asks the source which drafters there are, lets each run once
unmeasured, has the contest run them, prints and writes the report. Knows nothing about how any of them drafts.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from specviz.bench.core import plan as plans
from specviz.bench.core.contest import ContestPlan, Outcome
from specviz.bench.core.doc_sections import check_marks, write_between
from specviz.bench.drafters import plan as drafter_plan
from specviz.bench.drafters.plan import Entrant, Introduction
from specviz.bench.drafters.rows import sections
from specviz.bench.drafters.table import DrafterReport, markdown, summary, to_data
from specviz.cli.parts.bench import PAIR, add_count, add_pair_flags, at_least_one, deliver, run_contest
from specviz.cli.parts.progress import progress
from specviz.cli.parts.sources import SharedModels, live_source
from specviz.cli.parts.terminal import err
from specviz.errors import OptionError
from specviz.protocol.runs import PromptCard, RunRequest, TraceSource
from specviz.resources import ROOT
from specviz.trace.events import ModelCard

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
    add_count(parser, "--lessons", 4, "other prompts of the family behind a warm start")
    add("--max-minutes", type=float, metavar="M", help="stop after M minutes and report what is done")
    add("--json", type=Path, metavar="FILE", help="write the report as JSON; - prints it instead of the tables")
    add("--write", type=Path, nargs="?", const=BOTH, metavar="PAGE",
        help="write the tables between the marks of a page; where none is named, of docs/bench_drafters.md, and those "
        "over all prompts of README.md")  # fmt: skip
    add_pair_flags(parser)


def run(args: argparse.Namespace) -> int:
    at_least_one(args, ("prompts", "repeats", "max_new_tokens", "lessons", "threads"))
    if args.temperature < 0:
        raise OptionError(f"--temperature is {args.temperature:g}, but must be at least 0.")
    _check_pages(args.write)
    report = measure(args, live_source(SharedModels(), args.threads))
    _write(args.write, report)
    return deliver(args.json, to_data(report), markdown(report))


def measure(args: argparse.Namespace, source: TraceSource) -> DrafterReport:
    """Introduce every drafter, run the contest, and sum it up. Raises BenchError where no plain run was finished."""
    catalog = source.catalog()
    names = [name.strip() for name in args.drafters.split(",") if name.strip()]
    methods = drafter_plan.chosen(catalog, names)
    prompts = plans.prompts(catalog, args.prompts)
    template = RunRequest(
        prompt="",
        temperature=args.temperature,
        max_new_tokens=args.max_new_tokens,
        record=False,
        **{name: getattr(args, name) for name in PAIR},
    )
    err().line(f"warming up {len(methods)} drafters…")
    meetings = drafter_plan.introductions(source, methods, template, prompts[0])
    met = list(progress(meetings, "warm-up", len(methods)))
    lessons = drafter_plan.lessons(catalog, prompts, args.lessons)
    entrants = drafter_plan.entrants(source, met, template, lessons)
    err().line(f"{len(entrants)} contestants × {len(prompts)} prompts × {args.repeats} repeats…")
    plan = ContestPlan(drafter_plan.lineup(entrants), prompts, args.repeats, warm_up=False)
    outcomes = run_contest(plan, args.max_minutes)
    return _report(args, met, (entrants, outcomes, len(outcomes) == plan.runs), prompts)


def _report(
    args: argparse.Namespace,
    met: Sequence[Introduction],
    measured: tuple[Sequence[Entrant], Sequence[Outcome], bool],
    prompts: Sequence[PromptCard],
) -> DrafterReport:
    entrants, outcomes, complete = measured
    headers = [one.started for one in met if one.started is not None]
    models: dict[str, ModelCard] = {}
    for header in headers:
        if header.drafter.model is not None:
            models.setdefault(header.drafter.model.weights_sha256, header.drafter.model)
    return DrafterReport(
        sections=sections(entrants, outcomes),
        absent={one.method.name: one.reason for one in met if one.started is None},
        target=headers[0].target,
        drafters=list(models.values()),
        machine=headers[0].machine,
        created=headers[0].created,
        prompts=len(prompts),
        lessons=args.lessons,
        repeats=args.repeats,
        max_new_tokens=args.max_new_tokens,
        temperature=args.temperature,
        seed=args.seed,
        complete=complete,
    )


def _check_pages(where: Path | None) -> None:
    """Raises BenchError where a page has no marks: before the measurement, not after it."""
    if where is not None:
        for page in (PAGE, README) if where == BOTH else (where,):
            check_marks(page, MARK)


def _write(where: Path | None, report: DrafterReport) -> None:
    if where is None:
        return
    write_between(PAGE if where == BOTH else where, MARK, markdown(report))
    if where == BOTH:
        write_between(README, MARK, summary(report))
