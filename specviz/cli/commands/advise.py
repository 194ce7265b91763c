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

from specviz.bench.core.contest import ContestPlan, ContestRun, contest
from specviz.bench.core.report import markdown_table
from specviz.bench.core.rows import Plain, beside_plain, engine_speed, ratios, row_statistics
from specviz.bench.core.run import SourceContestant, first_run, on
from specviz.cli.experiment import time_limit
from specviz.cli.sources import live_source
from specviz.cli.terminal import err, out, printable, progress
from specviz.doctor.advice import Advice, Candidate, advise
from specviz.errors import OptionError
from specviz.protocol.prompt_file import read_prompts
from specviz.protocol.runs import PromptCard, RunRequest, TraceSource
from specviz.protocol.sweeps.points import BASELINE
from specviz.theory.formulas import StepTimes
from specviz.theory.what_if import Clock, best_gamma
from specviz.trace.header import Started

TRAINING_FREE = "ngram,suffix,token_recycling,lookahead"
OWN_MODEL = "model"
MOST_POSITIONS = 8
"""columns of the table; --json has all"""
LONGEST = 16
"""speculation lengths that are looked at"""
WIDTH = 100


@dataclass(frozen=True, slots=True)
class Way:
    """One way of decoding."""

    name: str
    request: RunRequest
    model: str = ""
    """weights of a smaller model that drafts"""


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--target", required=True, metavar="NAME", help="the model to decode with: name, folder, GGUF or hub id")
    add("--prompts", required=True, type=Path, metavar="FILE", help='JSONL, a line like {"text": "…", "family": "…"}')
    add("--categories", action="store_true", help="also each family by itself: length and acceptance by position")
    add("--minutes", type=float, default=10.0, metavar="N", help="stop measuring after N minutes (default %(default)g)")
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
    prompts = read_prompts(args.prompts)
    if not args.minutes > 0:
        raise OptionError(f"--minutes is {args.minutes:g}, but must be a number above 0.")
    source = live_source()
    ways, headers = _that_run(source, _ways(args), prompts[0])
    paired, plain, runs = _measure(source, ways, prompts, args.minutes)
    measured = [_candidate(way, headers[way.name], paired, plain) for way in ways if way.name != BASELINE]
    candidates = [candidate for candidate in measured if candidate is not None]
    if not candidates:
        raise OptionError(f"no drafter was measured within {args.minutes:g} minutes; give more with --minutes.")
    advice = advise(candidates)
    if args.json:
        data = {"runs": runs, "candidates": [as_data(one) for one in candidates], **asdict(advice)}
        out().line(json.dumps({**data, "categories": [asdict(row) for row in categories(paired)]}))
        return 0
    _show(candidates, advice, headers[BASELINE], runs)
    if args.categories:
        out().write("\n" + printable(categories_table(categories(paired))) + "\n")
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
        ways.append(Way(f"{name} {weights}", base.with_drafter(name, {"weights": weights})))
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
    source: TraceSource, ways: Sequence[Way], prompts: Sequence[PromptCard], minutes: float
) -> tuple[list[ContestRun], Plain, int]:
    """Runs beside plain decoding, plain decoding's, and how many runs there were; as many prompts as time allows."""
    contestants = [SourceContestant(way.name, source, way.request) for way in ways]
    plan = ContestPlan(contestants, prompts, repeats=1, warm_up=False)
    with time_limit(minutes) as cancelled:
        outcomes = list(progress(contest(plan, cancelled), "runs", plan.runs))
    paired, plain = beside_plain(outcomes, BASELINE)
    return paired, plain, len(outcomes)


@dataclass(frozen=True, slots=True)
class Category:
    """One family of prompts with one drafter, in the form of SPEED-Bench (2604.09557): acceptance length, and of the
    steps that accepted so many candidates the share that accepted the next."""

    drafter: str
    family: str
    prompts: int
    acceptance_length: float
    conditional: tuple[float, ...]


def categories(paired: Sequence[ContestRun]) -> list[Category]:
    """By drafter, then by family in the order of the prompts; what drafted nothing there is left out."""
    groups: dict[tuple[str, str], list[ContestRun]] = {}
    for outcome in paired:
        groups.setdefault((outcome.contestant, outcome.family), []).append(outcome)
    rows = list[Category]()
    for drafter, family in sorted(groups, key=lambda key: key[0]):
        counted = row_statistics(groups[drafter, family])
        if counted.mean_acceptance_length is not None and counted.acceptance_by_depth:
            length, reached = counted.mean_acceptance_length.value, counted.acceptance_by_depth
            rows.append(Category(drafter, family, counted.prompts, length, conditional(reached)))
    return rows


def conditional(reached: Sequence[float]) -> tuple[float, ...]:
    """[d-1]: reached d ÷ reached d - 1, up to the first position that nothing reached."""
    rates, before = list[float](), 1.0
    for share in reached:
        if not before:
            break
        rates.append(min(1.0, share / before))
        before = share
    return tuple(rates)


def categories_table(rows: Sequence[Category]) -> str:
    """In Markdown, a column per position."""
    deepest = min(MOST_POSITIONS, max((len(row.conditional) for row in rows), default=0))
    columns = ["drafter", "category", "prompts", "acceptance length", *(f"position {d + 1}" for d in range(deepest))]
    body = [
        [
            row.drafter,
            row.family,
            str(row.prompts),
            f"{row.acceptance_length:.2f}",
            *(f"{row.conditional[d]:.2f}" if d < len(row.conditional) else "–" for d in range(deepest)),
        ]
        for row in rows
    ]
    return markdown_table(columns, body, words=2)


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
        None if rows.acceptance_rate is None else rows.acceptance_rate.value,
        None if rows.tokens_per_pass is None else rows.tokens_per_pass.value,
        _gamma(header, rows.acceptance_by_depth),
    )


def _gamma(header: Started, reached: Sequence[float]) -> int | None:
    """The best chain by the header's clock and acceptance by position; None without a length to choose, or a clock."""
    if not reached or not header.step_times or "gamma" not in header.drafter.options:
        return None
    return best_gamma(conditional(reached), Clock(StepTimes.of(header.step_times), header.draft_step_s or 0.0), LONGEST)


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
            "–" if candidate.acceptance_rate is None else f"{candidate.acceptance_rate:.0%}",
            "–" if candidate.tokens_per_pass is None else f"{candidate.tokens_per_pass:.2f}",
            "–" if candidate.gamma is None else str(candidate.gamma),
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
    for engine, flags in advice.flags.items():
        terminal.line(printable(f"    {engine}: {flags}"))
