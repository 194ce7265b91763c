"""What stop policies that go by trained weights have in common: shipped weights or handed ones, and the threshold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import torch

from specviz.errors import OptionError
from specviz.options import option
from specviz.stop_policies.base import DraftView, StopOptions, StopPolicy
from specviz.stop_policies.parts.candidate import FEATURES, HEAD, features
from specviz.stop_policies.parts.network import Network, shipped, sized
from specviz.trace.events import Option


@dataclass(frozen=True)
class ThresholdOptions(StopOptions):
    """How sure the network must be."""

    threshold: float = option(0.0, help="0: the value found in training", minimum=0.0, maximum=1.0)


ThresholdOptionsT_co = TypeVar("ThresholdOptionsT_co", bound=ThresholdOptions, covariant=True)


def against_base_rate(log_loss: float, base_rate: float) -> str:
    """Whether a network tells more about a candidate than the share of accepted ones does, as a sentence; both in nats
    per held-out candidate."""
    verb = "beats" if log_loss < base_rate else "does not beat"
    return (
        f"On held-out rounds it {verb} the base rate of acceptance: {log_loss:.3f} nats per candidate against "
        f"{base_rate:.3f}."
    )


class TrainedStopPolicy(StopPolicy[ThresholdOptionsT_co]):
    """Goes by a network, with an option `threshold` of which 0 means the value found in training."""

    inputs: ClassVar[int | None] = None
    """how many numbers its network reads; None: as many as the drafter's hidden states have"""

    def __init__(self, options: ThresholdOptionsT_co) -> None:
        super().__init__(options)
        self._network: Network | None = None

    @classmethod
    def standing(cls) -> str:
        """How its shipped weights do on held-out rounds; a catalogue must be there before they are learnt."""
        try:
            numbers = shipped(cls.name).made_from
        except OptionError:
            return "It has no weights yet; make them with `specviz learn`."
        loss, base_rate = (numbers.get(f"held_out_log_loss{of}") for of in ("", "_of_base_rate"))
        return "" if loss is None or base_rate is None else against_base_rate(loss, base_rate)

    @property
    def network(self) -> Network:
        """What it goes by."""
        if self._network is None:
            self._network = self._checked(shipped(self.name))
        return self._network

    def use(self, weights: Mapping[str, Any]) -> None:
        self._network = self._checked(Network(weights))

    def state(self) -> dict[str, Option]:
        return {"stop_threshold": self.threshold, "stop_weights": self.network.digest}

    @property
    def threshold(self) -> float:
        """The one asked for, or the one found in training."""
        return float(self.options.threshold) or self.network.threshold

    def _checked(self, network: Network) -> Network:
        return network if self.inputs is None else sized(network, self.inputs)


class CandidateStopPolicy(TrainedStopPolicy[ThresholdOptionsT_co]):
    """One whose network reads the numbers of `candidate`: it says how likely the candidate just drafted is accepted."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        chosen = None if cls.recipe is None else cls.recipe.features
        cls.inputs = FEATURES if chosen is None else len(chosen)

    def goes_below(self, draft: DraftView, node: int) -> bool:
        known = torch.tensor(features(draft.head(draft.parent(node), HEAD), draft.prob(node), draft.depth(node)))
        chosen = None if self.recipe is None else self.recipe.features
        return self.network.predict(known if chosen is None else known[list(chosen)]) >= self.threshold
