"""The ablation of FSPAD-style drafting: feature sampling m against partial alignment β, all cells from one reading.

Every cell learns from the very same batches in the same order, for equally many tokens; the corner with both ideas off
is EAGLE-1. Interrupted, it goes on from its work folder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from transformers.utils.logging import disable_progress_bar

from specviz.studies.fspad.result import Cell, FspadStudy
from specviz.studies.study import Workplace
from specviz.training.modules.texts import TextOptions
from specviz.training.modules.train import Lines, ModuleTraining, Training, Wanted

SAMPLING = (1, 2, 4)
ALIGNMENT = (0.0, 0.3, 1.0)
BESIDE = 0.25
FEATURE_WEIGHT, TOKEN_WEIGHT = 1.0, 0.1
"""of EAGLE-1's loss, which the ideas were made for"""


def measure(workplace: Workplace) -> FspadStudy:
    """On the shipped target."""
    args = workplace.args
    disable_progress_bar()
    training = small(args.minutes, args.tokens, args.target, args.work_dir)
    return run_study(training, "specviz study fspad --write", Lines(workplace.row))


def wanted() -> tuple[Wanted, ...]:
    """EAGLE-1, then m × β."""
    cells = [(1, 1.0, 0.0), *((m, beta, BESIDE) for m in SAMPLING for beta in ALIGNMENT)]
    weights = {"feature_weight": FEATURE_WEIGHT, "token_weight": TOKEN_WEIGHT, "least_squares": False}
    return tuple(
        Wanted("fspad", {"sampling": m, "alignment": beta, "beside": r, **weights}, f"m={m} beta={beta:g} r={r:g}")
        for m, beta, r in cells
    )


def run_study(training: ModuleTraining, command: str, report: Callable[[dict[str, Any]], None]) -> FspadStudy:
    """Train every cell as `training` says and measure it; its `wanted` is replaced."""
    under_way = Training(replace(training, wanted=wanted()))
    under_way.run(report)
    cells = [_cell(under_way, one.label) for one in under_way.training.wanted]
    progress, info = under_way.loop.progress, under_way.teacher.parts.info
    under_way.forget()
    return FspadStudy(
        command,
        info.name,
        info.weights_sha256,
        progress.tokens,
        progress.step,
        round(progress.elapsed_s, 1),
        tuple(cells),
    )


def small(minutes: float, tokens: int, target: str, work_dir: Path) -> ModuleTraining:
    """A training whose batches are small: ten networks learn from each."""
    return ModuleTraining(
        (),
        target=target,
        minutes=minutes,
        tokens=tokens,
        texts=TextOptions(length=128, rows=6, block_rows=24),
        work_dir=work_dir,
        measure_every_s=120.0,
    )


def _cell(under_way: Training, label: str) -> Cell:
    module, card = under_way.modules[label], under_way.card_of(label)
    options: Any = module.options
    kept = ("acceptance", "agreement", "accepted")
    before, after = ({name: card[side][name] for name in kept} for side in ("before", "held_out"))
    return Cell(
        options.sampling, options.alignment, options.beside, module.parameter_count(), before, after, card["losses"]
    )
