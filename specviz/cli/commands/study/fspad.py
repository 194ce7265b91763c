"""`specviz study fspad`: feature sampling against partial alignment, ten networks from the same text.

Place in the flow: runs `training.modules.fspad_study` on the shipped target, keeps the result as JSON and writes its
table into the page of the drafter. Interrupted, it goes on from its work folder.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from specviz.bench.core.report import check_section, write_between
from specviz.cli.parts.terminal import err, out
from specviz.resources import ROOT

SUMMARY = "train FSPAD-style drafters with each idea stronger and weaker for equally many tokens, and measure them"
RESULT = ROOT / "studies" / "fspad.json"
PAGE = ROOT.parent / "docs" / "methods" / "fspad.md"
MARK = "fspad study"


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--minutes", type=float, default=10.0, metavar="M", help="most minutes for all cells (default %(default)s)")
    add("--tokens", type=int, default=2_000_000, metavar="N", help="most tokens for each cell (default %(default)s)")
    add("--target", default="target", metavar="NAME", help="bundled name or folder of the target (default %(default)s)")
    add("--work-dir", type=Path, default=Path(".cache/specviz/train"), metavar="FOLDER",
        help="texts and checkpoints; a study goes on from it (default %(default)s)")  # fmt: skip
    add("--threads", type=int, default=1, metavar="N", help="torch threads (default %(default)s)")
    add("--table", action="store_true", help="run nothing: write the table of the kept result anew")
    add("--write", action="store_true", help="keep the result in assets/studies and write the table into docs")


def run(args: argparse.Namespace) -> int:
    import torch
    from transformers.utils.logging import disable_progress_bar

    from specviz.training.modules.fspad_study import FspadStudy, markdown, run_study, small
    from specviz.training.modules.stage import Lines

    if args.table or args.write:
        check_section(PAGE, MARK)
    if args.table:
        study = FspadStudy.read(RESULT)
    else:
        torch.set_num_threads(args.threads)
        disable_progress_bar()
        lines = Lines(lambda row: err().line("  ".join(f"{key} {value}" for key, value in row.items())))
        training = small(args.minutes, args.tokens, args.target, args.work_dir)
        study = run_study(training, "specviz study fspad --write", lines)
    out().line(markdown(study))
    if args.write:
        study.write(RESULT)
    if args.table or args.write:
        write_between(PAGE, MARK, markdown(study))
    return 0
