"""Proves the losslessness clinic: 60 planted faults and 60 harmless differences, and what it says of each.

    python -m tests.clinic                  work out what is missing, print the table
    python -m tests.clinic --anew           forget earlier results first
    python -m tests.clinic --write          and put the table into docs/doctor.md

A minute or two on one core. Results are kept in a folder as they come, so that a run that was stopped goes on. Exit
status 1 where fewer than 110 are right or anything harmless is called a bug.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import torch

from specviz.bench.core.report import check_section, write_between
from tests.clinic.cases import Case, Clinic, all_cases
from tests.clinic.faults import FAULTS
from tests.clinic.tiny_pair import write_pair

PAGE, MARK = Path("docs/doctor.md"), "clinic"
CASES, LEAST_RIGHT = 120, 110


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.clinic", description=__doc__.splitlines()[0])
    parser.add_argument("--anew", action="store_true", help="forget earlier results")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE}")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "specviz_clinic")
    args = parser.parse_args()
    if args.write:
        check_section(PAGE, MARK)
    torch.set_num_threads(1)
    args.folder.mkdir(parents=True, exist_ok=True)
    kept = args.folder / "cases.jsonl"
    if args.anew:
        kept.unlink(missing_ok=True)
    if not (args.folder / "drafter" / "tokenizer.json").exists():
        write_pair(args.folder)
    cases = list[Case]()
    for case in all_cases(Clinic.on(args.folder), kept):
        cases.append(case)
        if not case.right:
            print(f"wrong: {case}", file=sys.stderr)
    print(table(cases))
    if args.write:
        write_between(PAGE, MARK, table(cases))
    called_bugs = sum(case.kind == "harmless" and case.word == "bug" for case in cases)
    right = sum(case.right for case in cases)
    return 0 if len(cases) == CASES and right >= LEAST_RIGHT and not called_bugs else 1


def table(cases: Sequence[Case]) -> str:
    """In Markdown: a sentence, a row per fault and per harmless way, then how far each confidence can be trusted."""
    right, bugs = sum(case.right for case in cases), [case for case in cases if case.kind == "planted"]
    harmless = [case for case in cases if case.kind == "harmless"]
    wrongly = sum(case.word == "bug" for case in harmless)
    rules = {fault.name: fault.rules for fault in FAULTS}
    named = sum(case.rule in rules[case.what] for case in bugs)
    lines = [
        f"{right} of {len(cases)} named rightly: {sum(case.right for case in bugs)} of {len(bugs)} planted faults are "
        f"called a bug, {sum(case.right for case in harmless)} of {len(harmless)} harmless differences a near tie or "
        f"numerics, {wrongly} of them a bug. With the run's trace the broken rule was named in {named} of {len(bugs)}.",
        "",
        "| planted fault, or what differs | cases | bug | numerics | near tie | rule named | largest loss, in noises |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for what in dict.fromkeys(case.what for case in cases):
        rows = [case for case in cases if case.what == what]
        words = Counter(case.word for case in rows)
        rule = f"{sum(case.rule in rules[what] for case in rows)}" if what in rules else "–"
        losses = sorted(case.worst for case in rows)
        lines.append(
            f"| {what} | {len(rows)} | {words['bug']} | {words['numerics']} | {words['near tie']} | {rule} | "
            f"{losses[0]:,.1f} to {losses[-1]:,.1f} |"
        )
    lines += ["", "| confidence | verdicts | right |", "| --- | ---: | ---: |"]
    for confidence in ("high", "middle", "low"):
        sure = [case for case in cases if case.confidence == confidence]
        lines.append(f"| {confidence} | {len(sure)} | {sum(case.right for case in sure)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
