"""`specviz study alignment`: every alignment loss on every kind of text, before and after, on held-out prompts.

Place in the flow: runs `training.alignment.study` on the shipped pair, keeps the result as JSON and writes its tables
into the documentation. Interrupted, it goes on from its work folder.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from specviz.bench.alignment.table import markdown
from specviz.cli.parts.kept_study import KeptStudy, add_flags
from specviz.cli.parts.progress import progress
from specviz.cli.parts.terminal import err
from specviz.resources import ROOT
from specviz.studies.alignment import result as alignments

if TYPE_CHECKING:
    from specviz.bench.core.provenance import Origin
    from specviz.training.alignment.measure import JudgedText

SUMMARY = "align drafters with every loss on every kind of text for equally many tokens, and measure what it brings"
KEPT = KeptStudy(
    ROOT / "studies" / "alignment.json", ROOT.parent / "docs" / "alignment.md", "alignment study",
    alignments.read, alignments.write, markdown,
)  # fmt: skip


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--work-dir", type=Path, default=Path(".cache/specviz/alignment"), metavar="FOLDER",
        help="texts and finished cells; a study goes on from it (default %(default)s)")  # fmt: skip
    add("--tokens", type=int, metavar="N", help="tokens that every cell learns from")
    add("--cells", type=int, metavar="N", help="only the first N cells")
    add("--finished", action="store_true", help="take the cells that the work folder has, and run no other")
    add("--threads", type=int, default=1, metavar="N", help="torch threads (default %(default)s)")
    add_flags(add)


def run(args: argparse.Namespace) -> int:
    return KEPT.run(args, lambda: _run(args))


def _run(args: argparse.Namespace) -> alignments.AlignmentStudy:
    import torch
    from transformers.utils.logging import disable_progress_bar

    from specviz.studies.alignment.measure import GAMMA, TOKENS, material, plans, run_study

    torch.set_num_threads(args.threads)
    disable_progress_bar()
    tokens = args.tokens or TOKENS
    study = material(ROOT / "models", ROOT / "prompts" / "prompts.json", args.work_dir, tokens)
    wanted = [one for one in plans()[: args.cells] if not args.finished or study.file(one).is_file()]
    starts: dict[str, alignments.AlignmentStart] = {}
    cells: list[alignments.AlignmentCell] = []
    found = run_study(study, wanted, err().row)
    for one in progress(found, "cells", len(wanted) + 2):
        if isinstance(one, alignments.AlignmentCell):
            cells.append(one)
        else:
            starts[one[0]] = one[1]
    words = [f"--{name} {value}" for name, value in (("cells", args.cells), ("tokens", args.tokens)) if value]
    words += ["--finished"] * args.finished
    command = " ".join(["specviz study alignment", *words, "--write"])
    origin = _origin(["target", *starts])
    models = {card.name: card.weights_sha256 for card in (origin.target, *origin.drafters)}
    counts = _counts(study.texts)
    return alignments.AlignmentStudy(
        GAMMA, tokens, counts, starts, tuple(cells), len(plans()), models, command, str(origin)
    )


def _counts(texts: Mapping[float, Sequence[JudgedText]]) -> dict[str, int]:
    first = next(iter(texts.values()))
    return {domain: sum(one.text.domain == domain for one in first) for domain in alignments.DOMAINS}


def _origin(names: Sequence[str]) -> Origin:
    from specviz.bench.core.provenance import origin_here
    from specviz.cli.parts.sources import SharedModels

    models = SharedModels()
    return origin_here(*(models(name, device="cpu", dtype="float32") for name in names))
