"""`specviz audit`: recompute a trace from its checkpoints, and list every recorded value that they do not give.

Place in the flow: reads traces, asks the live engine's source (`Audits`), prints. `check` asks whether a trace agrees
with itself, this one whether it agrees with the models. Exit codes: 1 differences, 2 nothing could be recomputed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from specviz.bench.core.report import check_section, write_between
from specviz.cli.sources import live_source, trace_files
from specviz.cli.terminal import bar, err, out, printable, stop_on_interrupt
from specviz.errors import OptionError, SpecVizError
from specviz.protocol.audits import Audit, Audits
from specviz.resources import ROOT

MARK = "audit"


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("traces", nargs="+", metavar="TRACE", type=Path, help="trace files, .json or .json.gz, or folders of them")
    add(
        "--model",
        action="append",
        default=[],
        metavar="NAME=WHERE",
        help="take the header's model NAME from there: bundled name, folder or hub id",
    )
    add("--json", action="store_true", help="print one JSON object instead of lines")
    add(
        "--write",
        type=Path,
        nargs="?",
        const=Path("docs/audit.md"),
        metavar="PAGE",
        help="say in PAGE (default docs/audit.md) what was found",
    )


def run(args: argparse.Namespace) -> int:
    if args.write is not None:
        check_section(args.write, MARK)  # before the work, not after it
    files = [file for _, file in trace_files(args.traces)]
    reports = [_report(path, places(args.model)) for path in files]
    if args.json:
        out().line(json.dumps({"ok": all(one["ok"] for one in reports), "files": reports}))
    else:
        for report in reports:
            _print(report)
    if any(one["refused"] for one in reports):
        return 2
    if args.write is not None:
        write_between(args.write, MARK, _found(reports, files))
    return 0 if all(one["ok"] for one in reports) else 1


def _found(reports: Sequence[dict[str, Any]], files: Sequence[Path]) -> str:
    """The sentence of the page, with the weights by which `specviz remake` knows whether it still holds."""
    from specviz.cli.named_weights import bundled, in_words, named

    compared, wrong = (sum(report[count] for report in reports) for count in ("compared", "wrong"))
    asked = set[str]().union(*map(named, files))
    weights = {name: digits for name, digits in bundled(ROOT / "models").items() if digits in asked}
    runs = "one recorded run" if len(reports) == 1 else f"all {len(reports)} recorded runs"
    return (
        f"On {datetime.date.today().isoformat()}, {runs} ({_by_target(files)}): {compared:,} values compared, "
        f"{wrong:,} wrong.\n{in_words(weights)}"
    )


def _by_target(files: Sequence[Path]) -> str:
    """How many runs there are of each target, the most first."""
    from specviz.trace import codec

    counts = Counter(codec.read(file).started.target.name for file in files)
    return ", ".join(f"{count} of {printable(name, keep='')}" for name, count in counts.most_common())


def places(given: list[str]) -> dict[str, str]:
    """`target=./folder` → {"target": "./folder"}. Raises OptionError."""
    pairs = [text.partition("=") for text in given]
    for text, (name, _, place) in zip(given, pairs, strict=True):
        if not name or not place:
            raise OptionError(
                f"--model is '{text}', but must be a name in the header and where it lies, as target=./folder."
            )
    return {name: place for name, _, place in pairs}


def _report(path: Path, where: dict[str, str]) -> dict[str, Any]:
    try:
        audit = recompute(path, where)
    except SpecVizError as error:
        nothing = {"rounds": 0, "recomputed": 0, "compared": 0, "wrong": 0, "counts": {}, "differences": []}
        why = str(error).removeprefix(f"{path.name}: ")  # the line begins with the file's name already
        return {"file": str(path), "ok": False, "refused": why, **nothing, "not_recomputed": [], "how": []}
    return {
        "file": str(path),
        "ok": audit.complete and not audit.wrong,
        "refused": None,
        "rounds": audit.rounds,
        "recomputed": audit.done,
        "compared": audit.compared,
        "wrong": audit.wrong,
        "counts": {kind: asdict(count) for kind, count in audit.counts.items()},
        "differences": [asdict(difference) | {"sentence": str(difference)} for difference in audit.differences],
        "not_recomputed": list(audit.not_recomputed),
        "how": list(audit.how),
    }


def recompute(path: Path, where: dict[str, str]) -> Audit:
    """With a bar; Ctrl-C keeps what is done. Raises SpecVizError where nothing can be recomputed."""
    from specviz.trace import codec

    trace, source = codec.read(path), live_source()
    assert isinstance(source, Audits)
    stopped, begun = threading.Event(), threading.Event()
    found: Audit | None = None
    with stop_on_interrupt(begun, stopped), bar(len(trace.rounds), "rounds") as shown:
        for found in source.audit(trace, stopped.is_set, where):
            begun.set()
            shown.update(found.done - shown.n)
    assert found is not None
    return found


def _print(report: dict[str, Any]) -> None:
    terminal = out() if report["ok"] else err()
    name = printable(report["file"], keep="")
    if report["refused"]:
        terminal.line(f"{name}: {terminal.paint('not audited', 'error')}: {printable(report['refused'], keep='')}")
        return
    for one in report["differences"]:
        terminal.line(f"{name}: {terminal.paint('differs', 'error')}: {printable(one['sentence'], keep='')}")
    told = "audited" if report["recomputed"] == report["rounds"] else "stopped early"
    rounds = f"{report['recomputed']} of {report['rounds']} rounds"
    verdict = f"{report['compared']:,} values compared, {report['wrong']:,} wrong"
    terminal.line(f"{name}: {terminal.paint(told, 'accepted' if report['ok'] else 'error')}, {rounds}: {verdict}")
    for kind, count in report["counts"].items():
        terminal.line(f"  {kind}: {count['compared']:,} compared, {count['wrong']:,} wrong")
    for gap in report["not_recomputed"]:
        terminal.line(f"  not recomputed: {printable(gap, keep='')}")
    for sentence in report["how"]:
        terminal.line(f"  {printable(sentence, keep='')}")
