"""`specviz acceptance`: set side by side how much of their drafts runs of any engine accepted.

Place in the flow: reads traces and the records of vLLM, SGLang and AIPerf, prints one line per file. Needs no model.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from specviz.bench.core.report import or_dash
from specviz.cli.terminal import err, out, printable
from specviz.errors import TraceError
from specviz.protocol.acceptance import AcceptanceRun, read

MOST_DEPTHS = 8
"""columns of the table; --json has all"""


def configure(parser: argparse.ArgumentParser) -> None:
    told = "traces, responses of vLLM or SGLang, AIPerf's profile_export.jsonl"
    parser.add_argument("files", nargs="+", metavar="FILE", type=Path, help=told)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")


def run(args: argparse.Namespace) -> int:
    """1 where a file could not be read; the others are shown all the same."""
    runs, refused = list[AcceptanceRun](), list[str]()
    for path in args.files:
        try:
            runs.append(read(path))
        except TraceError as error:
            refused.append(str(error))
    for sentence in refused:
        err().line(f"skipped: {printable(sentence, keep='')}")
    if args.json:
        out().line(json.dumps({"runs": [as_data(one) for one in runs], "skipped": refused}))
    elif runs:
        for line in table(runs):
            out().line(line)
    return 1 if refused else 0


def as_data(run: AcceptanceRun) -> dict[str, Any]:
    """What `--json` prints per file. Stable: keys are added, never renamed."""
    total = run.total
    return {
        "file": run.name,
        "engine": run.engine,
        "summary_only": not run.traced,
        "requests": len(run.requests),
        "requests_without": run.silent,
        "num_spec_steps": total.spec_steps,
        "num_draft_tokens": total.draft_tokens,
        "num_accepted_draft_tokens": total.accepted_tokens,
        "draft_acceptance_rate": total.rate,
        "mean_acceptance_length": total.mean_length,
        "acceptance_histogram": None if total.histogram is None else list(total.histogram),
        "reached": None if total.reached is None else list(total.reached),
        "num_output_tokens": total.output_tokens,
    }


def table(runs: Sequence[AcceptanceRun]) -> list[str]:
    """One line per file, columns as wide as they need; every step of a file counts once."""
    depths = min(MOST_DEPTHS, max(len(run.total.reached or ()) for run in runs))
    head = ["run", "engine", "requests", "steps", "drafted", "accepted", "rate", "mean length"]
    rows = [[*head, *(f"≥ {depth}" for depth in range(1, depths + 1))]]
    for run in runs:
        total, reached = run.total, run.total.reached
        shares = [
            "–" if reached is None else f"{reached[depth]:.0%}" if depth < len(reached) else ""
            for depth in range(depths)
        ]
        counts = (len(run.requests), total.spec_steps, total.draft_tokens, total.accepted_tokens)
        fractions = (or_dash(total.rate, "{:.3f}"), or_dash(total.mean_length, "{:.2f}"))
        engine = run.engine if run.traced else f"{run.engine} *"
        rows.append(
            [*(printable(word, keep="") for word in (run.name, engine)), *map(str, counts), *fractions, *shares]
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    if depths:
        lines.append("≥ d: share of the steps that accepted at least d candidates; –: the engine does not tell")
    if any(not run.traced for run in runs):
        lines.append("* summary only: the engine tells counts, so there is no tree, no p, q or verdict to step through")
    silent = sum(run.silent for run in runs)
    if silent:
        lines.append(f"not counted: {silent} request{'s' * (silent != 1)} that told nothing of speculation")
    return lines
