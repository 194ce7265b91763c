"""The ablation of FSPAD-style drafting: feature sampling m against partial alignment β, all cells from one reading.

Place in the flow: behind `specviz study fspad`. Every cell learns from the very same batches in the same order, for
equally many tokens; the corner with both ideas off is EAGLE-1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from specviz.training.modules.batches import TextOptions
from specviz.training.modules.train import ModuleTraining, Training, Wanted

SAMPLING = (1, 2, 4)
ALIGNMENT = (0.0, 0.3, 1.0)
BESIDE = 0.25
FEATURE_WEIGHT, TOKEN_WEIGHT = 1.0, 0.1
"""of EAGLE-1's loss, which the ideas were made for"""


@dataclass(frozen=True, slots=True)
class Cell:
    """One network and what became of it."""

    sampling: int
    alignment: float
    beside: float
    parameters: int
    before: dict[str, Any]
    after: dict[str, Any]
    """as `measure.Acceptance` says"""
    losses: dict[str, float]


@dataclass(frozen=True, slots=True)
class FspadStudy:
    """All cells, EAGLE-1 first."""

    command: str
    target: str
    target_sha256: str
    tokens: int
    steps: int
    seconds: float
    cells: tuple[Cell, ...] = field(default_factory=tuple)

    def write(self, path: Path) -> None:
        """As JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> FspadStudy:
        """What `write` wrote."""
        data = json.loads(path.read_text(encoding="utf-8"))
        return cls(**{**data, "cells": tuple(Cell(**one) for one in data["cells"])})


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
        options.sampling,
        options.alignment,
        options.beside,
        module.parameter_count(),
        before,
        after,
        card["losses"],
    )


def markdown(study: FspadStudy) -> str:
    """The table: tokens of a greedy chain of four that are accepted, and acceptance at depths 1 and 4."""
    lines = [
        f"Target `{study.target}` (sha256 {study.target_sha256[:12]}), "
        f"{study.tokens / 1000:.0f} k tokens for every cell.",
        "",
        "| m | β | r | parameters | accepted of 4, greedy | acceptance, depth 1 | acceptance, depth 4 |",
        "|---|---|---|---|---|---|---|",
    ]
    for cell in study.cells:
        acceptance: Sequence[float] = cell.after["acceptance"]
        named = " (EAGLE-1)" if (cell.sampling, cell.alignment, cell.beside) == (1, 1.0, 0.0) else ""
        lines.append(
            f"| {cell.sampling}{named} | {cell.alignment:g} | {cell.beside:g} | {cell.parameters / 1e6:.2f} M | "
            f"{cell.after['accepted']:.2f} | {acceptance[0]:.3f} | {acceptance[-1]:.3f} |"
        )
    return "\n".join([*lines, "", f"Made by `{study.command}`."])
