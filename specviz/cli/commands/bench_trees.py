"""`specviz bench trees`: which growth policy and which verifier accept how much, and what is left to gain.

Place in the flow: an experiment of `specviz bench`; builds cases from a trace source, runs them prompt by prompt,
reads p and q of the prompts' texts for the ladder, prints and writes the report. Knows nothing about how decoding
works.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from specviz.bench.core import plan as plans
from specviz.bench.core.contest import ContestPlan
from specviz.bench.core.doc_sections import check_marks, write_between
from specviz.bench.core.source_contestant import SourceContestant
from specviz.cli.parts.bench import PAIR, add_count, add_pair_flags, at_least_one, deliver, numbers, run_contest
from specviz.cli.parts.sources import SharedModels, live_source
from specviz.cli.parts.terminal import err
from specviz.errors import OptionError
from specviz.protocol.runs import PromptCard, RunRequest, TraceSource
from specviz.resources import ROOT

if TYPE_CHECKING:
    from specviz.bench.trees.level_acceptance import Ladder
    from specviz.bench.trees.plan import TreePlan
    from specviz.bench.trees.rows import TreeRow
    from specviz.bench.trees.table import TreeReport
    from specviz.lm.load import LoadedModel

PAGE = ROOT.parent / "docs" / "bench_trees.md"
MARK = "bench trees"


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--lengths", default="3", metavar="N,N,…", help="fixed draft lengths (default %(default)s); empty: none")
    add("--budgets", default="6,14", metavar="N,N,…",
        help="fixed target budgets in candidates (default %(default)s); empty: none")  # fmt: skip
    add("--temperatures", default="0,1", metavar="T,T,…", help="sampling temperatures (default %(default)s)")
    add_count(parser, "--shapes", 2, "shapes tried per policy and budget")
    add_count(parser, "--prompts", 1, "prompts per family")
    add_count(parser, "--max-new-tokens", 48, "tokens per run")
    add("--speed", action="store_true", help="also measure decoding speed against plain decoding, interleaved")
    add("--ladder-candidates", default="2,4", metavar="N,N,…",
        help="candidates of the gain ladder's level (default %(default)s); empty: no ladder")  # fmt: skip
    add("--ladder-temperature", type=float, default=1.0, metavar="T", help="its temperature (default %(default)s)")
    add_count(parser, "--ladder-step", 4, "it looks at every Nth token of the prompts")
    add("--max-minutes", type=float, metavar="M", help="stop after M minutes and report what is done")
    add("--json", type=Path, metavar="FILE", help="write the report as JSON; - prints it instead of the tables")
    add("--write", type=Path, nargs="?", const=PAGE, metavar="PAGE",
        help="write the tables between the marks of a page, docs/bench_trees.md where none is named")  # fmt: skip
    add_pair_flags(parser)


def run(args: argparse.Namespace) -> int:
    from specviz.bench.trees.table import markdown, to_data

    at_least_one(args, ("shapes", "prompts", "max_new_tokens", "ladder_step", "threads"))
    plan = _plan(args)
    if args.write is not None:
        check_marks(args.write, MARK)
    models = SharedModels()
    source = live_source(models, args.threads)
    prompts = plans.prompts(source.catalog(), args.prompts)
    rows, complete = _runs(args, plan, source, prompts)
    pair = [models(name, device=args.device, dtype=args.dtype) for name in (args.target, args.drafter_model)]
    report = _report(args, (rows, complete), prompts, pair)
    if args.write is not None:
        write_between(args.write, MARK, markdown(report))
    return deliver(args.json, to_data(report), markdown(report))


def _plan(args: argparse.Namespace) -> TreePlan:
    """Raises OptionError for flags that are no numbers, or sizes below one."""
    from specviz.bench.trees.plan import TreePlan
    from specviz.tree_policies.parts.acceptance_vector import vector_for

    sizes = {name: numbers(args, name, int, "6,14") for name in ("lengths", "budgets", "ladder_candidates")}
    for name, values in sizes.items():
        if any(value < 1 for value in values):
            raise OptionError(f"--{name.replace('_', '-')} is '{getattr(args, name)}', but must be at least 1 each.")
    return TreePlan(
        lengths=sizes["lengths"],
        budgets=sizes["budgets"],
        temperatures=numbers(args, "temperatures", float, "0,1"),
        shapes=args.shapes,
        vector=vector_for(None)[1],
        template=RunRequest(
            prompt="", max_new_tokens=args.max_new_tokens, **{name: getattr(args, name) for name in PAIR}
        ),
    )


def _runs(
    args: argparse.Namespace, plan: TreePlan, source: TraceSource, prompts: Sequence[PromptCard]
) -> tuple[list[TreeRow], bool]:
    """The rows, and whether everything has run."""
    from specviz.bench.trees.plan import cases, plain_name
    from specviz.bench.trees.rows import rows

    if not plan.lengths and not plan.budgets:
        return [], True
    chosen = cases(source, plan)
    contestants = [SourceContestant(case.name, source, case.request) for case in chosen]
    if args.speed:
        base = replace(plan.template, drafter="none", record=False)
        contestants = [
            *(SourceContestant(plain_name(t), source, replace(base, temperature=t)) for t in plan.temperatures),
            *contestants,
        ]
    err().line(f"{len(contestants)} contestants × {len(prompts)} prompts…")
    contest = ContestPlan(contestants, prompts, repeats=1, warm_up=args.speed)
    outcomes = run_contest(contest, args.max_minutes)
    return rows(chosen, outcomes, args.seed), len(outcomes) == contest.runs


def _report(
    args: argparse.Namespace,
    measured: tuple[Sequence[TreeRow], bool],
    prompts: Sequence[PromptCard],
    pair: Sequence[LoadedModel],
) -> TreeReport:
    from specviz.bench.trees.table import TreeReport
    from specviz.engine.header import model_card
    from specviz.lm.step_time import machine

    target, drafter = pair
    ladder = _ladder(args, prompts, pair)
    return TreeReport(
        rows=measured[0],
        ladder=ladder.rungs(),
        ladder_temperature=args.ladder_temperature,
        places=ladder.places,
        target=model_card(target.info),
        drafter=model_card(drafter.info),
        machine=machine(target.model.device, target.info.dtype),
        created=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        prompts=len(prompts),
        max_new_tokens=args.max_new_tokens,
        seed=args.seed,
        complete=measured[1],
    )


def _ladder(args: argparse.Namespace, prompts: Sequence[PromptCard], pair: Sequence[LoadedModel]) -> Ladder:
    from specviz.bench.core.contexts import Places, distributions
    from specviz.bench.trees.level_acceptance import Ladder
    from specviz.core.sampling import Sampling

    ladder = Ladder(numbers(args, "ladder_candidates", int, "2,4"), args.seed)
    if ladder.candidates:
        places = Places(prompts, args.ladder_step, Sampling(args.ladder_temperature))
        target, drafter = pair
        for _, p, q in distributions(target, drafter, places):
            ladder.add(p, q)
    return ladder
