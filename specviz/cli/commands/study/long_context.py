"""`specviz study long-context`: what a long text costs a drafter, and what anchor-offset training brings.

Place in the flow: times passes, trains two networks and measures both up to the longest text
(`specviz.studies.long_context`), keeps the result as JSON and writes its tables into the page of the drafter.
Interrupted, the training goes on from its work folder.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from specviz.cli.parts.kept_study import KeptStudy, add_flags
from specviz.cli.parts.terminal import err
from specviz.resources import ROOT
from specviz.studies.long_context import result as long_contexts
from specviz.studies.long_context.result import markdown

if TYPE_CHECKING:
    from specviz.bench.core.provenance import Origin

SUMMARY = "time drafting passes and weigh caches from 256 to 8,192 tokens, and measure anchor-offset training"
KEPT = KeptStudy(
    ROOT / "studies" / "long_context.json", ROOT.parent / "docs" / "methods" / "cross_kv.md", "long context study",
    long_contexts.read, long_contexts.write, markdown,
)  # fmt: skip
TARGET, DRAFTER = "target", "drafter"
RAISED = 8448
"""the longest text, and room for a draft"""


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--repeats", type=int, default=12, metavar="N", help="drafts timed at each context (default %(default)s)")
    add("--work-dir", type=Path, default=Path(".cache/specviz/train"), metavar="FOLDER",
        help="texts and checkpoints; the training goes on from it (default %(default)s)")  # fmt: skip
    add("--threads", type=int, default=1, metavar="N", help="torch threads (default %(default)s)")
    add(
        "--keep-costs",
        action="store_true",
        help="measure acceptance alone: times and bytes stay those of the kept result",
    )
    add_flags(add)
    add("--nice", type=int, default=0, metavar="N", help="lowers the priority of the training by this much")


def run(args: argparse.Namespace) -> int:
    return KEPT.run(args, lambda: _run(args))


def _run(args: argparse.Namespace) -> long_contexts.LongContexts:
    import torch
    from transformers.utils.logging import disable_progress_bar

    from specviz.studies.long_context.training import RaisedOptions, beyond, both_networks, trainings_of, within
    from specviz.training.modules.stage import Lines

    torch.set_num_threads(args.threads)
    disable_progress_bar()
    kept = long_contexts.read(KEPT.result) if args.keep_costs else None
    costs = kept.costs if kept else _costs(args.repeats)
    lines = Lines(err().row)
    if args.nice and hasattr(os, "nice"):
        os.nice(args.nice)
    trainings = trainings_of(TARGET, args.work_dir)
    networks = both_networks(trainings, lines)
    acceptance = tuple(within(networks))
    further = beyond(TARGET, networks.by_anchors, RaisedOptions(RAISED), err().line)
    origin = _origin()
    models = {card.name: card.weights_sha256 for card in (origin.target, *origin.drafters)}
    return long_contexts.LongContexts(
        costs,
        kept.repeats if kept else args.repeats,
        acceptance,
        trainings[True].tokens,
        trainings[True].texts.length,
        origin.target.context_length,
        RAISED,
        models,
        "specviz study long-context --write",
        kept.origin if kept else str(origin),
        further,
        str(origin) if kept else "",
    )


def _costs(repeats: int) -> tuple[long_contexts.ContextCost, ...]:
    from specviz.lm.llama.shape import write_raised
    from specviz.lm.load import load
    from specviz.lm.place import locate
    from specviz.studies.long_context.measure import measure

    with tempfile.TemporaryDirectory() as folder:
        models = [
            load(str(write_raised(locate(name), Path(folder) / name, RAISED)), device="cpu", dtype="float32").model
            for name in (TARGET, DRAFTER)
        ]
        found = []
        for cost in measure(models[0], models[1], repeats):
            err().line(f"{cost.context} tokens  {cost.drafter}  {cost.median_ms:.2f} ms  {cost.bytes} bytes")
            found.append(cost)
        return tuple(found)


def _origin() -> Origin:
    from specviz.bench.core.provenance import origin_here
    from specviz.cli.parts.sources import SharedModels

    models = SharedModels()
    return origin_here(*(models(name, device="cpu", dtype="float32") for name in (TARGET, DRAFTER)))
