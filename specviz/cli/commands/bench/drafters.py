"""`specviz bench drafters`: all registered drafters against plain decoding, prompt family by prompt family.

Place in the flow: an experiment of `specviz bench`; asks the source which drafters there are, lets each run once
unmeasured, has the contest run them, prints and writes the report.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from specviz.bench.core.contest import ContestPlan, contest, first_prompts, unequal
from specviz.bench.core.report import between, origin_of, plain_data, write_between
from specviz.bench.core.run import FirstRun
from specviz.bench.drafters import plan as drafter_plan
from specviz.bench.drafters.plan import Named
from specviz.bench.drafters.table import (
    DrafterReport,
    Part,
    Section,
    check_mergeable,
    markdown,
    merged,
    part,
    place_of_report,
    read_report,
    write_report,
)
from specviz.cli.experiment import (
    PAIR,
    add_count,
    add_pair_flags,
    add_temperatures,
    add_write,
    at_least_one,
    check_write,
    complain,
    deliver,
    page_of,
    temperatures,
    time_limit,
)
from specviz.cli.sources import SharedModels, live_source
from specviz.cli.terminal import err, progress
from specviz.errors import BenchError
from specviz.options import minutes
from specviz.protocol.prompt_file import read_prompts
from specviz.protocol.runs import PromptCard, RunRequest, TraceSource
from specviz.resources import ROOT

SUMMARY = "compare all drafters with plain decoding on every prompt family, those that remember cold and warm"
PAGE = ROOT.parent / "docs" / "bench_drafters.md"
MARK = "bench drafters"
SECOND_MODEL = "drafter-weak"
QUICK_TOKENS = 32


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--drafters", default="", metavar="A,B,…", help="these alone; without it, every drafter")
    add_count(parser, "--prompts", 2, "prompts per family")
    own = "your own prompts, one JSON object a line with text, id and family, in place of the bundled set"
    add("--own-prompts", type=Path, metavar="FILE.jsonl", help=own)
    add_count(parser, "--repeats", 1, "times everything is run")
    add_count(parser, "--max-new-tokens", 128, "tokens per run, where its text does not end before")
    add_temperatures(parser)
    add_count(parser, "--warm-up-prompts", 2, "other prompts of the family behind a warm start")
    add("--max-minutes", type=minutes, metavar="M", help="stop after M minutes and report what is done")
    add("--json", type=Path, metavar="FILE", help="write the report as JSON; - prints it instead of the tables")
    add(
        "--second-model",
        default=SECOND_MODEL,
        metavar="NAME",
        help="the model drafter once more, with these weights (default %(default)s); empty: it is not",
    )
    add(
        "--quick",
        action="store_true",
        help="one prompt a family, at most 32 tokens: about a minute and a half; otherwise about six on two idle cores",
    )
    add_write(parser, "docs/bench_drafters.md")
    add_pair_flags(parser)


def run(args: argparse.Namespace) -> int:
    at_least_one(args, ("prompts", "repeats", "max_new_tokens", "warm_up_prompts", "threads"))
    if args.quick:
        args.prompts, args.max_new_tokens = 1, min(QUICK_TOKENS, args.max_new_tokens)
    kept = _kept(args)
    report = measure(args, live_source(SharedModels(), args.threads), kept)
    if args.write is not None:
        report = report if kept is None else merged(kept, report)
        _write(args.write, report)
    return deliver(args.json, plain_data(report), markdown(report)) or complain(report.unequal)


def measure(args: argparse.Namespace, source: TraceSource, kept: DrafterReport | None = None) -> DrafterReport:
    """Run every drafter once, then a contest per temperature, and sum it up. Raises BenchError where no plain run was
    finished, and
    before the contest where its rows could not stand beside those of `kept`."""
    catalog = source.catalog()
    if args.own_prompts is not None:
        catalog = replace(catalog, prompts=read_prompts(args.own_prompts))
    names = [name.strip() for name in args.drafters.split(",") if name.strip()]
    drafters = drafter_plan.with_models(drafter_plan.chosen(catalog, names), args.second_model)
    prompts = first_prompts(catalog, args.prompts)
    template = RunRequest(
        prompt="", max_new_tokens=args.max_new_tokens, record=False, **{name: getattr(args, name) for name in PAIR}
    )
    err().line(f"warming up {len(drafters)} drafters…")
    first_runs = drafter_plan.first_runs(source, drafters, template, prompts[0])
    met = list(progress(first_runs, "warm-up", len(drafters)))
    blank = _blank(args, met, prompts)
    if kept is not None:
        check_mergeable(kept, replace(blank, parts=_empty(blank.temperatures, prompts)))
    warm_up_prompts = drafter_plan.warm_up_prompts(catalog, prompts, args.warm_up_prompts)
    parts, wrong, complete = list[Part](), list[str](), True
    with time_limit(args.max_minutes) as cancelled:
        for temperature in blank.temperatures:
            entrants = drafter_plan.entrants(source, met, replace(template, temperature=temperature), warm_up_prompts)
            plan = ContestPlan(drafter_plan.lineup(entrants), prompts, args.repeats, warm_up=False)
            err().line(f"temperature {temperature:g}: {plan.runs} runs…")
            outcomes = list(progress(contest(plan, cancelled), "bench", plan.runs))
            complete = complete and len(outcomes) == plan.runs
            if outcomes or not parts:
                parts.append(part(temperature, entrants, outcomes))
            lossless = drafter_plan.lossless(entrants)
            wrong += unequal(blank.origin.target.dtype, temperature, outcomes, lossless)
    return replace(blank, parts=tuple(parts), unequal=tuple(wrong), complete=complete)


def _empty(temperatures: Sequence[float], prompts: Sequence[PromptCard]) -> tuple[Part, ...]:
    """Parts without rows, for what must be equal before anything is measured."""
    families = ["", *dict.fromkeys(card.family for card in prompts)]
    sections = tuple(Section(family, ()) for family in families)
    return tuple(Part(temperature, sections, Section("", ()), ()) for temperature in temperatures)


def _blank(
    args: argparse.Namespace, met: Sequence[tuple[Named, FirstRun]], prompts: Sequence[PromptCard]
) -> DrafterReport:
    """The report before the contest."""
    return DrafterReport(
        parts=(),
        absent={one.name: first.reason for one, first in met if first.started is None},
        origin=origin_of([first.started for _, first in met if first.started is not None]),
        later={},
        prompts=len(prompts),
        warm_up_prompts=args.warm_up_prompts,
        repeats=args.repeats,
        max_new_tokens=args.max_new_tokens,
        temperatures=temperatures(args),
        seed=args.seed,
        unequal=(),
        complete=False,
    )


def _kept(args: argparse.Namespace) -> DrafterReport | None:
    """The page's other rows, where some drafters alone are measured anew. Raises BenchError, before the measurement,
    for a page without marks, and for one whose other rows would be lost."""
    if args.write is None:
        return None
    page = page_of(args.write, PAGE)
    check_write(args.write, MARK, PAGE)
    if not args.drafters:
        return None
    kept = read_report(place_of_report(page))
    if kept is None and between(page, MARK).strip():
        raise BenchError(
            f"{page.name} has rows, but {place_of_report(page).name}, which would keep them, is missing; run all "
            "drafters once with --write, or name another page."
        )
    return kept


def _write(where: Path, report: DrafterReport) -> None:
    page = page_of(where, PAGE)
    write_between(page, MARK, markdown(report))
    write_report(report, place_of_report(page))
