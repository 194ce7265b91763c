"""The drafters of eleven generations, trained side by side: every step all of them learn from the same reading of the
same batch, so whatever the budget ends by, they have learnt from equally many tokens.

Place in the flow: half of `specviz study generations`; `measure` decodes with what is trained here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from specviz.studies.generations.result import Taught
from specviz.training.modules.texts import TextOptions
from specviz.training.modules.train import ModuleTraining, Training, Wanted

EAGLE3 = {"wiring": "eagle3", "depths": "2,5,8"}
"""its join and its three depths; the head stays the target's, as in every other row"""
NETWORKS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "model": ("small_model", {}),
    "medusa": ("medusa", {}),
    "markov": ("markov", {}),
    "hydra": ("hydra", {}),
    "eagle": ("eagle", {}),
    "eagle3": ("eagle", {**EAGLE3, "unroll": 4}),
    "p_eagle": ("eagle", {**EAGLE3, "parallel": 4}),
    "masked_block": ("masked_block", {}),
    "dflash": ("dflash", {}),
    "dspark": ("dspark", {}),
}
"""label → module and its options; what is not named is as `specviz train module` has it"""
HELD_OUT_ROWS = 8
LONGEST = 7
"""positions at which acceptance is measured, where a network drafts so far"""
NEVER_S = 1e9
"""between two measurements on the way: at the beginning and in the end is enough"""
SAY_EVERY = 10
"""steps"""


@dataclass(frozen=True)
class GenerationTraining:
    """Budget: whichever runs out first, tokens or minutes; the rate of learning has then fallen to zero."""

    target: str
    tokens: int
    minutes: float
    work_dir: Path
    """texts, checkpoints and, in the end, a folder of weights for each label"""
    seed: int = 0
    texts: TextOptions = field(default_factory=lambda: TextOptions(rows=2, block_rows=32, write_every=64))


def weights_of(work: Path, label: str) -> Path:
    """Where the trained weights lie."""
    return work / "weights" / label


def train(asked: GenerationTraining, say: Callable[[str], None]) -> tuple[Taught, ...]:
    """Train all, or go on where an interrupted training stopped, and keep the weights; what is there already is not
    trained again. Raises TrainingError."""
    record = asked.work_dir / "taught.json"
    if record.is_file():
        return TypeAdapter(tuple[Taught, ...]).validate_json(record.read_bytes())
    training = Training(
        ModuleTraining(
            tuple(Wanted(name, options, label) for label, (name, options) in NETWORKS.items()),
            target=asked.target,
            minutes=asked.minutes,
            tokens=asked.tokens,
            seed=asked.seed,
            texts=asked.texts,
            held_out_rows=HELD_OUT_ROWS,
            work_dir=asked.work_dir,
            measure_every_s=NEVER_S,
        )
    )
    training.run(lambda row: _told(row, say))
    training.export(asked.work_dir / "weights")
    taught = tuple(_taught(label, training) for label in NETWORKS)
    record.write_bytes(TypeAdapter(tuple[Taught, ...]).dump_json(taught, indent=1))
    return taught


def _told(row: Mapping[str, Any], say: Callable[[str], None]) -> None:
    if row["step"] % SAY_EVERY == 0:
        say(f"{row['tokens']:,} tokens, {row['progress']:.0%} of the budget")


def _taught(label: str, training: Training) -> Taught:
    module, progress = training.modules[label], training.loop.progress
    return Taught(
        label,
        module.parameter_count(),
        progress.tokens,
        round(progress.seconds[label] / 60, 2),
        round(progress.elapsed_s / 60, 1),
        tuple(round(share, 4) for share in training.held_out.measure(module, LONGEST).acceptance),
    )
