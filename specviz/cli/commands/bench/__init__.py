"""`specviz bench`: measure speed against plain decoding and transformers, interleaved in one run.

Place in the flow: builds contestants from a trace source and from transformers, runs the contest, prints the report.
Knows nothing about how decoding works.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specviz.bench.core.contest import Contestant, ContestPlan, ContestRun, first_prompts, unequal
from specviz.bench.core.contest import contest as run_contest
from specviz.bench.core.report import origin_of, plain_data, write_between
from specviz.bench.core.run import SourceContestant, collect, on
from specviz.bench.speed import plan as plans
from specviz.bench.speed.efficiency import Efficiency, efficiencies, samples
from specviz.bench.speed.table import BenchRow, Part, Report, markdown, overhead, part, plain_rows, summary
from specviz.cli.commands.study import add_alias, run_alias
from specviz.cli.experiment import (
    BOTH,
    PAIR,
    Cancelled,
    add_count,
    add_pair_flags,
    add_temperatures,
    add_write,
    at_least_one,
    check_write,
    complain,
    deliver,
    numbers,
    page_of,
    temperatures,
    time_limit,
)
from specviz.cli.sources import SharedModels, live_source
from specviz.cli.terminal import err, progress
from specviz.errors import BenchError, OptionError
from specviz.options import minutes
from specviz.protocol.runs import PromptCard, RunRequest, TraceSource
from specviz.resources import ROOT
from specviz.studies.study import Study, studies
from specviz.trace.header import Machine, Started

if TYPE_CHECKING:
    from specviz.bench.passes import PassTable
    from specviz.bench.speed.efficiency import PassReplay
    from specviz.lm.load import LoadedModel


README = ROOT.parent / "README.md"
PAGE = ROOT.parent / "docs" / "bench.md"
MARK = "bench"
BARE_REPEATS = 30
"""of a bare pass, of which the fastest counts"""


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
    add_count(parser, "--prompts", default.prompts_per_family, "prompts per family")
    add_count(parser, "--repeats", default.repeats, "times everything is run")
    add_count(parser, "--max-new-tokens", default.template.max_new_tokens, "tokens per run")
    add(
        "--quick",
        action="store_true",
        help="one length, one prompt a family, one repeat, at most 32 tokens: a minute; otherwise about four on two "
        "idle cores",
    )
    add("--max-minutes", type=minutes, metavar="M", help="stop after M minutes and report what is done")
    yardstick_words = (
        "afterwards, as a yardstick: plain decoding of this file by llama.cpp and by us, on one and two threads; needs "
        "pip install 'specviz[llama-cpp]'"
    )
    add("--llama-cpp", type=Path, metavar="FILE.gguf", help=yardstick_words)
    add("--no-transformers", action="store_true", help="measure our own settings alone")
    add_temperatures(parser)
    add_pair_flags(parser)
    add("--json", type=Path, metavar="FILE", help="write the report as JSON; - prints it instead of the tables")
    add_write(parser, "docs/bench.md", ", and the short one of README.md")
    _configure_experiments(parser)


def _configure_experiments(parser: argparse.ArgumentParser) -> None:
    """The modules of this folder, each an experiment with a SUMMARY, `configure` and `run`."""
    chosen = parser.add_subparsers(dest="experiment", metavar="EXPERIMENT")
    for name in sorted(module.name for module in pkgutil.iter_modules(__path__)):
        module = importlib.import_module(f"{__name__}.{name}")
        summary: str = module.SUMMARY
        description = summary[0].upper() + summary[1:] + "."
        module.configure(chosen.add_parser(name, help=summary, description=description, allow_abbrev=False))
    for name, study in moved().items():
        add_alias(chosen.add_parser, name, study)


def moved() -> dict[str, Study[Any]]:
    """Experiments that are studies now, by the word behind `bench`."""
    words = ((word.split(), study) for study in studies() for word in study.formerly)
    return {old[1]: study for old, study in words if old[0] == "bench"}


def run(args: argparse.Namespace) -> int:
    if args.experiment in moved():
        return run_alias(moved()[args.experiment], args, f"bench {args.experiment}")
    if args.experiment is not None:
        return int(importlib.import_module(f"{__name__}.{args.experiment}").run(args))
    options = read_options(args)
    check_write(args.write, MARK, PAGE, README)
    check_yardstick(args.llama_cpp)
    source = live_source(models := SharedModels(), args.threads)
    prompts = first_prompts(source.catalog(), options.prompts_per_family)
    pair = _pair(options, models)
    options = replace(options, trained=all(_fits(name, pair[0]) for name in plans.TRAINED))
    bench = Bench(options, source, prompts, pair, args.max_minutes)
    report = _measured(bench)
    if args.llama_cpp is not None:
        report = replace(report, yardstick=_yardstick(bench, args.llama_cpp))
    if args.write is not None:
        write_between(page_of(args.write, PAGE), MARK, markdown(report))
        if args.write == BOTH:
            write_between(README, MARK, summary(report))
    return deliver(args.json, plain_data(report), markdown(report)) or complain(report.unequal)


@dataclass(frozen=True, slots=True)
class Bench:
    """What all parts work on."""

    options: plans.BenchOptions
    source: TraceSource
    prompts: Sequence[PromptCard]
    pair: tuple[LoadedModel, LoadedModel]
    """target and drafter, the very models that the source has loaded"""
    max_minutes: float | None


def _measured(bench: Bench) -> Report:
    options, prompts = bench.options, bench.prompts
    contestants = plans.own_contestants(bench.source, options)
    for contestant in contestants:
        reason = bench.source.explain(replace(contestant.request, prompt=prompts[0].text))
        if reason:
            raise OptionError(reason)
    origin = origin_of([_header(bench.source, contestant, prompts[0]) for contestant in contestants[:2]])
    found: dict[float, list[ContestRun]] = {}
    planned, wrong = 0, list[str]()
    with time_limit(bench.max_minutes) as cancelled:
        for temperature in options.temperatures:
            own = plans.own_contestants(bench.source, options, temperature)
            other = theirs(options, origin.machine, temperature) if options.transformers else []
            contest = ContestPlan([*own, *other], prompts, options.repeats)
            planned += contest.runs
            err().line(f"temperature {temperature:g}: warming up, then {contest.runs} runs…")
            found[temperature] = list(progress(run_contest(contest, cancelled), "bench", contest.runs))
            names = [source_contestant.name for source_contestant in own]
            wrong += unequal(origin.target.dtype, temperature, found[temperature], names, plans.PLAIN)
        replay = _replay(bench.pair)
        priced = [contestant for contestant in contestants if contestant.request.drafter.name in plans.PRICED]
        share = _efficiency(priced, prompts, replay, cancelled)
        bare = _bare(bench.pair, cancelled)
    recorded = f"specviz: model γ={plans.middle_gamma(options.gammas)}{plans.RECORDED}"
    return Report(
        parts=_parts(found, share),
        origin=origin,
        max_new_tokens=options.template.max_new_tokens,
        prompts=len(prompts),
        repeats=options.repeats,
        seed=options.template.seed,
        complete=sum(map(len, found.values())) == planned,
        unequal=wrong,
        pass_times=replay.medians(),
        tracing_overhead=overhead([outcome for outcomes in found.values() for outcome in outcomes], recorded),
        bare=bare,
    )


def _parts(found: Mapping[float, Sequence[ContestRun]], share: Mapping[str, Efficiency]) -> list[Part]:
    """One per temperature that was reached; efficiency stands at the first. Raises BenchError where none was."""
    first, *others = found.items()
    return [part(*first, plans.PLAIN, share), *(part(*other, plans.PLAIN) for other in others if other[1])]


def read_options(args: argparse.Namespace) -> plans.BenchOptions:
    """Raises OptionError for lengths that are no numbers and counts below one."""
    at_least_one(args, ("prompts", "repeats", "max_new_tokens", "threads"))
    gammas = numbers(args, "gammas", int, "2,4,6")
    options = plans.BenchOptions(
        gammas=gammas,
        branching=args.branching,
        prompts_per_family=args.prompts,
        repeats=args.repeats,
        temperatures=temperatures(args),
        transformers=not args.no_transformers,
        template=RunRequest(prompt="", **{name: getattr(args, name) for name in (*PAIR, "max_new_tokens")}),
    )
    return plans.quick(options) if args.quick else options


def theirs(options: plans.BenchOptions, machine: Machine, temperature: float) -> list[Contestant]:
    """transformers on the same folders, in the number format our run has chosen."""
    from specviz.bench.speed import baselines
    from specviz.lm.place import locate

    template = options.template
    target, assistant, tokenizer = baselines.load_reference(
        locate(template.target), locate(template.drafter_model), machine.dtype, machine.device
    )
    sampling = baselines.sampling_arguments(temperature)
    reference = baselines.Reference(target, assistant, tokenizer, template.max_new_tokens, sampling, template.seed)
    middle = plans.middle_gamma(options.gammas)
    return [
        baselines.plain(reference),
        baselines.assisted(reference, middle),
        baselines.assisted_by_default(reference),
        baselines.prompt_lookup(reference, middle),
    ]


def check_yardstick(path: Path | None) -> None:
    """Raises OptionError where the file is not there, ModuleNotFoundError where llama.cpp is not: before the
    measurement."""
    if path is None:
        return
    if not path.is_file():
        raise OptionError(f"there is no file '{path}'; give a GGUF file.")
    importlib.import_module("llama_cpp")


def _yardstick(bench: Bench, path: Path) -> Sequence[BenchRow]:
    """Rows of a contest of its own, at temperature 0. Texts that repeat themselves count: nobody drafts."""
    from specviz.bench.speed import yardstick

    decoders = yardstick.contestants(bench.source, bench.options.template, path)
    contest = ContestPlan(decoders, bench.prompts, bench.options.repeats)
    err().line(f"yardstick {path.name}: {contest.runs} runs…")
    with time_limit(bench.max_minutes) as cancelled:
        outcomes = list(progress(run_contest(contest, cancelled), "yardstick", contest.runs))
    return plain_rows(outcomes, decoders[0].name)


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


def _pair(options: plans.BenchOptions, models: SharedModels) -> tuple[LoadedModel, LoadedModel]:
    template = options.template
    target, drafter = (
        models(name, device=template.device, dtype=template.dtype) for name in (template.target, template.drafter_model)
    )
    return target, drafter


def _fits(drafter: str, target: LoadedModel) -> bool:
    """Whether shipped weights of this drafter learnt from this target."""
    from specviz.drafters.learned.weights import MODULES_FOLDER, read_card

    folder = MODULES_FOLDER / drafter
    return folder.is_dir() and read_card(folder).target_sha256 == target.model.info.weights_sha256


def _replay(pair: tuple[LoadedModel, LoadedModel]) -> PassReplay:
    from specviz.bench.core.passes import pass_clock
    from specviz.bench.speed.efficiency import PassReplay

    target, drafter = (loaded.model for loaded in pair)
    clock, _ = pass_clock(target.device)
    return PassReplay(target, drafter, clock)


def _bare(pair: Sequence[LoadedModel], cancelled: Cancelled) -> list[PassTable]:
    """Passes beside reading their weights, of models of which it is known what a pass reads. Of several widths, though
    one is told: where nothing but one pass stands between two readings, a third of the memory stays in the cache."""
    from specviz.bench.passes import time_passes

    counted = [loaded for loaded in pair if loaded.model.info.read_per_pass]
    return [] if cancelled() else [time_passes(loaded, BARE_REPEATS) for loaded in counted]
