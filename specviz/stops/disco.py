"""A trained classifier says after each candidate whether to go on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from specviz.options import Options, option
from specviz.stops.base import STOPS, DraftView, Recipe, Stop
from specviz.stops.parts.candidate import FEATURES, HEAD, features
from specviz.stops.parts.network import Network, shipped, sized
from specviz.trace.events import Option


@dataclass(frozen=True)
class DiscoOptions(Options):
    """How sure the classifier must be."""

    threshold: float = option(
        0.0,
        help="draft nothing below a candidate less likely to be accepted than this; 0: the value found in training",
        minimum=0.0,
        maximum=1.0,
    )


@STOPS.register("disco")
class DiscoStop(Stop):
    """Stops below a candidate that a small trained classifier expects to be refused.

    DISCO (2405.04304): a feed-forward network reads the largest probabilities of the drafter's distribution, its
    entropy and the candidate's place in the draft. The candidate itself is submitted. Trained by `specviz learn` on
    logged rounds.
    """

    name: ClassVar[str] = "disco"
    options_type: ClassVar[type[Options]] = DiscoOptions
    recipe: ClassVar[Recipe | None] = Recipe(widths=(16,), from_hidden=False)

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._network: Network | None = None

    @property
    def network(self) -> Network:
        """What it goes by."""
        if self._network is None:
            self._network = sized(shipped(self.name), FEATURES)
        return self._network

    def use(self, weights: Mapping[str, Any]) -> None:
        self._network = sized(Network(weights), FEATURES)

    def goes_below(self, draft: DraftView, node: int) -> bool:
        known = features(draft.head(draft.parent(node), HEAD), draft.prob(node), draft.depth(node))
        return self.network.predict(torch.tensor(known)) >= self._threshold

    def state(self) -> dict[str, Option]:
        return {"stop_threshold": self._threshold, "stop_weights": self.network.digest}

    @property
    def _threshold(self) -> float:
        return float(self.options.threshold) or self.network.threshold
