"""`specviz check`: check trace files against every rule of the format.

Place in the flow: reads files through the codec, asks `trace.check`, prints.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from specviz.cli.terminal import err, out, printable
from specviz.errors import TraceError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("traces", nargs="+", metavar="TRACE", type=Path, help="trace files, .json or .json.gz")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")


def run(args: argparse.Namespace) -> int:
    missing = [path for path in args.traces if not path.is_file()]
    if missing:
        raise TraceError(f"there is no file '{missing[0]}'; check the path.")
    reports = [_report(path) for path in args.traces]
    passed = all(report["ok"] for report in reports)
    if args.json:
        out().line(json.dumps({"ok": passed, "files": reports}))
    else:
        for report in reports:
            _print(report)
    return 0 if passed else 1


def _report(path: Path) -> dict[str, Any]:
    from specviz.trace import codec
    from specviz.trace.check import report_of, unreadable

    try:
        found = report_of(codec.read(path))
    except TraceError as error:
        found = unreadable(str(error).removeprefix(f"{path.name}: "))  # the line begins with the file's name already
    return {"file": str(path), **found}


def _print(report: dict[str, Any]) -> None:
    terminal = out() if report["ok"] else err()
    name = printable(report["file"], keep="")
    for problem in report["problems"]:
        severity = problem["severity"]
        painted = terminal.paint(severity, "error" if severity == "error" else "correction")
        where = f"{problem['place']} " if problem["place"] else ""
        terminal.line(f"{name}: {painted}: {printable(where + problem['sentence'], keep='')}")
    if report["ok"]:
        warnings = len(report["problems"])
        note = f", {warnings} warning{'s' * (warnings != 1)}" if warnings else ""
        sound = report["verdict"] == "sound"
        verdict = terminal.paint("sound", "accepted") if sound else terminal.paint("not recomputed", "correction")
        terminal.line(f"{name}: {verdict}, {report['rounds']} rounds{note}")
        for gap in report["not_recomputed"]:
            terminal.line(f"  not recomputed: {printable(gap, keep='')}")
