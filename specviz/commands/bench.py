"""`specviz bench`: the one place where speed comes from: ratios, interleaved in one run, as medians with spread.

Place in the flow: builds contestants from a trace source and from transformers, runs the contest, prints the report.
Knows nothing about how decoding works.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from specviz.bench import plan as plans
from specviz.bench.contest import Contestant, ContestPlan, Outcome, contest
from specviz.bench.ours import SourceContestant
from specviz.bench.report import overhead, rows
from specviz.bench.table import Report, Setting, markdown, to_data
from specviz.commands.interrupt import stop_on_interrupt
from specviz.commands.progress import progress
from specviz.commands.sources import SharedModels, live_source
from specviz.commands.terminal import err, out, printable
from specviz.errors import BenchError, OptionError
from specviz.trace.events import Started
from specviz.trace.source import PromptCard, RunRequest, TraceSource

if TYPE_CHECKING:
    from specviz.bench.meter import Meter

REQUEST = {field.name: field.default for field in fields(RunRequest)}


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
        default=REQUEST["max_new_tokens"],
        metavar="N",
        help="tokens per run (default %(default)s)",
    )
    add("--quick", action="store_true", help="one length, one prompt a family, one repeat, at most 32 tokens")
    add("--max-minutes", type=float, metavar="M", help="stop after M minutes and report what is done")
    add("--no-transformers", action="store_true", help="measure our own settings alone")
    add(
        "--target",
        default=REQUEST["target"],
        metavar="NAME",
        help="bundled name, folder or hub id (default %(default)s)",
    )
    add(
        "--drafter-model",
        default=REQUEST["drafter_model"],
        metavar="NAME",
        help="weights of the model drafter (default %(default)s)",
    )
    add("--temperature", type=float, default=0.0, metavar="T", help="0 decodes greedily (default)")
    add("--seed", type=int, default=REQUEST["seed"], metavar="S", help="seed of sampled runs (default %(default)s)")
    add("--dtype", default="auto", metavar="D", help="auto, float32, bfloat16")
    add("--device", default="auto", metavar="DEV", help="auto, cpu, cuda or mps")
    add("--threads", type=int, default=1, metavar="N", help="torch threads of everyone (default %(default)s)")
    add("--json", type=Path, metavar="FILE", help="write the report as JSON; - prints it instead of the tables")


def run(args: argparse.Namespace) -> int:
    from specviz.lm.step_time import use_threads

    options = read_options(args)
    use_threads(args.threads)
    models = SharedModels()
    source = live_source(models)
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
    for name in ("prompts", "repeats", "max_new_tokens", "threads"):
        if getattr(args, name) < 1:
            raise OptionError(f"--{name.replace('_', '-')} is {getattr(args, name)}, but must be at least 1.")
    try:
        gammas = tuple(int(one) for one in args.gammas.split(","))
    except ValueError:
        raise OptionError(f"--gammas is '{args.gammas}', but must be whole numbers like 2,4,6.") from None
    names = ("target", "drafter_model", "temperature", "seed", "dtype", "device", "max_new_tokens")
    template = RunRequest(prompt="", **{name: getattr(args, name) for name in names})
    with_transformers = not args.no_transformers
    options = plans.BenchOptions(gammas, args.branching, args.prompts, args.repeats, with_transformers, template)
    return plans.quick(options) if args.quick else options


def theirs(options: plans.BenchOptions, started: Started) -> list[Contestant]:
    """transformers on the same folders, in the number format our run has chosen."""
    from specviz.bench import baselines
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
    stopped, begun = threading.Event(), threading.Event()
    begun.set()
    deadline = time.monotonic() + args.max_minutes * 60 if args.max_minutes else float("inf")
    outcomes: list[Outcome] = []
    with stop_on_interrupt(begun, stopped):
        loop = contest(contest_plan, lambda: stopped.is_set() or time.monotonic() > deadline)
        for outcome in progress(loop, "bench", contest_plan.runs):
            outcomes.append(outcome)
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
    return _write(args, report)


def _meter(options: plans.BenchOptions, prompts: Sequence[PromptCard], models: SharedModels) -> Meter:
    """Takes the models the source has loaded, and sets the cache length to the middle of the runs'."""
    from specviz.bench.meter import Meter, rows_in_use

    template = options.template
    target = models(template.target, device=template.device, dtype=template.dtype)
    drafter = models(template.drafter_model, device=template.device, dtype=template.dtype)
    lengths = [len(target.tokenizer.encode(prompt.text)) for prompt in prompts]
    cached = int(median(lengths)) + template.max_new_tokens // 2
    return Meter(target.model, drafter.model, *rows_in_use(options.gammas, options.branching), cached_rows=cached)


def _write(args: argparse.Namespace, report: Report) -> int:
    """Tables to standard output, JSON where asked; a bench that was stopped early still reports, and says so."""
    if args.json is not None:
        text = json.dumps(to_data(report), indent=1)
        if str(args.json) == "-":
            out().line(text)
            return 0
        args.json.write_text(text + "\n", encoding="utf-8")
    out().write(printable(markdown(report)))
    return 0
