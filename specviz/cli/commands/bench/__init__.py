"""`specviz bench`: measure speed against plain decoding and transformers, interleaved in one run.

Place in the flow: builds contestants from a trace source and from transformers, runs the contest, prints the report.
Knows nothing about how decoding works.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from specviz.bench.core.contest import Contestant, ContestPlan, first_prompts
from specviz.bench.core.contest import contest as run_contest
from specviz.bench.core.provenance import origin_of
from specviz.bench.core.report import plain_data
from specviz.bench.core.run import SourceContestant, collect, on
from specviz.bench.speed import plan as plans
from specviz.bench.speed.efficiency import Efficiency, efficiencies, samples
from specviz.bench.speed.rows import overhead, rows
from specviz.bench.speed.table import Report, markdown
from specviz.cli.parts.bench import (
    PAIR,
    Cancelled,
    add_pair_flags,
    at_least_one,
    deliver,
    numbers,
    time_limit,
)
from specviz.cli.parts.progress import progress
from specviz.cli.parts.sources import SharedModels, live_source
from specviz.cli.parts.terminal import err
from specviz.errors import BenchError, OptionError
from specviz.protocol.runs import PromptCard, RunRequest, TraceSource
from specviz.trace.events import Machine, Started

if TYPE_CHECKING:
    from specviz.bench.speed.replay import PassReplay


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
    prompts = first_prompts(source.catalog(), options.prompts_per_family)
    own_contestants = plans.own_contestants(source, options)
    for contestant in own_contestants:
        reason = source.explain(replace(contestant.request, prompt=prompts[0].text))
        if reason:
            raise OptionError(reason)
    err().line(f"warming up, then {len(prompts)} prompts × {options.repeats} repeats…")
    origin = origin_of([_header(source, own_contestants[place], prompts[0]) for place in (0, 1)])
    contestants = [*own_contestants, *(theirs(options, origin.machine) if options.transformers else ())]
    contest = ContestPlan(contestants, prompts, options.repeats)
    replay = _replay(options, models)
    with time_limit(args.max_minutes) as cancelled:
        outcomes = list(progress(run_contest(contest, cancelled), "bench", contest.runs))
        share = _efficiency(own_contestants, prompts, replay, cancelled)
    recorded = f"specviz: model γ={plans.middle_gamma(options.gammas)}{plans.RECORDED}"
    report = Report(
        rows=rows(outcomes, plans.PLAIN, share),
        origin=origin,
        temperature=options.template.temperature,
        max_new_tokens=options.template.max_new_tokens,
        prompts=len(prompts),
        repeats=options.repeats,
        complete=len(outcomes) == contest.runs,
        pass_times=replay.medians(),
        tracing_overhead=overhead(outcomes, recorded),
    )
    return deliver(args.json, plain_data(report), markdown(report))


def read_options(args: argparse.Namespace) -> plans.BenchOptions:
    """Raises OptionError for lengths that are no numbers and counts below one."""
    at_least_one(args, ("prompts", "repeats", "max_new_tokens", "threads"))
    gammas = numbers(args, "gammas", int, "2,4,6")
    template = RunRequest(prompt="", **{name: getattr(args, name) for name in (*PAIR, "temperature", "max_new_tokens")})
    with_transformers = not args.no_transformers
    options = plans.BenchOptions(gammas, args.branching, args.prompts, args.repeats, with_transformers, template)
    return plans.quick(options) if args.quick else options


def theirs(options: plans.BenchOptions, machine: Machine) -> list[Contestant]:
    """transformers on the same folders, in the number format our run has chosen."""
    from specviz.bench.speed import baselines
    from specviz.lm.place import locate

    template = options.template
    target, assistant, tokenizer = baselines.load_reference(
        locate(template.target), locate(template.drafter_model), machine.dtype, machine.device
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


def _header(source: TraceSource, contestant: SourceContestant, prompt: PromptCard) -> Started:
    """The header of a one-token run: which weights and machine these are."""
    run = collect(source, replace(on(prompt, contestant.request), max_new_tokens=1))
    if run is None:
        raise BenchError(f"'{contestant.name}' gave no header; try it with `specviz run`.")
    return run.started


def _efficiency(
    own_contestants: Sequence[SourceContestant], prompts: Sequence[PromptCard], replay: PassReplay, cancelled: Cancelled
) -> Mapping[str, Efficiency]:
    """Contestant → its efficiency, from runs of their own."""
    runs = len(own_contestants) * len(prompts)
    err().line(f"engine efficiency: {runs} runs, every round followed by its passes alone…")
    return efficiencies(list(progress(samples(own_contestants, prompts, replay, cancelled), "efficiency", runs)))


def _replay(options: plans.BenchOptions, models: SharedModels) -> PassReplay:
    """On the models that the source has loaded."""
    from specviz.bench.core.clock import pass_clock
    from specviz.bench.speed.replay import PassReplay

    template = options.template
    names = (template.target, template.drafter_model)
    target, drafter = (models(name, device=template.device, dtype=template.dtype).model for name in names)
    clock, _ = pass_clock(target.device)
    return PassReplay(target, drafter, clock)
