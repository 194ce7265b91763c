"""`specviz bench`: the one place where speed comes from: ratios, interleaved in one run, as medians with spread.

Place in the flow: builds contestants from a trace source and from transformers, runs the contest, prints the report.
Knows nothing about how decoding works.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from specviz.bench.core import plan as plans
from specviz.bench.core.contest import Contestant, ContestPlan
from specviz.bench.core.report import overhead, rows
from specviz.bench.core.source_contestant import SourceContestant
from specviz.bench.core.table import Report, Setting, markdown, to_data
from specviz.cli.parts.bench import PAIR, add_pair_flags, at_least_one, deliver, numbers, run_contest
from specviz.cli.parts.sources import SharedModels, live_source
from specviz.cli.parts.terminal import err
from specviz.errors import BenchError, OptionError
from specviz.protocol.runs import PromptCard, RunRequest, TraceSource
from specviz.trace.events import Started

if TYPE_CHECKING:
    from specviz.bench.core.meter import Meter


@dataclass(frozen=True, slots=True)
class Introduction:
    """What is known before the contest: headers of a plain and of a drafting run, and a meter on their models."""

    plain: Started
    drafting: Started
    meter: Meter


def configure(parser: argparse.ArgumentParser) -> None:
    default = plans.BenchOptions()
    add = parser.add_argument
    add(
        "--gammas",
        default=",".join(map(str, default.gammas)),
        metavar="N,N,…",
        help="speculation lengths (default %(default)s)",
    )
    add(
        "--branching",
        default=default.branching,
        metavar="N,N,…",
        help="children per level of the tree (default %(default)s)",
    )
    add(
        "--prompts",
        type=int,
        default=default.prompts_per_family,
        metavar="N",
        help="prompts per family (default %(default)s)",
    )
    add(
        "--repeats",
        type=int,
        default=default.repeats,
        metavar="N",
        help="times everything is run (default %(default)s)",
    )
    add(
        "--max-new-tokens",
        type=int,
        default=default.template.max_new_tokens,
        metavar="N",
        help="tokens per run (default %(default)s)",
    )
    add("--quick", action="store_true", help="one length, one prompt a family, one repeat, at most 32 tokens")
    add("--max-minutes", type=float, metavar="M", help="stop after M minutes and report what is done")
    add("--no-transformers", action="store_true", help="measure our own settings alone")
    add("--temperature", type=float, default=0.0, metavar="T", help="0 decodes greedily (default)")
    add_pair_flags(parser)
    add("--json", type=Path, metavar="FILE", help="write the report as JSON; - prints it instead of the tables")
    _configure_experiments(parser)


def experiments() -> list[str]:
    """The modules of this folder, each an experiment with a SUMMARY, `configure` and `run`."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def _configure_experiments(parser: argparse.ArgumentParser) -> None:
    chosen = parser.add_subparsers(dest="experiment", metavar="EXPERIMENT")
    for name in experiments():
        module = importlib.import_module(f"{__name__}.{name}")
        summary: str = module.SUMMARY
        description = summary[0].upper() + summary[1:] + "."
        module.configure(chosen.add_parser(name, help=summary, description=description, allow_abbrev=False))


def run(args: argparse.Namespace) -> int:
    if args.experiment is not None:
        return int(importlib.import_module(f"{__name__}.{args.experiment}").run(args))
    options = read_options(args)
    models = SharedModels()
    source = live_source(models, args.threads)
    prompts = plans.prompts(source.catalog(), options.prompts_per_family)
    ours = plans.ours(source, options)
    for contestant in ours:
        reason = source.explain(replace(contestant.request, prompt=prompts[0].text))
        if reason:
            raise OptionError(reason)
    err().line(f"warming up, then {len(prompts)} prompts × {options.repeats} repeats…")
    plain, drafting = (_introduce(source, ours[place], prompts[0]) for place in (0, 1))
    contestants = [*ours, *(theirs(options, drafting) if options.transformers else ())]
    return _measure(
        args, options, contestants, prompts, Introduction(plain, drafting, _meter(options, prompts, models))
    )


def read_options(args: argparse.Namespace) -> plans.BenchOptions:
    """Raises OptionError for lengths that are no numbers and counts below one."""
    at_least_one(args, ("prompts", "repeats", "max_new_tokens", "threads"))
    gammas = numbers(args, "gammas", int, "2,4,6")
    template = RunRequest(prompt="", **{name: getattr(args, name) for name in (*PAIR, "temperature", "max_new_tokens")})
    with_transformers = not args.no_transformers
    options = plans.BenchOptions(gammas, args.branching, args.prompts, args.repeats, with_transformers, template)
    return plans.quick(options) if args.quick else options


def theirs(options: plans.BenchOptions, started: Started) -> list[Contestant]:
    """transformers on the same folders, in the number format our run has chosen."""
    from specviz.bench.core import baselines
    from specviz.lm.place import locate

    template = options.template
    target, assistant, tokenizer = baselines.load_reference(
        locate(template.target), locate(template.drafter_model), started.machine.dtype, started.machine.device
    )
    sampling = baselines.sampling_arguments(template.temperature)
    reference = baselines.Reference(target, assistant, tokenizer, template.max_new_tokens, sampling)
    middle = plans.middle_gamma(options.gammas)
    return [
        baselines.plain(reference),
        baselines.assisted(reference, middle),
        baselines.assisted_by_default(reference),
        baselines.prompt_lookup(reference, middle),
    ]


def _introduce(source: TraceSource, contestant: SourceContestant, prompt: PromptCard) -> Started:
    """The header of a one-token run: which weights and machine these are."""
    request = replace(contestant.request, prompt=prompt.text, max_new_tokens=1)
    for step in source.run(request):
        if isinstance(step.event, Started):
            return step.event
    raise BenchError(f"'{contestant.name}' gave no header; try it with `specviz run`.")


def _measure(
    args: argparse.Namespace,
    options: plans.BenchOptions,
    contestants: Sequence[Contestant],
    prompts: Sequence[PromptCard],
    known: Introduction,
) -> int:
    meter = known.meter
    contest_plan = ContestPlan(contestants, prompts, options.repeats, meter.measure)
    outcomes = run_contest(contest_plan, args.max_minutes)
    curves = meter.curves()
    traced = f"ours: model γ={plans.middle_gamma(options.gammas)}"
    report = Report(
        rows=rows(outcomes, plans.PLAIN, curves),
        setting=Setting(
            machine=known.plain.machine,
            target=known.plain.target,
            drafter=known.drafting.drafter.model,
            created=known.plain.created,
            temperature=options.template.temperature,
            max_new_tokens=options.template.max_new_tokens,
            prompts=len(prompts),
            repeats=options.repeats,
        ),
        complete=len(outcomes) == contest_plan.runs,
        step_times=meter.medians(),
        tracing_overhead=overhead(outcomes, traced + plans.RECORDED),
    )
    return deliver(args.json, to_data(report), markdown(report))


def _meter(options: plans.BenchOptions, prompts: Sequence[PromptCard], models: SharedModels) -> Meter:
    """Takes the models the source has loaded, and sets the cache length to the middle of the runs'."""
    from specviz.bench.core.meter import Meter, rows_in_use

    template = options.template
    target = models(template.target, device=template.device, dtype=template.dtype)
    drafter = models(template.drafter_model, device=template.device, dtype=template.dtype)
    lengths = [len(target.tokenizer.encode(prompt.text)) for prompt in prompts]
    cached = int(median(lengths)) + template.max_new_tokens // 2
    return Meter(target.model, drafter.model, *rows_in_use(options.gammas, options.branching), cached_rows=cached)
