"""`specviz study depth-width`: small models of six depths at equally many parameters, trained, replayed, timed and run.

Place in the flow: trains both families (`training.modules.depth_study`), measures them (`bench.depth_width`), keeps
weights and result, and writes the tables of docs/depth_width.md. Interrupted, the training goes on from its folder.
"""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specviz.bench.core.report import check_section, markdown_table, write_between
from specviz.bench.depth_width.table import markdown
from specviz.cli.parts.bench import at_least_one
from specviz.cli.parts.terminal import err, out
from specviz.protocol import depth_widths
from specviz.resources import ROOT

if TYPE_CHECKING:
    from specviz.bench.depth_width.compare import Trained
    from specviz.training.modules.depth_study import DepthStudy

SUMMARY = "train small models of six depths at equal size, and measure what depth costs a drafter and what it brings"
RESULT = ROOT / "studies" / "depth_width.json"
MODULES = ROOT / "modules"
PAGE = ROOT.parent / "docs" / "depth_width.md"
MARK = "depth width study"
TARGET = "target"
GAMMAS = range(1, 9)
MOST = 64
"""tokens of a text"""


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--minutes", type=float, default=60.0, metavar="M", help="most minutes of training (default %(default)s)")
    add(
        "--tokens", type=int, default=20_000_000, metavar="N", help="most tokens for each network (default %(default)s)"
    )
    add("--prompts", type=int, default=3, metavar="N", help="of each family that are replayed on (default %(default)s)")
    add("--repeats", type=int, default=1, metavar="N", help="times every prompt is run (default %(default)s)")
    add("--work-dir", type=Path, default=Path(".cache/specviz/depth-width"), metavar="FOLDER",
        help="texts, checkpoints and trained networks; the training goes on from it (default %(default)s)")  # fmt: skip
    add("--threads", type=int, default=1, metavar="N", help="torch threads (default %(default)s)")
    add("--nice", type=int, default=0, metavar="N", help="lowers the priority of the training by this much")
    add("--replay", nargs="*", type=Path, metavar="TRACE",
        help="train, time and run nothing: replay the shipped networks on what the target wrote in these traces; where "
        "none is named, in the shipped recordings")  # fmt: skip
    add("--tables", action="store_true", help="run nothing: write the tables of the kept result anew")
    add("--write", action="store_true", help="keep weights and result in assets and write the tables into docs")


def run(args: argparse.Namespace) -> int:
    at_least_one(args, ("tokens", "prompts", "repeats"))
    if args.replay is not None:
        return _replay(args.replay)
    if args.tables or args.write:
        check_section(PAGE, MARK)
    study = depth_widths.read(RESULT) if args.tables else _run(args)
    out().line(markdown(study))
    if args.write:
        depth_widths.write(study, RESULT)
    if args.tables or args.write:
        write_between(PAGE, MARK, markdown(study))
    return 0


def _run(args: argparse.Namespace) -> depth_widths.DepthWidths:
    from transformers.utils.logging import disable_progress_bar

    from specviz.bench.core.contest import first_prompts
    from specviz.bench.core.provenance import origin_here
    from specviz.bench.depth_width.compare import ComparePlan, compare
    from specviz.cli.parts.sources import SharedModels, live_source
    from specviz.lm.step_time import use_threads
    from specviz.protocol.runs import RunRequest
    from specviz.training.modules.depth_study import DepthStudy, training_of

    use_threads(args.threads)
    disable_progress_bar()
    if args.nice and hasattr(os, "nice"):
        os.nice(args.nice)
    training = training_of(args.minutes, args.tokens, TARGET, args.work_dir)
    study = DepthStudy(training, args.work_dir / "networks")
    tokens = study.train(_lines())
    trained = _trained(study)
    shared = SharedModels()
    target = shared(TARGET, device="cpu", dtype="float32")
    source = live_source(shared)
    prompts = first_prompts(source.catalog(), args.prompts)
    request = RunRequest("", max_new_tokens=MOST, dtype="float32", device="cpu", record=False)
    plan = ComparePlan(repeats=args.repeats)
    found = compare(target.model, source, trained, prompts, request, plan, err().line)
    if args.write:
        for folder in {one.folder for one in trained}:
            shutil.copytree(folder, MODULES / folder.name, dirs_exist_ok=True)
    origin = origin_here(target)
    return depth_widths.DepthWidths(
        found.networks,
        round(study.target_perplexity(), 3),
        found.timed.passes,
        found.plain,
        found.measured,
        tokens,
        training.loss,
        len(found.texts),
        found.replayed_tokens,
        plan.timed,
        round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        {origin.target.name: origin.target.weights_sha256},
        f"specviz study depth-width --minutes {args.minutes:g} --write",
        str(origin),
    )


def _trained(study: DepthStudy) -> list[Trained]:
    from specviz.bench.depth_width.compare import Trained
    from specviz.training.modules.depth_study import by_family, folder_of

    found = []
    for family, name, one in by_family(dict(study.qualities())):
        folder = study.out / folder_of(name)
        found.append(Trained(family, name, folder, one.parameters, one.perplexity, one.agreement, one.acceptance))
        err().line(f"{name}  perplexity {one.perplexity:.2f}  agreement {one.agreement:.3f}  α {one.acceptance:.3f}")
    return found


def _lines() -> Callable[[dict[str, Any]], None]:
    """Training's rows, shortened: of each network its acceptance at depth 1."""

    def report(row: dict[str, Any]) -> None:
        line = {name: row[name] for name in ("step", "tokens", "elapsed_s")}
        if "held_out" in row:
            line |= {label: held["acceptance"][0] for label, held in row["held_out"].items()}
        if "held_out" in row or row["step"] % 50 == 0:
            err().line("  ".join(f"{name} {value}" for name, value in line.items()))

    return report


def _replay(files: list[Path]) -> int:
    """Matched tokens per round of the shipped networks on recorded texts, which need no pass of the target."""
    from specviz.bench.depth_width.compare import matched_by_gamma, networks
    from specviz.bench.depth_width.texts import of_traces
    from specviz.drafters.parts.depth_family import BLOCKS, WHOLE, members
    from specviz.lm.load import load
    from specviz.trace import codec
    from specviz.training.modules.depth_study import folder_of

    target = load(TARGET, device="cpu", dtype="float32").model
    traces = (codec.read(file) for file in files or sorted((ROOT / "traces").glob("*.json.gz")))
    texts = of_traces(traces, target.info.weights_sha256)
    most = max(len(one.tokens) - one.start for one in texts)
    shipped = {name: MODULES / folder_of(name) for name in (*members(BLOCKS), *members(WHOLE))}
    rows = []
    for name, model in networks(target, shipped).items():
        matched = matched_by_gamma(model, texts, GAMMAS, most)
        rows.append([f"`{name}`", *(f"{one.value:.2f} [{one.low:.2f}–{one.high:.2f}]" for one in matched)])
    tokens = sum(len(one.tokens) - one.start for one in texts)
    out().line(
        f"Replayed on {tokens:,} tokens in {len(texts)} texts that the target wrote, with no pass of the target: "
        "drafted tokens matched per round, by layers x width and γ, greedy [95 % over resampled texts]."
    )
    out().line(markdown_table(("network", *(f"γ = {gamma}" for gamma in GAMMAS)), rows))
    return 0
