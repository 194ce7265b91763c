"""Stops below a candidate that the drafter itself thought unlikely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from specviz.options import option
from specviz.stop_policies.base import STOP_POLICIES, DraftView, StopOptions, StopPolicy
from specviz.trace.declared_method import Stops


@dataclass(frozen=True)
class ConfidenceOptions(StopOptions):
    """How sure the drafter must have been."""

    threshold: float = option(
        0.4, help="draft nothing below a candidate less probable than this", minimum=0.0, maximum=1.0
    )


@STOP_POLICIES.register("confidence")
class ConfidenceStopPolicy(StopPolicy[ConfidenceOptions]):
    """Keeps a drawn token and then stops where its probability was below the threshold.

    Assisted generation in Hugging Face transformers (`assistant_confidence_threshold`, 0.4), a training-free form of
    DISCO (2405.04304). The unlikely token itself is submitted: taking it back would bias the text.
    """

    stops: ClassVar[Stops] = Stops(score="prob", threshold="threshold")

    def goes_below(self, draft: DraftView, node: int) -> bool:
        return draft.prob(node) >= float(self.options.threshold)
