"""`specviz analyse`: say why a drafter's candidates are rejected, over one trace, two, or a folder of hundreds.

Place in the flow: reads files through the codec, asks `theory.analysis`, prints. Needs no model.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from specviz.cli.analysis_report import DOCUMENT, SECTION, comparison, report, section
from specviz.cli.sources import readable, trace_files
from specviz.cli.terminal import err, out, printable, progress
from specviz.errors import OptionError, TraceError
from specviz.theory.analysis.analyse import PATTERNS, SURPRISING, Named, analyses, compare, csv_files, matching
from specviz.theory.analysis.facts import RunFacts, facts_of


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("traces", nargs="+", metavar="TRACE|FOLDER", type=Path, help="trace files, or folders with traces below them")
    add("--drafter", action="append", metavar="NAME", help="only traces of this drafter; may be repeated")
    add("--compare", action="store_true", help="two traces side by side: first difference, rounds by position")
    add("--pattern", choices=sorted(PATTERNS), metavar="NAME", help=f"name the rounds of: {', '.join(PATTERNS)}")
    bits = f"with --pattern surprise: of more than this many bits (default {SURPRISING:g})"
    add("--bits", type=float, default=SURPRISING, metavar="B", help=bits)
    add("--csv", type=Path, metavar="DIR", help="also write candidates, rounds and every table as CSV files there")
    page = "write each drafter's most frequent kinds of failure between the marks of PAGE (default docs/analysis.md)"
    add("--write", nargs="?", type=Path, const=DOCUMENT, metavar="PAGE", help=page)
    add("--json", action="store_true", help="print one JSON object instead of lines")
    ray_words = "count on the workers of a Ray cluster, a trace at a time: host:6379, auto, or local for these cores"
    add("--ray", metavar="ADDRESS", help=ray_words)


def run(args: argparse.Namespace) -> int:
    if args.write is not None:
        return _write_page(args.traces, args.write)
    if not args.bits >= 0:
        raise OptionError(f"a surprise is not counted in {args.bits:g} bits; give --bits a number of at least 0.")
    files = trace_files(args.traces)
    if args.compare and len(files) != 2:
        raise OptionError(f"--compare sets two traces side by side, but {len(files)} are given.")
    if args.compare and args.ray is not None:
        raise OptionError("--ray counts many traces, and --compare sets two side by side; leave one of them out.")
    refused: list[str] = []
    both: list[Named] = list(readable(files, refused)) if args.compare else []
    if args.compare:
        runs = [facts_of(name, trace) for name, trace in both]
    elif args.ray is None:
        runs = [
            facts_of(name, trace) for name, trace in readable(list(progress(files, "reading", len(files))), refused)
        ]
    else:
        runs = _spread(files, args.ray, refused)
    for sentence in refused:
        err().line(f"skipped: {printable(sentence, keep='')}")
    runs = _chosen(runs, args.drafter or [])
    if args.csv is not None:
        _write(args.csv, runs)
    if args.json:
        out().line(json.dumps(_as_data(args, runs, both, refused)))
    else:
        _print(args, runs, both)
    return 1 if refused else 0


def _spread(files: Sequence[tuple[str, Path]], address: str, refused: list[str]) -> list[RunFacts]:
    """The same on a cluster, whose workers need not see this machine's files."""
    from specviz.bench.core.on_ray import each

    stored = [(name, path.name, path.read_bytes()) for name, path in files]
    found = list(progress(each(address, _counted, stored), "counting", len(stored)))
    refused += [one for one in found if isinstance(one, str)]
    return [one for one in found if not isinstance(one, str)]


def _counted(stored: tuple[str, str, bytes]) -> RunFacts | str:
    """Facts of a trace (name, file's name, content), or the sentence why it cannot be read; in a worker."""
    from specviz.trace import codec

    name, file, content = stored
    try:
        return facts_of(name, codec.loads(content))
    except TraceError as error:
        return f"{file}: {error}"


def _write_page(places: Sequence[Path], page: Path) -> int:
    from specviz.bench.core.report import write_between

    if len(places) != 1:
        raise OptionError(f"--write takes one folder of traces, but {len(places)} places are given.")
    write_between(page, SECTION, section(places[0], messages=page != DOCUMENT))  # that page is of one target
    out().line(f"written: {printable(str(page), keep='')}")
    return 0


def _chosen(runs: Sequence[RunFacts], wanted: Sequence[str]) -> list[RunFacts]:
    """Runs of the wanted drafters; a name fits the drafter whatever its model."""
    have = sorted({run.drafter for run in runs})
    unknown = [name for name in wanted if not any(_fits(name, drafter) for drafter in have)]
    if unknown and have:
        raise OptionError(f"--drafter is '{unknown[0]}', but these traces are of: {', '.join(have)}.")
    return [run for run in runs if not wanted or any(_fits(name, run.drafter) for name in wanted)]


def _fits(name: str, drafter: str) -> bool:
    return name in (drafter, drafter.partition(" (")[0])


def _write(folder: Path, runs: Sequence[RunFacts]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in csv_files(runs, analyses(runs)).items():
        (folder / name).write_text(content, encoding="utf-8")


def _as_data(
    args: argparse.Namespace, runs: Sequence[RunFacts], both: Sequence[Named], refused: Sequence[str]
) -> dict[str, object]:
    """What `--json` prints. Stable: keys are added, never renamed."""
    found: dict[str, object] = {"drafters": [asdict(analysis) for analysis in analyses(runs)], "skipped": list(refused)}
    if args.pattern:
        found["rounds"] = [asdict(this) for run in runs for this in matching(run.rounds, args.pattern, args.bits)]
    if len(both) == 2:
        found["comparison"] = asdict(compare(*both))
    return found


def _print(args: argparse.Namespace, runs: Sequence[RunFacts], both: Sequence[Named]) -> None:
    terminal = out()
    if len(both) == 2:
        for line in comparison(compare(*both)):
            terminal.line(line)
        return
    if args.pattern:
        what, _ = PATTERNS[args.pattern]
        terminal.line(f"{args.pattern}: {what}")
        for run in runs:
            for this in matching(run.rounds, args.pattern, args.bits):
                told = f"{run.name} round {this.index}: {this.accepted} of {this.drafted} accepted, {this.origin}"
                terminal.line(f"  {printable(told, keep='')}")
        return
    for number, analysis in enumerate(analyses(runs)):
        if number:
            terminal.line()
        for line in report(analysis):
            terminal.line(line)
