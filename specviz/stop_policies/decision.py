"""A trained classifier for forks: all branches go on while any of them is worth it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from specviz.options import option
from specviz.stop_policies.base import STOP_POLICIES, DraftView, Recipe
from specviz.stop_policies.learned import CandidateStopPolicy, ThresholdOptions


@dataclass(frozen=True)
class DecisionOptions(ThresholdOptions):
    """How sure the classifier must be."""

    threshold: float = option(
        0.0,
        help="go on while any candidate of the level is this likely to be accepted (the paper: 0.5); 0: the value "
        "found in training",
        minimum=0.0,
        maximum=1.0,
    )


@STOP_POLICIES.register("decision")
class DecisionStopPolicy(CandidateStopPolicy[DecisionOptions]):
    """Drafts another level below all candidates while a trained classifier believes in any of them.

    The decision model of "Improving Multi-candidate Speculative Decoding" (2409.10644, §3.3), a small network on the
    entropy and the largest probabilities of the drafter's distribution, for any branch of a level. So a fork keeps its
    shape until it ends, and its mask stays a block of the whole fork's. Trained by `specviz learn` on logged rounds.
    """

    recipe: ClassVar[Recipe | None] = Recipe(widths=(32,), from_hidden=False, whole_level=True)

    def going_on(self, draft: DraftView, nodes: Sequence[int]) -> list[int]:
        return list(nodes) if any(self.goes_below(draft, node) for node in nodes) else []
