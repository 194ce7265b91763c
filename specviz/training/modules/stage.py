"""`specviz train module NAME…`: the options of the command as a training, and its rows as lines.

Place in the flow: called by the command; the work is `train.py`'s.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from specviz.drafters.learned.module import MODULES
from specviz.errors import TrainingError
from specviz.options import from_mapping
from specviz.training.modules.train import ModuleTraining, Wanted, train_modules
from specviz.training.options import TrainOptions

LINE_EVERY_S = 15.0


def train_module(options: TrainOptions, report: Callable[[dict[str, Any]], None]) -> None:
    """Train the named modules together and leave a folder for each in `options.out`."""
    training = training_of(options)
    for label, card in train_modules(training, options.out, Lines(report), None, options.speculators).items():
        report({"written": options.out / label, "parameters": card.parameters, "tokens": card.training["tokens"]})


def training_of(options: TrainOptions) -> ModuleTraining:
    """Raises TrainingError for options that belong to no named module."""
    given = shapes(options.module_options)
    unknown = sorted(given.keys() - {*options.names})
    if unknown:
        raise TrainingError(
            f"--module-options speaks of '{unknown[0]}', which is not trained here: write NAME.option=value with one "
            f"of {', '.join(options.names) or 'the names given'}."
        )
    return ModuleTraining(
        tuple(_wanted(name, given.get(name, {})) for name in options.names),
        target=options.target,
        minutes=options.minutes,
        tokens=options.tokens,
        seed=options.seed,
        english=options.module_english,
        loss=options.loss,
        lr=options.module_lr,
        dtype=options.dtype,
        device=options.device,
        work_dir=options.work_dir,
        start=Path(options.module_start) if options.module_start else None,
    )


def _wanted(name: str, given: Mapping[str, str]) -> Wanted:
    """Under the name that its folder is to have."""
    kind = MODULES.get(name)
    folder = kind.folder_name(from_mapping(kind.options_type, given))
    return Wanted(name, given, "" if folder == name else folder)


def shapes(text: str) -> dict[str, dict[str, str]]:
    """`eagle.unroll=3 eagle.depths=2,5,8` as name → option → value. Raises TrainingError where a word is no such."""
    found: dict[str, dict[str, str]] = {}
    for word in text.split():
        name, dot, rest = word.partition(".")
        option, equals, value = rest.partition("=")
        if not (name and dot and option and equals):
            raise TrainingError(f"'{word}' in --module-options is no choice: write NAME.option=value.")
        found.setdefault(name, {})[option] = value
    return found


class Lines:
    """Makes a line of a row every few seconds, of those that were measured."""

    def __init__(self, report: Callable[[dict[str, Any]], None]) -> None:
        self.report, self.shown_at = report, 0.0

    def __call__(self, row: dict[str, Any]) -> None:
        now = time.monotonic()
        if "held_out" not in row or (row["progress"] < 1.0 and row["step"] and now - self.shown_at < LINE_EVERY_S):
            return
        self.shown_at = now
        line = {name: row[name] for name in ("step", "tokens", "elapsed_s", "tokens_per_s")}
        for label, measured in row["held_out"].items():
            terms = row["losses"].get(label, {})
            if terms:
                line[f"{label} loss"] = " ".join(f"{name} {value:.3f}" for name, value in terms.items())
            line[f"{label} acceptance"] = " ".join(f"{one:.3f}" for one in measured["acceptance"])
            line[f"{label} accepted"] = measured["accepted"]
        self.report(line)
