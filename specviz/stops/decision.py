"""A trained classifier for forks: all branches go on while any of them is worth it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from specviz.assets import asset_path
from specviz.options import Options, option
from specviz.stops.base import STOPS, DraftView, Stop
from specviz.stops.parts.decision_model import HEAD, belief, features


@dataclass(frozen=True)
class DecisionOptions(Options):
    """How sure the classifier must be."""

    threshold: float = option(
        0.5, help="go on while any candidate of the level is this likely to be accepted", minimum=0.0, maximum=1.0
    )


@STOPS.register("decision")
class DecisionStop(Stop):
    """Drafts another level below all candidates while a trained classifier believes in any of them.

    The decision model of "Improving Multi-candidate Speculative Decoding" (2409.10644, §3.3) on the entropy and the
    largest probabilities of the drafter's distribution, at 0.5 for any branch of a level. So a fork keeps its shape
    until it ends, and its mask stays a block of the whole fork's.
    """

    name: ClassVar[str] = "decision"
    options_type: ClassVar[type[Options]] = DecisionOptions

    def going_on(self, draft: DraftView, nodes: Sequence[int]) -> list[int]:
        return list(nodes) if any(self.goes_below(draft, node) for node in nodes) else []

    def goes_below(self, draft: DraftView, node: int) -> bool:
        known = features(draft.head(draft.parent(node), HEAD), draft.prob(node), draft.depth(node))
        return belief(self._weights, known) >= float(self.options.threshold)

    @cached_property
    def _weights(self) -> dict[str, Any]:
        weights: dict[str, Any] = json.loads(asset_path("stops", "decision.json").read_text(encoding="utf-8"))
        return weights
