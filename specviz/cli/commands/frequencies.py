"""`specviz frequencies`: now `specviz study heads`: what a smaller draft head covers and saves.

Place in the flow: turns its own older flags into those of the study, and runs that.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from specviz.bench.core.report import plain_data
from specviz.cli.commands.study import OWN, run_study
from specviz.cli.terminal import err
from specviz.errors import OptionError
from specviz.studies.heads.result import STUDY, HeadsStudy

SAME = ("--sizes", "--texts", "--tokens", "--prompts", "--no-times", "--drafter-model")
"""flags that the study has too"""


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    for flag in STUDY.flags:
        if flag.name in SAME:
            add(flag.name, **flag.settings)
    add("--target", default="target", metavar="NAME", help="whose text is drafted (default %(default)s)")
    add("--write", action="store_true", help="now `specviz study heads --count`: count the tokens anew")
    add(
        "--page",
        type=Path,
        nargs="?",
        const=STUDY.document,
        metavar="PAGE",
        help="now `specviz study heads --write PAGE`: write the tables between the marks of a page",
    )
    add("--keep", action="store_true", help="now `specviz study heads --write`: keep the result, which the page draws")
    add("--dtype", default="auto", metavar="D", help="auto, float32, bfloat16")
    add("--device", default="auto", metavar="DEV", help="auto, cpu, cuda or mps")
    add("--json", action="store_true", help="print one JSON object; now `specviz study heads --result FILE`")


def run(args: argparse.Namespace) -> int:
    err().line("`specviz frequencies` is now `specviz study heads`; `specviz study heads --help` shows its flags.")
    if args.keep and not args.prompts:
        raise OptionError("--keep keeps what --prompts measures, which is 0; leave it at 1 or more.")
    both = args.keep and args.page == STUDY.document
    args.count, args.write = args.write, OWN if both else args.page
    args.result = STUDY.path if args.keep and not both else None
    args.tables, args.threads = None, 1
    return run_study(STUDY, args, shown=_as_json if args.json else None)


def _as_json(study: HeadsStudy) -> str:
    """As it was printed before: shares, α and ratios are fractions."""
    alpha: dict[str, Any] = {
        f"{temperature:g}": {"whole": study.whole[temperature], **by_text}
        for temperature, by_text in study.alpha.items()
    }
    ratios = {size: ratio._asdict() for size, ratio in study.step_ratio.items()}
    shown = {"sizes": study.sizes, "coverage": study.coverage, "alpha": alpha, "step_ratio": ratios}
    return json.dumps(plain_data(shown))
