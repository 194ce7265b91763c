"""`specviz bench passes`: how near the engine's passes are to the machine's memory, and what stands around them.

Place in the flow: flags → loaded models → `bench.passes` → two tables.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from specviz.cli.experiment import REQUEST, add_count, add_drafter_model, add_machine_flags, at_least_one, deliver
from specviz.cli.sources import SharedModels, live_source
from specviz.cli.terminal import err
from specviz.protocol.runs import RunRequest

SUMMARY = "compare passes with reading their weights, a drafter's step alone and in a round, and runs with their trace"
TEMPERATURES = (0.0, 0.8)


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--targets",
        default=REQUEST["target"],
        metavar="NAME,NAME,…",
        help="models whose passes are timed; rounds are the first one's (default %(default)s)",
    )
    add_drafter_model(parser, "; an empty name leaves the rounds out")
    add("--dtypes", default="float32,bfloat16", metavar="D,D,…", help="number formats (default %(default)s)")
    add_machine_flags(parser)
    add_count(parser, "--repeats", 30, "times of each pass, of which the fastest counts")
    add("--json", type=Path, metavar="FILE", help="write the report as JSON; - prints it instead of the tables")


def run(args: argparse.Namespace) -> int:
    from specviz.bench.core.contest import first_prompts
    from specviz.bench.core.report import plain_data
    from specviz.bench.passes import PassTable, RoundTable, tables, time_passes, time_rounds
    from specviz.lm.step_time import machine

    at_least_one(args, ("repeats", "threads"))
    source = live_source(models := SharedModels(), args.threads)
    targets, dtypes, drafter = args.targets.split(","), args.dtypes.split(","), args.drafter_model
    prompt = first_prompts(source.catalog(), 1)[0].text
    passes: list[PassTable] = []
    rounds: list[RoundTable] = []
    for dtype in dtypes:
        for name in (*targets, *([drafter] if drafter else [])):
            err().line(f"passes of {name} in {dtype}…")
            passes.append(time_passes(models(name, device=args.device, dtype=dtype), args.repeats))
        if drafter:
            err().line(f"rounds in {dtype}…")
            request = RunRequest(
                prompt, targets[0], drafter_model=drafter, dtype=dtype, device=args.device, max_new_tokens=128
            )
            target, model = (models(name, device=args.device, dtype=dtype).model for name in (targets[0], drafter))
            rounds += time_rounds(source, request, target, model, TEMPERATURES)
    here = machine(models(targets[0], device=args.device, dtype=dtypes[0]).model.device, "")
    about = f"{here.processor}, {here.cores} cores, threads: {here.threads}; torch {here.torch}, {here.system}."
    report = {"machine": about, "passes": plain_data(passes), "rounds": plain_data(rounds)}
    return deliver(args.json, report, f"{tables(passes, rounds)}\n\n{about}")
