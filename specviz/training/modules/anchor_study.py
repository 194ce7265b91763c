"""What training at anchor-offset positions brings: two `longspec` networks that are trained alike but for that, and how
much of their drafts is accepted further on in a text than they were trained.

Place in the flow: half of `specviz study long-context`. Both begin with fresh weights and learn from the same batches
in the same order, for as many tokens; the shipped network may have learnt before, from another target, so it is neither
of them. Both are measured on the same held-out text of the target. Beyond what the target was trained for:
`raised_study`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specviz.drafters.parts.trained import DrafterModule
from specviz.options import Options
from specviz.protocol.long_contexts import ContextAcceptance
from specviz.training.modules.batches import TextOptions
from specviz.training.modules.train import ModuleTraining, Training, Wanted

PLACES = ((2, 96), (97, 192), (193, 384), (385, 640), (641, 960))
"""contexts of the drafts, shortest and longest; up to 192 is what the networks were trained on"""
ROWS = 4
NEVER = 1e9
TOKENS = 110_592
LABELS = {False: "without_anchors", True: "with_anchors"}


def trainings_of(target: str, work_dir: Path, tokens: int = TOKENS) -> dict[bool, ModuleTraining]:
    """Without anchors (False) and with them; each goes on from `work_dir` where it was interrupted."""
    return {
        anchors: ModuleTraining(
            (Wanted("cross_kv", {"preset": "longspec", "anchors": "on" if anchors else "off"}, label),),
            target=target,
            minutes=0.0,
            tokens=tokens,
            texts=TextOptions(),
            lr=0.02,
            work_dir=work_dir,
            measure_every_s=NEVER,
        )
        for anchors, label in LABELS.items()
    }


@dataclass(frozen=True)
class Networks:
    """Both, trained on the same batches in the same order for as many tokens, ready to be measured."""

    under_way: Training
    by_anchors: Mapping[bool, DrafterModule[Options]]
    """False: without anchors"""


def both_networks(trainings: Mapping[bool, ModuleTraining], report: Callable[[dict[str, Any]], None]) -> Networks:
    """Train both, one after the other: a module with positions of its own is trained alone."""
    found: dict[bool, Training] = {}
    for anchors, training in trainings.items():
        found[anchors] = Training(training)
        found[anchors].run(report)
    return Networks(
        found[False], {anchors: module for anchors, one in found.items() for module in one.modules.values()}
    )


def within(networks: Networks, places: Sequence[tuple[int, int]] = PLACES) -> Iterator[ContextAcceptance]:
    """Both by context on what the target writes within its own, shortest first, without anchors first."""
    held_out = networks.under_way.held_out_text(ROWS, places[-1][1])
    for anchors, module in networks.by_anchors.items():
        for (shortest, longest), found in zip(places, held_out.by_context(module, places), strict=True):
            yield ContextAcceptance(anchors, shortest, longest, found)
