"""`specviz predict`: predict a recorded sweep for this machine from three seconds of timing.

Place in the flow: a sweep's result → what must be timed → the engine's clock → `theory.sweep_clock` → a table; with
`--check` some of the sweep's cases are run as well, and the error stands beside them.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from specviz.bench.prediction import compare, small_sweep, table, verdict
from specviz.cli.experiment import add_count, at_least_one, deliver, time_limit
from specviz.cli.sources import SharedModels, live_source
from specviz.cli.terminal import err, progress
from specviz.errors import BenchError, ModelError, OptionError
from specviz.protocol.clocks import BUDGET_S, ClockRequest, Clocks, MachineClock
from specviz.protocol.runs import TraceSource
from specviz.protocol.sweeps import store as sweep_store
from specviz.protocol.sweeps.definition import run_count
from specviz.protocol.sweeps.points import SweepPoint
from specviz.protocol.sweeps.result import SweepResult, points_of
from specviz.resources import ROOT
from specviz.theory.sweep_clock import predict, question

RECORDED = ROOT / "sweeps" / "all_drafters.json.gz"


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "result",
        type=Path,
        nargs="?",
        default=RECORDED,
        metavar="RESULT",
        help="a sweep's result (default: the recorded one of every drafter)",
    )
    add("--seconds", type=float, default=BUDGET_S, metavar="S", help="to time passes for (default %(default)s)")
    add("--threads", type=int, default=1, metavar="N", help="torch threads (default %(default)s)")
    add("--check", action="store_true", help="also run some of its cases here and print how far the prediction is off")
    add(
        "--drafters",
        default="model,ngram",
        metavar="D,D,…",
        help="with --check: whose cases are run (default %(default)s)",
    )
    add_count(parser, "--prompts", 8, "with --check: prompts that they are run on, at the lowest temperature")
    add("--json", type=Path, metavar="FILE", help="write the rows as JSON; - prints them instead of the table")


def run(args: argparse.Namespace) -> int:
    from specviz.bench.core.report import plain_data

    at_least_one(args, ("threads", "prompts"))
    if not args.seconds > 0:
        raise OptionError(f"--seconds is {args.seconds:g}, but must be a number above 0.")
    result = sweep_store.read(args.result)
    models = SharedModels()
    clock = _clock(live_source(models, args.threads, measure=False), replace(question(result), budget_s=args.seconds))
    predicted = predict(result, clock)
    recorded = points_of(result)
    measured = _measured(args, result, live_source(models, args.threads), clock.machine.device) if args.check else []
    rows = compare(recorded, predicted.points, measured)
    about, here = result.provenance, clock.machine
    said = [
        table(rows),
        f"Recorded: {about.machine.processor}, {about.machine.dtype}, {about.created}. Predicted: {here.processor}, "
        f"{here.dtype}, threads: {here.threads}, from {clock.seconds:.1f} s of timing.",
        *([f"Not predicted, because their drafting was not timed: {', '.join(predicted.left_out)}."]
          if predicted.left_out else []),
        *([verdict(rows)] if measured else []),
    ]  # fmt: skip
    report = {"machine": plain_data(here), "clock": plain_data(clock), "rows": plain_data(rows)}
    return deliver(args.json, report, "\n\n".join(said) + "\n")


def _clock(source: TraceSource, request: ClockRequest) -> MachineClock:
    if not isinstance(source, Clocks):
        raise ModelError("this source has no machine whose passes could be timed; use the engine.")
    err().line(f"timing passes of {request.target} and {', '.join(request.drafter_models)}…")
    with time_limit() as cancelled:
        steps = list(source.clock(request, cancelled))
    if not steps or steps[-1].clock is None:
        raise BenchError("stopped before every width was timed three times, so nothing is predicted; let it run on.")
    return steps[-1].clock


def _measured(args: argparse.Namespace, result: SweepResult, source: TraceSource, device: str) -> list[SweepPoint]:
    """A real small sweep of the same cases, by the same clock as the passes."""
    import torch

    from specviz.bench.core.passes import pass_clock
    from specviz.bench.sweep.runner import runnable, sweep, warm_up
    from specviz.core.clock import read_by

    spec = small_sweep(result, source.catalog(), args.drafters.split(","), args.prompts)
    reading, _ = pass_clock(torch.device(device))
    with time_limit() as cancelled, read_by(reading):
        spec = runnable(spec, list(warm_up(source, spec, cancelled)))
        return list(progress(sweep(source, spec, cancelled), "check", run_count(spec)))
