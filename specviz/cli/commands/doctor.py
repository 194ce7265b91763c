"""`specviz doctor`: say what is wrong with somebody's speculation, from what their engine tells of it.

Place in the flow: reads records of any engine (files, or standard input), prints findings with their numbers. Needs no
model.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from specviz.cli.terminal import Terminal, err, out, printable
from specviz.doctor.findings import LESSONS, SIGNS, Costs, Finding, diagnose
from specviz.doctor.read import loads, read
from specviz.doctor.record import Record
from specviz.errors import OptionError, TraceError
from specviz.trace.files import STANDARD

STDIN = "-"
WIDTH = 100


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help=f"records of engines, or traces; {STDIN}: standard input"
    )
    parser.add_argument(
        "--cost-ratio", type=float, metavar="C", help="one drafter pass in target passes, where you know it"
    )
    parser.add_argument(
        "--plain", type=float, metavar="TOKENS_PER_S", help="the same engine's speed with speculation off"
    )
    parser.add_argument(
        "--clock", type=Path, metavar="FILE", help="a curve of `specviz profile`: passes of many rows cost more"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per file and line")


def run(args: argparse.Namespace) -> int:
    """1 where a file could not be read; the others are told of all the same."""
    costs = _costs(args)
    refused = False
    for index, name in enumerate(args.files):
        try:
            record = loads(sys.stdin.buffer.read(STANDARD.stored_bytes + 1)) if name == STDIN else read(name)
        except TraceError as error:
            err().line(f"skipped: {printable(str(error), keep='')}")
            refused = True
            continue
        findings = diagnose(record, costs)
        if args.json:
            out().line(json.dumps(as_data(name, record, findings)))
        else:
            show(out(), Path(name).name, record, findings, first=index == 0)
    return 1 if refused else 0


def _costs(args: argparse.Namespace) -> Costs:
    for flag, value in (("--cost-ratio", args.cost_ratio), ("--plain", args.plain)):
        if value is not None and not 0 <= value < 1e9:
            raise OptionError(f"{flag} is {value:g}, but must be a number of at least 0.")
    times = None
    if args.clock is not None:
        from specviz.protocol import profiles
        from specviz.theory.roofline import step_times

        times = step_times(profiles.read(args.clock))
    return Costs(args.cost_ratio, args.plain or None, times)


def as_data(name: str, record: Record, findings: Sequence[Finding]) -> dict[str, object]:
    """What `--json` prints per file. Stable: keys are added, never renamed."""
    return {
        "file": name,
        "engine": record.engine,
        "form": record.form,
        "num_draft_tokens": record.drafted,
        "num_accepted_draft_tokens": record.accepted,
        "num_spec_steps": record.steps,
        "draft_acceptance_rate": record.rate,
        "mean_acceptance_length": record.tokens_per_step,
        "acceptance_by_position": record.by_position,
        "findings": [asdict(finding) for finding in findings],
    }


def show(terminal: Terminal, name: str, record: Record, findings: Sequence[Finding], first: bool) -> None:
    """One record: what it is, then a paragraph per finding."""
    if not first:
        terminal.line("")
    terminal.line(printable(f"{name}: {record.title}", keep=""))
    for finding in findings:
        title, lesson = finding.title, LESSONS.get(finding.lesson)
        terminal.line(f"{SIGNS[finding.level][0]} {title}")
        formula = f" [{finding.formula}]" if finding.formula else ""
        where = f" Lesson {lesson[0]}: {lesson[1]}." if lesson else ""
        text = printable(f"{finding.sentence}{formula}{where}", keep="")
        for line in textwrap.wrap(text, WIDTH, initial_indent="    ", subsequent_indent="    "):
            terminal.line(line)
