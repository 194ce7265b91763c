"""`specviz train`: options, progress lines and the order of the stages.

Place in the flow: the only module of the training package that prints.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from specviz.errors import SpecVizError, TrainingError
from specviz.training.options import TrainOptions

Stage = Callable[[TrainOptions, Callable[[dict[str, Any]], None]], Any]

STAGES = ("prepare", "target", "teach", "drafter", "weak", "export", "measure", "skips")
EXTRA_STAGES = (
    "prompts",
    "figures",
    "keep",
    "module",
    "drafter-align",
    "captions",
)  # asked for by name; `all` does without
PROGRESS_EVERY_S = 15.0
(NAMES_FIELD,) = (field for field in fields(TrainOptions) if field.name == "names")  # a list of names, not a flag


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `specviz train`; defaults come from `TrainOptions` alone."""
    parser.add_argument(
        "stage",
        nargs="?",
        default="all",
        choices=["all", *STAGES, *EXTRA_STAGES],
        help="one stage, or all in order (default)",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=NAMES_FIELD.metadata["help"])
    for field in fields(TrainOptions):
        if field.name == NAMES_FIELD.name:
            continue
        flag = "--" + field.name.replace("_", "-")
        explanation = field.metadata["help"]
        if isinstance(field.default, bool):
            parser.add_argument(flag, action="store_true", default=False, help=explanation)
        else:
            kind = Path if isinstance(field.default, Path) else type(field.default)
            shown = f"{explanation} (default: {field.default})" if field.default != "" else explanation
            parser.add_argument(flag, type=kind, default=field.default, help=shown)
    parser.add_argument("--threads", type=int, default=2, help="torch threads (default: 2)")
    parser.add_argument("--nice", type=int, default=15, help="lowers the priority by this much; 0: not (default: 15)")


def stage_functions() -> Mapping[str, Stage]:
    """Name to function, in order; imported here because torch is slow to load and `--help` does without."""
    from specviz.training import drafter, publication, skips, stages
    from specviz.training.alignment import align
    from specviz.training.captions import export as captions
    from specviz.training.modules import train

    functions: tuple[Stage, ...] = (
        lambda options, report: report(stages.prepare(options)),
        stages.train_target,
        drafter.teach,
        drafter.train_drafter,
        drafter.train_weak,
        publication.export,
        publication.measure,
        skips.search_skips,
        publication.prompts,
        publication.figures,
        publication.keep,
        train.train_module,
        align.drafter_align,
        captions.train_captions,
    )
    return dict(zip((*STAGES, *EXTRA_STAGES), functions, strict=True))


def run(args: argparse.Namespace) -> int:
    """Runs one stage or all; returns the exit status."""
    import torch
    from transformers.utils.logging import disable_progress_bar

    if args.nice and hasattr(os, "nice"):
        os.nice(args.nice)
    torch.set_num_threads(args.threads)
    disable_progress_bar()  # the stages report their own progress
    options = TrainOptions(**{field.name: getattr(args, field.name) for field in fields(TrainOptions)})
    options = replace(options, names=tuple(args.names))
    if options.command == TrainOptions.command:
        options = replace(options, command=command_line(args))
    functions = stage_functions()
    names = list(STAGES) if args.stage == "all" else [args.stage]
    try:
        if args.names and args.stage not in ("module", "export", "captions"):
            raise TrainingError(f"'{args.names[0]}' behind the stage '{args.stage}' names nothing: leave it out.")
        for name in names:
            print(f"== {name}", flush=True)
            minutes = {"drafter": options.drafter_minutes, "weak": options.weak_minutes}.get(name, options.minutes)
            functions[name](options, ProgressLine(minutes))
    except SpecVizError as error:
        print(f"specviz train: {error}", file=sys.stderr)
        return 1
    return 0


def command_line(args: argparse.Namespace) -> str:
    """The command that repeats this run: every option that differs from its default, but no folders."""
    words = ["specviz train"]
    for field in fields(TrainOptions):
        value = getattr(args, field.name)
        if field.name == NAMES_FIELD.name:
            words += [args.stage, *value] if value or args.stage in EXTRA_STAGES else []
        elif value != field.default and not isinstance(value, Path) and field.name not in ("note", "machine"):
            words.append(f"--{field.name.replace('_', '-')}" + ("" if value is True else f" {value}"))
    return " ".join(words)


class ProgressLine:
    """Prints a row at most every few seconds, and always when it holds a held-out loss or is no loop row."""

    def __init__(self, minutes: float) -> None:
        """`minutes` is the run's time budget, for the time left."""
        self.minutes = minutes
        self.printed_at = 0.0
        self.counted: tuple[float, float] | None = None

    def __call__(self, row: dict[str, Any]) -> None:
        """Prints the row, or keeps quiet."""
        if "loss" not in row:
            print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
            return
        now = time.monotonic()
        if "held_out" not in row and now - self.printed_at < PROGRESS_EVERY_S:
            return
        self.printed_at = now
        left = f"{self.minutes - row['elapsed_s'] / 60:.1f} min left" if self.minutes else ""
        held_out = f"  held-out {row['held_out']:.3f}" if "held_out" in row else ""
        print(
            f"step {row['step']}  tokens {row['tokens']}  loss {row['loss']:.3f}{held_out}  "
            f"norm {row['gradient_norm']:.2f}  lr x{row['lr_factor']:.2f}  {self._speed(row):.0f} tokens/s  {left}",
            flush=True,
        )

    def _speed(self, row: dict[str, Any]) -> float:
        """Tokens per second since the previous printed row."""
        tokens, seconds = self.counted or (0.0, 0.0)
        self.counted = (row["tokens"], row["elapsed_s"])
        return float((row["tokens"] - tokens) / max(1e-9, row["elapsed_s"] - seconds))
