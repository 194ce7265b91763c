"""`specviz study fspad`: feature sampling against partial alignment, ten networks from the same text.

Place in the flow: runs `specviz.studies.fspad` on the shipped target, keeps the result as JSON and writes its
table into the page of the drafter. Interrupted, it goes on from its work folder.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from specviz.cli.parts.kept_study import KeptStudy, add_flags
from specviz.cli.parts.terminal import err
from specviz.resources import ROOT

if TYPE_CHECKING:
    from specviz.studies.fspad.measure import FspadStudy

SUMMARY = "train FSPAD-style drafters with each idea stronger and weaker for equally many tokens, and measure them"


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--minutes", type=float, default=10.0, metavar="M", help="most minutes for all cells (default %(default)s)")
    add("--tokens", type=int, default=2_000_000, metavar="N", help="most tokens for each cell (default %(default)s)")
    add("--target", default="target", metavar="NAME", help="bundled name or folder of the target (default %(default)s)")
    add("--work-dir", type=Path, default=Path(".cache/specviz/train"), metavar="FOLDER",
        help="texts and checkpoints; a study goes on from it (default %(default)s)")  # fmt: skip
    add("--threads", type=int, default=1, metavar="N", help="torch threads (default %(default)s)")
    add_flags(add)


def run(args: argparse.Namespace) -> int:
    from specviz.studies.fspad.measure import FspadStudy, markdown

    kept = KeptStudy(
        ROOT / "studies" / "fspad.json", ROOT.parent / "docs" / "methods" / "fspad.md", "fspad study",
        FspadStudy.read, FspadStudy.write, markdown,
    )  # fmt: skip
    return kept.run(args, lambda: _run(args))


def _run(args: argparse.Namespace) -> FspadStudy:
    import torch
    from transformers.utils.logging import disable_progress_bar

    from specviz.studies.fspad.measure import run_study, small
    from specviz.training.modules.stage import Lines

    torch.set_num_threads(args.threads)
    disable_progress_bar()
    lines = Lines(err().row)
    training = small(args.minutes, args.tokens, args.target, args.work_dir)
    return run_study(training, "specviz study fspad --write", lines)
