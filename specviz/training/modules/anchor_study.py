"""What training at anchor-offset positions brings: the shipped `longspec` network beside one that was trained alike but
for that, and how much of their drafts is accepted further on in a text than they were trained.

Place in the flow: half of `specviz study long-context`; the second network learns from the same batches in the same
order, for as many tokens, and both are measured on the same held-out text of the target. Beyond what the target was
trained for: `raised_study`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specviz.drafters.parts.module_files import ModuleCard, read_module
from specviz.drafters.parts.trained import DrafterModule
from specviz.errors import TrainingError
from specviz.lm.base import GivesFeatures
from specviz.lm.load import load
from specviz.options import Options
from specviz.protocol.long_contexts import ContextAcceptance
from specviz.training.modules.batches import TextOptions
from specviz.training.modules.train import ModuleTraining, Training, Wanted

PLACES = ((2, 96), (97, 192), (193, 384), (385, 640), (641, 960))
"""contexts of the drafts, shortest and longest; up to 192 is what the networks were trained on"""
ROWS = 4
NEVER = 1e9
LABEL = "without_anchors"


def training_of(shipped: ModuleCard, target: str, work_dir: Path) -> ModuleTraining:
    """As the shipped network was trained, at the usual positions; goes on from `work_dir` where it was interrupted."""
    return ModuleTraining(
        (Wanted("cross_kv", {**shipped.options, "anchors": "off"}, LABEL),),
        target=target,
        minutes=0.0,
        tokens=int(shipped.training["tokens"]),
        texts=TextOptions(),
        english=float(shipped.training["english"]),
        loss=str(shipped.training["loss"]),
        lr=0.02,
        work_dir=work_dir,
        measure_every_s=NEVER,
    )


@dataclass(frozen=True)
class Networks:
    """Both, trained on the same batches in the same order for as many tokens, ready to be measured."""

    under_way: Training
    by_anchors: Mapping[bool, DrafterModule[Options]]
    """False: without anchors"""


def both_networks(shipped: Path, training: ModuleTraining, report: Callable[[dict[str, Any]], None]) -> Networks:
    """Train the second as `training` says. Raises TrainingError where the shipped network was not trained at
    anchor-offset positions."""
    model = load(training.target, device="cpu", dtype="float32").model
    assert isinstance(model, GivesFeatures), "this target gives no rows."
    with_anchors = read_module(shipped, model)
    if not getattr(with_anchors.options, "moves_text", False):
        raise TrainingError(
            f"The network in {shipped.name} was not trained at anchor-offset positions, so that there is nothing to "
            "compare; train it with cross_kv.anchors=on."
        )
    under_way = Training(training)
    under_way.run(report)
    (without,) = under_way.modules.values()
    return Networks(under_way, {False: without, True: with_anchors})


def within(networks: Networks, places: Sequence[tuple[int, int]] = PLACES) -> Iterator[ContextAcceptance]:
    """Both by context on what the target writes within its own, shortest first, without anchors first."""
    held_out = networks.under_way.held_out_text(ROWS, places[-1][1])
    for anchors, module in networks.by_anchors.items():
        for (shortest, longest), found in zip(places, held_out.by_context(module, places), strict=True):
            yield ContextAcceptance(anchors, shortest, longest, found)
