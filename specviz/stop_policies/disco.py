"""A trained classifier says after each candidate whether to go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from specviz.options import option
from specviz.stop_policies.base import STOP_POLICIES, Recipe
from specviz.stop_policies.learned import OF_DISTRIBUTION, CandidateStopPolicy, ThresholdOptions


@dataclass(frozen=True)
class DiscoOptions(ThresholdOptions):
    """How sure the classifier must be."""

    threshold: float = option(
        0.0,
        help="draft nothing below a candidate less likely to be accepted than this; 0: the value found in training",
        minimum=0.0,
        maximum=1.0,
    )


@STOP_POLICIES.register("disco")
class DiscoStopPolicy(CandidateStopPolicy[DiscoOptions]):
    """Stops below a candidate that a small trained classifier expects to be rejected.

    DISCO (2405.04304): a feed-forward network reads the ten largest probabilities of the drafter's distribution, its
    entropy and the candidate's place in the draft. The candidate itself is submitted. Trained by `specviz learn` on
    logged rounds.
    """

    recipe: ClassVar[Recipe | None] = Recipe(widths=(16,), from_hidden=False, features=OF_DISTRIBUTION)
