"""`specviz grade`: check the rules that students handed in, offline, with a table for the teacher.

Place in the flow: reads a folder of text files through `specviz.written_rules`, prints who solved what. A rule is data
and never runs.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from specviz.cli.terminal import out, printable

if TYPE_CHECKING:
    from specviz.written_rules.tasks import HandIn

SOLVED, NOT_YET, NOTHING = "✓", "✗", "–"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="text files with the lines that students handed in")
    parser.add_argument("--csv", metavar="FILE", type=Path, help="also write every line, with what is wrong, as CSV")


def run(args: argparse.Namespace) -> int:
    from specviz.errors import OptionError
    from specviz.written_rules.tasks import hand_ins, tasks

    submitted = list(hand_ins(args.folder))
    if not submitted:
        raise OptionError(
            f"no line in '{args.folder}' is a rule that was handed in (specviz|1|rule-…); save what the page's Copy "
            "button copies."
        )
    last = {(handed.student, handed.task): handed for handed in submitted}
    for line in table(last, list(tasks())):
        out().line(printable(line, keep=""))
    out().line("")
    for handed in last.values():
        if not handed.checked.passed:
            out().line(printable(said(handed), keep=""))
    if args.csv is not None:
        write_csv(args.csv, submitted)
        out().line(f"wrote {len(submitted)} lines to {printable(str(args.csv), keep='')}")
    return 0


def table(last: Mapping[tuple[str, str], HandIn], columns: Sequence[str]) -> list[str]:
    """A row per student, a column per task, and how many each student solved."""
    students = list(dict.fromkeys(student for student, _ in last))
    wide = max(len("student"), *map(len, students))
    rows = [["student".ljust(wide), *columns, "solved"]]
    for student in students:
        marks = [_mark(last.get((student, task))).ljust(len(task)) for task in columns]
        solved = sum(mark.strip() == SOLVED for mark in marks)
        rows.append([student.ljust(wide), *marks, f"{solved} of {len(columns)}"])
    return ["  ".join(row) for row in rows]


def _mark(handed: HandIn | None) -> str:
    return NOTHING if handed is None else SOLVED if handed.checked.passed else NOT_YET


def said(handed: HandIn) -> str:
    """What is wrong with one that is not solved."""
    wrong = "; ".join((*handed.checked.missing, *handed.checked.mistakes))
    return f"{handed.student} · {handed.task or handed.file}: {wrong}"


def write_csv(path: Path, submitted: Sequence[HandIn]) -> None:
    """Every line that was handed in, in the order of the files."""
    from specviz.protocol.sweeps.store import cell

    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["student", "task", "solved", "missing", "mistakes", "rule", "file"])
        for handed in submitted:
            checked = handed.checked
            cells = [handed.student, handed.task, "yes" if checked.passed else "no"]
            cells += ["; ".join(checked.missing), "; ".join(checked.mistakes), handed.rule, handed.file]
            writer.writerow(map(cell, cells))
