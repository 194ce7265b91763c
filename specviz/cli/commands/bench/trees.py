"""`specviz bench trees`: which tree policy and which verifier accept how much, and what is left to gain.

Place in the flow: an experiment of `specviz bench`; builds cases from a trace source, runs them prompt by prompt, has
all verifiers judge the same trees, reads p and q of the prompts' texts for the acceptance of one level, prints and
writes the report.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from specviz.bench.core.contest import ContestPlan, ContestRun, contest, first_prompts
from specviz.bench.core.report import origin_here, plain_data, write_between
from specviz.bench.core.rows import texts
from specviz.bench.core.run import SourceContestant
from specviz.cli.experiment import (
    PAIR,
    Cancelled,
    add_count,
    add_pair_flags,
    add_temperatures,
    add_write,
    at_least_one,
    check_write,
    deliver,
    numbers,
    page_of,
    temperatures,
    time_limit,
)
from specviz.cli.sources import SharedModels, live_source
from specviz.cli.terminal import err, progress
from specviz.errors import OptionError
from specviz.options import minutes
from specviz.protocol.choice import Choice
from specviz.protocol.runs import PromptCard, RunRequest, TraceSource
from specviz.resources import ROOT

if TYPE_CHECKING:
    from specviz.bench.trees.plan import TreeCase, TreePlan
    from specviz.bench.trees.rules import LevelAcceptance, SameTreeRow
    from specviz.bench.trees.table import TreeReport
    from specviz.engine.session import Method
    from specviz.lm.load import LoadedModel

SUMMARY = "compare tree policies and verifiers at a fixed speculation length and at a fixed target budget"
PAGE = ROOT.parent / "docs" / "bench_trees.md"
MARK = "bench trees"
QUICK = (16, "0")
"""tokens and temperatures"""


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--lengths", default="3", metavar="N,N,…", help="fixed draft lengths (default %(default)s); empty: none")
    add(
        "--budgets",
        default="14",
        metavar="N,N,…",
        help="fixed target budgets in candidates (default %(default)s); empty: none",
    )
    add_temperatures(parser)
    add_count(parser, "--shapes", 1, "shapes tried per policy and budget, each a row of its own")
    add_count(parser, "--prompts", 1, "prompts per family")
    add_count(parser, "--max-new-tokens", 128, "tokens per run, where its text does not end before")
    add(
        "--quick",
        action="store_true",
        help="16 tokens, temperature 0 alone: half a minute; otherwise about five on two idle cores",
    )
    add("--speed", action="store_true", help="also measure decoding speed against plain decoding, interleaved")
    add(
        "--level-candidates",
        default="2,4",
        metavar="N,N,…",
        help="candidates of the level (default %(default)s); empty: no such table",
    )
    add("--level-temperature", type=float, default=1.0, metavar="T", help="its temperature (default %(default)s)")
    add_count(parser, "--level-step", 4, "it looks at every Nth token of the prompts")
    add("--max-minutes", type=minutes, metavar="M", help="stop after M minutes and report what is done")
    add("--json", type=Path, metavar="FILE", help="write the report as JSON; - prints it instead of the tables")
    add_write(parser, "docs/bench_trees.md")
    add_pair_flags(parser)


@dataclass(frozen=True, slots=True)
class Bench:
    """What all parts of the experiment work on."""

    args: argparse.Namespace
    plan: TreePlan
    source: TraceSource
    cases: Sequence[TreeCase]
    prompts: Sequence[PromptCard]
    target: LoadedModel
    drafter: LoadedModel


def run(args: argparse.Namespace) -> int:
    from specviz.bench.trees.plan import cases
    from specviz.bench.trees.table import markdown

    if args.quick:
        args.max_new_tokens, args.temperatures = QUICK
    at_least_one(args, ("shapes", "prompts", "max_new_tokens", "level_step", "threads"))
    plan = _plan(args)
    check_write(args.write, MARK, PAGE)
    models = SharedModels()
    source = live_source(models, args.threads)
    prompts = first_prompts(source.catalog(), args.prompts)
    chosen = cases(source, plan) if plan.lengths or plan.budgets else []
    pair = (models(name, device=args.device, dtype=args.dtype) for name in (args.target, args.drafter_model))
    report = _report(Bench(args, plan, source, chosen, prompts, *pair))
    if args.write is not None:
        write_between(page_of(args.write, PAGE), MARK, markdown(report))
    return deliver(args.json, plain_data(report), markdown(report))


def _plan(args: argparse.Namespace) -> TreePlan:
    """Raises OptionError for flags that are no numbers, or sizes below one."""
    from specviz.bench.trees.plan import TreePlan
    from specviz.tree_policies.acceptance_vector import vector_for

    sizes = {name: numbers(args, name, int, "6,14") for name in ("lengths", "budgets", "level_candidates")}
    for name, values in sizes.items():
        if any(value < 1 for value in values):
            raise OptionError(f"--{name.replace('_', '-')} is '{getattr(args, name)}', but must be at least 1 each.")
    return TreePlan(
        lengths=sizes["lengths"],
        budgets=sizes["budgets"],
        temperatures=temperatures(args),
        shapes=args.shapes,
        vector=vector_for(None)[1],
        template=RunRequest(
            prompt="", max_new_tokens=args.max_new_tokens, **{name: getattr(args, name) for name in PAIR}
        ),
    )


def _report(bench: Bench) -> TreeReport:
    from specviz.bench.trees.plan import plain_name
    from specviz.bench.trees.table import TreeReport, classes, rows

    args = bench.args
    with time_limit(args.max_minutes) as cancelled:
        outcomes, all_run = _runs(bench, cancelled)
        same_trees, all_judged = _same_trees(bench, outcomes, cancelled)
    by_class = classes(bench.cases, outcomes)
    levels = _level_acceptance(bench)
    return TreeReport(
        rows=rows(bench.cases, by_class.varied, args.seed, args.speed),
        repeating=rows(bench.cases, by_class.repeating, args.seed, args.speed),
        texts=[(heat, texts(outcomes, plain_name(heat))) for heat in bench.plan.temperatures],
        same_trees=same_trees,
        levels=levels.rows(),
        level_temperature=args.level_temperature,
        places=levels.places,
        origin=origin_here(bench.target, bench.drafter),
        prompts=len(bench.prompts),
        max_new_tokens=args.max_new_tokens,
        seed=args.seed,
        complete=all_run and all_judged,
    )


def _runs(bench: Bench, cancelled: Cancelled) -> tuple[list[ContestRun], bool]:
    """The outcomes, and whether everything has run. All cases of a prompt run with the same seed, plain decoding too:
    its texts say which prompts repeat themselves."""
    from specviz.bench.trees.plan import plain_name

    args, source, plan = bench.args, bench.source, bench.plan
    contestants = [SourceContestant(case.name, source, case.request) for case in bench.cases]
    if contestants:
        base = replace(plan.template, drafter=Choice("none"), record=False)
        contestants = [
            *(SourceContestant(plain_name(t), source, replace(base, temperature=t)) for t in plan.temperatures),
            *contestants,
        ]
    err().line(f"{len(contestants)} contestants × {len(bench.prompts)} prompts…")
    runs = ContestPlan(contestants, bench.prompts, repeats=1, warm_up=args.speed)
    outcomes = list(progress(contest(runs, cancelled), "bench", runs.runs))
    return outcomes, len(outcomes) == runs.runs


def _same_trees(bench: Bench, outcomes: Sequence[ContestRun], cancelled: Cancelled) -> tuple[list[SameTreeRow], bool]:
    """The verifiers on the same trees of the texts that do not repeat themselves, and whether everything was judged."""
    from specviz.bench.trees import rules
    from specviz.bench.trees.table import varied

    setup = rules.Setup(bench.target, lambda request: _method(bench, request))
    total = len(rules.same_trees(bench.cases)) * len(bench.prompts)
    err().line(f"the same trees for all verifiers: {total} runs…")
    loop = rules.judge_all(setup, bench.cases, bench.prompts, cancelled)
    judged = list(progress(loop, "same trees", total))
    places = varied(bench.cases, outcomes)
    chosen = [one for one in judged if (one.tree[1], one.prompt) in places]
    return rules.rows(chosen, bench.args.seed), len(judged) == total


def _method(bench: Bench, request: RunRequest) -> Method:
    """A fresh drafter with its tree policy, as a run of this request has it."""
    from specviz.core.randomness import SeededRandom
    from specviz.drafters.capabilities import policies_of, with_model
    from specviz.engine.session import Method
    from specviz.live.plan import make_plan
    from specviz.tree_policies.base import Pair

    plan = make_plan(request)
    drafter = with_model(plan.drafter, bench.drafter.model)
    policy = policies_of(drafter).tree_policy
    if policy is not None:
        target, draft = (one.info.weights_sha256 for one in (bench.target, bench.drafter))
        policy.prepare(Pair(target, draft, request.temperature))
    return Method(drafter, plan.verifier, plan.sampling, SeededRandom(request.seed))


def _level_acceptance(bench: Bench) -> LevelAcceptance:
    from specviz.bench.core.passes import Places, distributions
    from specviz.bench.trees.rules import LevelAcceptance
    from specviz.core.sampling import Sampling

    args = bench.args
    levels = LevelAcceptance(numbers(args, "level_candidates", int, "2,4"), args.seed)
    if levels.candidates:
        places = Places(bench.prompts, args.level_step, Sampling(args.level_temperature))
        for _, p, q in distributions(bench.target, bench.drafter, places):
            levels.add(p, q)
    return levels
