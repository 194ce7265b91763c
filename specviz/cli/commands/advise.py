"""`specviz advise`: which drafter for this target, on your own prompts?

Place in the flow: runs plain decoding and drafters interleaved over the live source (`bench.core`), prints a table, a
recommendation with the flags of engines, and how sure it is.
"""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from specviz.bench.core.contest import ContestPlan, ContestRun, contest, first_prompts
from specviz.bench.core.report import markdown_table, or_dash
from specviz.bench.core.rows import Plain, beside_plain, engine_speed, ratios, row_statistics
from specviz.bench.core.run import SourceContestant, first_run, on
from specviz.bench.speed_bench import report_of, table, write
from specviz.cli.experiment import time_limit
from specviz.cli.sources import live_source
from specviz.cli.terminal import err, out, printable, progress
from specviz.doctor.advice import Advice, Candidate, advise
from specviz.doctor.engine_flags import layout_of
from specviz.errors import OptionError
from specviz.options import minutes
from specviz.protocol.prompt_file import read_prompts
from specviz.protocol.runs import PromptCard, RunRequest, TraceSource
from specviz.protocol.sweeps.points import BASELINE
from specviz.theory.formulas import StepTimes
from specviz.theory.rows import rates_of
from specviz.theory.what_if import Clock, best_gamma
from specviz.trace.header import Started

TRAINING_FREE = "ngram,suffix,token_recycling,lookahead"
OWN_MODEL = "model"
PER_FAMILY = 3
"""prompts of each of the catalog's families, where none are given"""
LONGEST = 16
"""speculation lengths that are looked at"""
WIDTH = 100


@dataclass(frozen=True, slots=True)
class Way:
    """One way of decoding."""

    name: str
    request: RunRequest
    model: str = ""
    """weights of a smaller model, or of a head"""


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--target", required=True, metavar="NAME", help="the model to decode with: name, folder, GGUF or hub id")
    add(
        "--prompts",
        type=Path,
        metavar="FILE",
        help=f'JSONL, a line like {{"text": "…", "family": "…"}} (default: {PER_FAMILY} of each bundled family)',
    )
    add("--categories", action="store_true", help="also each family by itself: length and acceptance by position")
    add("--report", type=Path, metavar="FILE", help="write that in the form of SPEED-Bench, as FILE.json and FILE.md")
    add("--minutes", type=minutes, default=10.0, metavar="N", help="stop after N minutes (default %(default)g)")
    add("--drafters", default=TRAINING_FREE, metavar="A,B", help="that need no weights (default %(default)s)")
    add("--drafter-model", action="append", default=[], metavar="NAME", help="a smaller model to try; may be repeated")
    add("--head", action="append", default=[], metavar="DRAFTER=WEIGHTS", help="a trained head; may be repeated")
    add("--max-new-tokens", type=int, default=96, metavar="N", help="of each answer (default %(default)s)")
    add("--temperature", type=float, default=0.0, metavar="T", help="of the target (default %(default)g)")
    add("--dtype", default="auto", metavar="D", help="number format of the weights")
    add("--device", default="auto", metavar="DEV", help="auto, cpu, cuda or mps")
    add("--chat", action="store_true", help="prompts are messages to an instruct model: use its template")
    add("--json", action="store_true", help="print one JSON object instead of a table")


def run(args: argparse.Namespace) -> int:
    if args.report is not None and not args.report.absolute().parent.is_dir():
        raise OptionError(f"--report is '{args.report.name}' in a folder that does not exist; make it first.")
    source = live_source()
    prompts = read_prompts(args.prompts) if args.prompts else first_prompts(source.catalog(), PER_FAMILY)
    ways, headers = _that_run(source, _ways(args), prompts[0])
    paired, plain, runs = _measure(source, ways, prompts, args.minutes)
    measured = [_candidate(way, headers[way.name], paired, plain) for way in ways if way.name != BASELINE]
    candidates = [candidate for candidate in measured if candidate is not None]
    if not candidates:
        raise OptionError(f"no drafter was measured within {args.minutes:g} minutes; give more with --minutes.")
    drafted = [outcome for outcome in paired if outcome.contestant != BASELINE]
    advice, report = advise(candidates), report_of(drafted, headers[BASELINE])
    written = () if args.report is None else write(report, args.report)
    if args.json:
        data = {"runs": runs, "candidates": [as_data(one) for one in candidates], **asdict(advice)}
        out().line(json.dumps({**data, "categories": [asdict(row) for row in report.rows]}))
        return 0
    _show(candidates, advice, headers[BASELINE], runs)
    if args.categories:
        out().write("\n" + printable(table(report)) + "\n")
    if written:
        out().line("Report: " + " and ".join(printable(str(path)) for path in written))
    return 0


def _ways(args: argparse.Namespace) -> list[Way]:
    base = RunRequest(
        "",
        target=args.target,
        temperature=args.temperature,
        max_new_tokens=args.max_new_tokens,
        dtype=args.dtype,
        device=args.device,
        chat=args.chat,
        record=False,
    )
    ways = [Way(BASELINE, base.with_drafter(BASELINE, {}))]
    ways += [Way(name, base.with_drafter(name, {})) for name in args.drafters.split(",") if name]
    for model in args.drafter_model:
        request = replace(base.with_drafter(OWN_MODEL, {}), drafter_model=model)
        ways.append(Way(f"{OWN_MODEL} {model}", request, model))
    for text in args.head:
        name, _, weights = text.partition("=")
        if not weights:
            raise OptionError(f"--head is '{text}', but must be a drafter and its weights, as eagle=./eagle.")
        ways.append(Way(f"{name} {weights}", base.with_drafter(name, {"weights": weights}), weights))
    return ways


def _that_run(source: TraceSource, ways: Sequence[Way], prompt: PromptCard) -> tuple[list[Way], dict[str, Started]]:
    """Those that can run on this target, each warmed up once, and their headers; the others are said with the reason.

    Raises OptionError where plain decoding or everybody else cannot."""
    running, headers = list[Way](), dict[str, Started]()
    for way in ways:
        tried = first_run(source, [on(prompt, way.request)])
        if tried is not None and tried.started is not None:
            running.append(way)
            headers[way.name] = tried.started
        elif way.name == BASELINE:
            raise OptionError(tried.reason if tried is not None else "plain decoding was cancelled.")
        elif tried is not None:
            err().line(f"left out: {way.name}: {printable(tried.reason, keep='')}")
    if len(running) < 2:
        raise OptionError("no drafter can run on this target; name others with --drafters or --drafter-model.")
    return running, headers


def _measure(
    source: TraceSource, ways: Sequence[Way], prompts: Sequence[PromptCard], limit: float
) -> tuple[list[ContestRun], Plain, int]:
    """Runs beside plain decoding, plain decoding's, and how many runs there were; as many prompts as time allows."""
    contestants = [SourceContestant(way.name, source, way.request) for way in ways]
    plan = ContestPlan(contestants, prompts, repeats=1, warm_up=False)
    with time_limit(limit) as cancelled:
        outcomes = list(progress(contest(plan, cancelled), "runs", plan.runs))
    paired, plain = beside_plain(outcomes, BASELINE)
    return paired, plain, len(outcomes)


def _candidate(way: Way, header: Started, paired: Sequence[ContestRun], plain: Plain) -> Candidate | None:
    group = [outcome for outcome in paired if outcome.contestant == way.name]
    if not group:
        return None
    rows = row_statistics(group, plain)
    by_prompt = ratios(group, plain, engine_speed)
    return Candidate(
        way.name,
        header.drafter.name,
        {prompt: median(values) for prompt, values in by_prompt.items()},
        way.model,
        layout_of(header.drafter.name, way.model),
        None if rows.acceptance_rate is None else rows.acceptance_rate.value,
        None if rows.tokens_per_pass is None else rows.tokens_per_pass.value,
        best_length(header, rates_of(outcome.measured.counts.levels for outcome in group)),
    )


def best_length(header: Started, rates: Sequence[float]) -> int | None:
    """The best chain by the header's clock; None without a length to choose, or a clock. `rates`: [d-1] of the rounds
    that tested depth d the share that accepted it, however many were drafted so deep."""
    if not rates or not header.step_times or "gamma" not in header.drafter.options:
        return None
    return best_gamma(rates, Clock(StepTimes.of(header.step_times), header.draft_step_s or 0.0), LONGEST)


def as_data(candidate: Candidate) -> dict[str, Any]:
    """What `--json` prints of each way. Stable: keys are added, never renamed."""
    return {**asdict(candidate), "ratio": candidate.ratio}


def _show(candidates: Sequence[Candidate], advice: Advice, header: Started, runs: int) -> None:
    terminal = out()
    rows = [
        [
            candidate.name,
            f"{candidate.ratio:.2f}",
            f"{min(candidate.ratios.values()):.2f} to {max(candidate.ratios.values()):.2f}",
            or_dash(candidate.acceptance_rate, "{:.0%}"),
            or_dash(candidate.tokens_per_pass, "{:.2f}"),
            or_dash(candidate.gamma, "{}"),
        ]
        for candidate in sorted(candidates, key=lambda candidate: candidate.ratio, reverse=True)
    ]
    columns = ["drafter", "× plain, median", "over prompts", "accepted", "tokens per pass", "best γ (modelled)"]
    terminal.write(printable(markdown_table(columns, rows)) + "\n")
    curve = ", ".join(f"{time.rows}: {1000 * time.median_s:.2f} ms" for time in header.step_times)
    terminal.line(
        printable(f"{header.target.name} in {header.target.dtype}, {runs} runs; t(n) {curve or 'not measured'}")
    )
    best = advice.best.name if advice.best else "plain decoding"
    terminal.line(f"Use {terminal.paint(printable(best), 'accepted')}, confidence {advice.sure}")
    for line in textwrap.wrap(printable(advice.why, keep=""), WIDTH, initial_indent="    ", subsequent_indent="    "):
        terminal.line(line)
    if advice.instead is not None:
        terminal.line(
            printable(
                f"No engine has it; of those that one has, {advice.instead.name} is the fastest, at "
                f"{advice.instead.ratio:.2f} times plain decoding:"
            )
        )
    for engine, flags in advice.flags.items():
        terminal.line(printable(f"    {engine}: {flags}"))
    for engine, why in advice.cannot.items():
        terminal.line(printable(f"    {engine} {why}"))
