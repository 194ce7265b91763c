"""`specviz study depth-width`: small models of six depths at equally many parameters, trained, replayed, timed and run.

Place in the flow: calls `specviz.studies.depth_width`, which trains both families twice, distilled and by plain cross
entropy, and measures them; keeps the distilled weights and the result of both, and writes the tables of
docs/depth_width.md. Interrupted, the training goes on from its folder.
"""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specviz.bench.core.report import markdown_table
from specviz.cli.experiment import KeptStudy, add_flags, at_least_one
from specviz.cli.terminal import err, out
from specviz.errors import BenchError
from specviz.protocol.runs import PromptCard, RunRequest, TraceSource
from specviz.resources import ROOT
from specviz.studies.depth_width import result as depth_widths
from specviz.studies.depth_width.picture import markdown

if TYPE_CHECKING:
    from specviz.lm.load import LoadedModel
    from specviz.studies.depth_width.measure import Trained
    from specviz.studies.depth_width.replay import RecordedText
    from specviz.studies.depth_width.training import DepthStudy

SUMMARY = "train small models of six depths at equal size, and measure what depth costs a drafter and what it brings"
KEPT = KeptStudy(
    ROOT / "studies" / "depth_width.json", ROOT.parent / "docs" / "depth_width.md", "depth width study",
    depth_widths.read, depth_widths.write, markdown,
)  # fmt: skip
MODULES = ROOT / "modules"
TARGET = "target"
FIRST, SECOND = "networks", "networks_text"
"""folders of weights in the work folder; those of the second set are not shipped"""
GAMMAS = range(1, 9)
MOST = 64
"""tokens of a text"""


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--minutes", type=float, default=60.0, metavar="M",
        help="most minutes of training; the second set then reads as many tokens (default %(default)s)")  # fmt: skip
    add(
        "--tokens", type=int, default=20_000_000, metavar="N", help="most tokens for each network (default %(default)s)"
    )
    add("--prompts", type=int, default=3, metavar="N", help="of each family that are replayed on (default %(default)s)")
    add("--repeats", type=int, default=1, metavar="N", help="times every prompt is run (default %(default)s)")
    add("--work-dir", type=Path, default=Path(".cache/specviz/depth-width"), metavar="FOLDER",
        help="texts, checkpoints and trained networks; the training goes on from it (default %(default)s)")  # fmt: skip
    add("--threads", type=int, default=1, metavar="N", help="torch threads (default %(default)s)")
    add("--nice", type=int, default=0, metavar="N", help="lowers the priority of the training by this much")
    only = parser.add_mutually_exclusive_group().add_argument
    only("--replay", nargs="*", type=Path, metavar="TRACE",
        help="train, time and run nothing: replay the shipped networks on what the target wrote in these traces; where "
        "none is named, in the shipped recordings")  # fmt: skip
    only(
        "--train",
        action="store_true",
        help="time, replay and run nothing: train the first set alone; the whole study then goes on from it",
    )
    only("--second-set", action="store_true",
        help="time and run nothing: train and replay the second set alone, beside the kept result of the first, whose "
        "finished training the work folder holds")  # fmt: skip
    add_flags(add, only, "weights (not the second set's) and result")


def run(args: argparse.Namespace) -> int:
    at_least_one(args, ("tokens", "prompts", "repeats"))
    if args.replay is not None:
        return _replay(args.replay)
    if args.train:
        return _train(args)
    second = args.second_set
    return KEPT.run(args, lambda: _with_second(args, depth_widths.read(KEPT.result)) if second else _run(args))


def _train(args: argparse.Namespace) -> int:
    """The first set alone, with `--write` among the shipped modules."""
    first = _first(args)
    out().line(f"Each network learnt from {first.train(_lines()):,} tokens.")
    if args.write:
        _ship(first)
    return 0


def _ship(first: DepthStudy) -> None:
    from specviz.drafters.small_model import STUDIED
    from specviz.studies.depth_width.training import folder_of

    for name in map(folder_of, STUDIED):
        shutil.copytree(first.out / name, MODULES / name, dirs_exist_ok=True)


def _run(args: argparse.Namespace) -> depth_widths.DepthWidths:
    from specviz.bench.core.provenance import machine_load, origin_here
    from specviz.studies.depth_width.measure import ComparePlan, compare

    first = _first(args)
    tokens = first.train(_lines())
    second = first.from_the_text(args.work_dir / SECOND)
    second.train(_lines())
    trained = _trained(first)
    here = _at_hand(args)
    plan = ComparePlan(repeats=args.repeats)
    found = compare(here.target.model, here.source, trained, here.prompts, here.request, plan, err().line)
    if args.write:
        _ship(first)
    origin = origin_here(here.target)
    command = f"specviz study depth-width --minutes {args.minutes:g} --write"
    return depth_widths.DepthWidths(
        found.networks,
        round(first.target_perplexity(), 3),
        found.timed.passes,
        found.plain,
        found.measured,
        tokens,
        first.training.loss,
        len(found.texts),
        found.replayed_tokens,
        plan.timed,
        machine_load(),
        {origin.target.name: origin.target.weights_sha256},
        command,
        str(origin),
        _text_set(second, here, found.texts, command),
    )


def _with_second(args: argparse.Namespace, kept: depth_widths.DepthWidths) -> depth_widths.DepthWidths:
    """The kept result with a second set beside it, on the texts of the first."""
    from specviz.studies.depth_width.replay import written

    first = _first(args)
    if first.tokens != kept.tokens:
        raise BenchError(
            f"{args.work_dir} holds a training of {first.tokens:,} tokens, but the networks of the kept result learnt "
            f"from {kept.tokens:,}; give the work folder of that training, or leave out --second-set to do all anew."
        )
    here = _at_hand(args)
    if here.target.model.info.weights_sha256 not in kept.models.values():
        raise BenchError("the kept result is of another target; leave out --second-set to do all anew.")
    texts = written(here.source, here.prompts, here.request, err().line)
    tokens = sum(len(one.tokens) - one.start for one in texts)
    if (len(texts), tokens) != (kept.replayed_prompts, kept.replayed_tokens):
        raise BenchError(
            f"the target wrote {tokens:,} tokens after {len(texts)} prompts, but the first set was replayed on "
            f"{kept.replayed_tokens:,} after {kept.replayed_prompts}; leave out --second-set to do all anew."
        )
    second = first.from_the_text(args.work_dir / SECOND)
    second.train(_lines())
    return replace(kept, text_set=_text_set(second, here, texts, "specviz study depth-width --second-set --write"))


def _text_set(second: DepthStudy, here: _AtHand, texts: Sequence[RecordedText], command: str) -> depth_widths.TextSet:
    from specviz.bench.core.provenance import origin_here
    from specviz.studies.depth_width.measure import of_text

    networks = of_text(here.target.model, _trained(second), texts, GAMMAS, here.request.max_new_tokens)
    return depth_widths.TextSet(
        networks, second.tokens, second.training.loss, round(second.written_share, 4), command,
        str(origin_here(here.target)),
    )  # fmt: skip


def _first(args: argparse.Namespace) -> DepthStudy:
    """The distilled set: begun, under way or finished."""
    from transformers.utils.logging import disable_progress_bar

    from specviz.lm.step_time import use_threads
    from specviz.studies.depth_width.training import DepthStudy, training_of

    use_threads(args.threads)
    disable_progress_bar()
    if args.nice and hasattr(os, "nice"):
        os.nice(args.nice)
    return DepthStudy(training_of(args.minutes, args.tokens, TARGET, args.work_dir), args.work_dir / FIRST)


@dataclass(frozen=True)
class _AtHand:
    """The target that writes and runs, and what it is asked."""

    target: LoadedModel
    source: TraceSource
    prompts: Sequence[PromptCard]
    request: RunRequest


def _at_hand(args: argparse.Namespace) -> _AtHand:
    from specviz.bench.core.contest import first_prompts
    from specviz.cli.sources import SharedModels, live_source

    shared = SharedModels()
    source = live_source(shared)
    return _AtHand(
        shared(TARGET, device="cpu", dtype="float32"),
        source,
        first_prompts(source.catalog(), args.prompts),
        RunRequest("", max_new_tokens=MOST, dtype="float32", device="cpu", record=False),
    )


def _trained(study: DepthStudy) -> list[Trained]:
    from specviz.studies.depth_width.measure import Trained
    from specviz.studies.depth_width.training import by_family, folder_of

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
            err().row(line)

    return report


def _replay(files: list[Path]) -> int:
    """Matched tokens per round of the shipped networks on recorded texts, which need no pass of the target."""
    from specviz.drafters.small_model import STUDIED
    from specviz.lm.load import load
    from specviz.studies.depth_width.measure import matched_by_gamma, networks
    from specviz.studies.depth_width.replay import of_traces
    from specviz.studies.depth_width.training import folder_of
    from specviz.trace import codec

    target = load(TARGET, device="cpu", dtype="float32").model
    traces = (codec.read(file) for file in files or sorted((ROOT / "traces").glob("*.json.gz")))
    texts = of_traces(traces, target.info.weights_sha256)
    most = max(len(one.tokens) - one.start for one in texts)
    shipped = {name: MODULES / folder_of(name) for name in STUDIED}
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
