"""`specviz study`: measure what a study asks, show it, and keep it where it is shipped.

Place in the flow: each study of `specviz/studies` is a part of this command, from its declaration alone. What measures
is imported when it runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from specviz.bench.core.report import check_section, write_between
from specviz.cli.experiment import add_pair_flags, add_target_flags, complain, time_limit
from specviz.cli.sources import SharedModels, live_source
from specviz.cli.terminal import err, out, printable, progress
from specviz.errors import OptionError
from specviz.studies.study import STUDIES, Study, Workplace, studies
from specviz.trace.files import check_place

OWN = Path()
"""`--write` and `--tables` without a path: the study's own page and file"""


def configure(parser: argparse.ArgumentParser) -> None:
    chosen = parser.add_subparsers(dest="study", metavar="STUDY", required=True)
    for study in sorted(studies(), key=lambda study: study.command):
        summary = study.summary
        add_flags(
            chosen.add_parser(study.command, help=summary, description=_sentence(summary), allow_abbrev=False), study
        )


def run(args: argparse.Namespace) -> int:
    return run_study(STUDIES.get(args.study.replace("-", "_")), args)


def add_alias(add_parser: Callable[..., argparse.ArgumentParser], word: str, study: Study[Any]) -> None:
    """An older command of the study: the last word of it, such as `batch` of `bench batch`."""
    summary = f"now `specviz study {study.command}`: {study.summary}"
    add_flags(add_parser(word, help=summary, description=_sentence(summary), allow_abbrev=False), study)


def run_alias(study: Study[Any], args: argparse.Namespace, typed: str) -> int:
    """Says in a line what the command is called now, and runs it."""
    err().line(f"`specviz {typed}` is now `specviz study {study.command}`, with the same flags.")
    return run_study(study, args)


def add_flags(parser: argparse.ArgumentParser, study: Study[Any]) -> None:
    """The study's own flags, those of the pair where it takes any, and where the result goes."""
    only = parser.add_mutually_exclusive_group() if any(flag.alone for flag in study.flags) else parser
    for flag in study.flags:
        (only if flag.alone else parser).add_argument(flag.name, **flag.settings)
    told = f"docs/{study.page}"
    kept = "" if study.codec is None else f", and keep the result in assets/{study.file}"
    parser.add_argument(
        "--write",
        type=Path,
        nargs="?",
        const=OWN,
        metavar="PAGE",
        help=f"write the tables between the marks of a page; where none is named, of {told}{kept}",
    )
    if study.codec is not None:
        only.add_argument(
            "--tables",
            type=Path,
            nargs="?",
            const=OWN,
            metavar="FILE",
            help="measure nothing: show the tables of a result; where none is named, of the kept one, and write them "
            f"into {told}",
        )
        words = ("--result", study.result_flag) if study.result_flag else ("--result",)
        parser.add_argument(*words, type=Path, metavar="FILE", help="the result, to a .json or .json.gz")
    if study.shared_flags == "pair":
        add_pair_flags(parser)
    elif study.shared_flags == "target":
        add_target_flags(parser)


def run_study(study: Study[Any], args: argparse.Namespace, shown: Callable[[Any], str] | None = None) -> int:
    """Measures, or reads what `--tables` names; shows the tables, or what `shown` makes of the result; keeps and writes
    what is asked for. Raises what is wrong with places before anything is measured."""
    _check_counts(study, args)
    tables, given = getattr(args, "tables", None), getattr(args, "result", None)
    page = study.document if OWN in (args.write, tables) and args.write in (None, OWN) else args.write
    if page is not None:
        check_section(page, study.section)
    paths = [study.path] if args.write == OWN and tables is None and study.codec is not None else []
    paths += [given] if given is not None else []
    for path in paths:
        if path == study.path:
            path.parent.mkdir(parents=True, exist_ok=True)
        check_place(path, f"a {study.codec.noun}" if study.codec else "")
    workplace = _workplace(args)
    if tables is not None and study.codec is not None:
        result = study.codec.read(study.path if tables == OWN else tables)
    else:
        _use_threads(args)
        result = study.measure(workplace)
        if result is None:
            return 0
    text = study.tables(result)
    out().line(printable(text if shown is None else shown(result)))
    if workplace.whole:
        for path in paths:
            study.codec.write(result, path)  # type: ignore[union-attr]
        if page is not None:
            write_between(page, study.section, text)
    return complain(study.complaints(result)) if tables is None else 0


def _check_counts(study: Study[Any], args: argparse.Namespace) -> None:
    """Raises OptionError for a number that is too small."""
    least = {flag.name: flag.least for flag in study.flags} | ({"--threads": 1} if study.shared_flags else {})
    for flag, fewest in least.items():
        value = getattr(args, flag.removeprefix("--").replace("-", "_"))
        if fewest is not None and value is not None and value < fewest:
            raise OptionError(f"{flag} is {value}, but must be at least {fewest}.")


def _use_threads(args: argparse.Namespace) -> None:
    """As many threads for torch as the flag says; a study without one needs no torch."""
    if hasattr(args, "threads"):
        from specviz.lm.step_time import use_threads

        use_threads(args.threads)


def _workplace(args: argparse.Namespace) -> Workplace:
    """A report goes to what is standard error when it comes."""
    models = SharedModels()
    return Workplace(
        args,
        models,
        source=lambda **how: live_source(models, getattr(args, "threads", 1), **how),
        say=lambda line: err().line(line),
        show=lambda line: out().line(printable(line)),
        row=lambda values: err().row(values),
        progress=progress,
        time_limit=time_limit,
    )


def _sentence(summary: str) -> str:
    return f"{summary[0].upper()}{summary[1:]}."
