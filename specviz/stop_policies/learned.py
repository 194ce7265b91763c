"""Stop policies that go by trained weights: what they read of a candidate, the small network, shipped weights or handed
ones, and the threshold.

The numbers of a candidate can be read from a trace too, which keeps the head of every distribution: what is learnt from
logged rounds is what is asked in live ones. Weights are plain JSON data, made by `specviz learn` (or by a page, for its
own runs) and shipped under `assets/stops/`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import log
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor
from torch.nn import functional

from specviz.errors import OptionError, SpecVizError
from specviz.options import option
from specviz.resources import ROOT, read_json
from specviz.stop_policies.base import DraftView, StopOptions, StopPolicy
from specviz.trace.events import Option

HEAD = 10
"""how many of the largest probabilities are looked at (DISCO, 2405.04304); a trace keeps as many by default"""
SMALLEST = 1e-6
"""a trace keeps six decimals"""
FEATURES = HEAD + 3
OF_DISTRIBUTION = tuple(number for number in range(FEATURES) if number != HEAD)
"""which of the features do not look at the candidate's own probability: DISCO's (2405.04304)"""


def features(head: Sequence[float], prob: float, depth: int) -> list[float]:
    """Of a candidate at `depth` to which the drafter gave `prob`, out of a distribution with the largest
    probabilities `head` (decreasing, `HEAD` of them or all there are):

    their logarithms, that of `prob`, the entropy in nats of the head with all the rest as one outcome, and the depth.
    """
    kept = [*head[:HEAD], *[0.0] * (HEAD - len(head))]
    outcomes = [*kept, 1.0 - sum(kept)]
    entropy = -sum(p * log(p) for p in outcomes if p > SMALLEST)
    return [*map(_log, kept), _log(prob), entropy, float(depth)]


def _log(prob: float) -> float:
    return log(max(prob, SMALLEST))


Layers = Sequence[tuple[Tensor, Tensor]]
"""(weight [out, in], bias [out]) of each layer; the last has one output"""


def logits(inputs: Tensor, layers: Layers) -> Tensor:
    """inputs [n, in] → [n], before the sigmoid. A layer as wide as its input is added to it (a residual block,
    x + SiLU(Wx + b), as in SpecDec++ 2405.19715, §3.2); another hidden layer is SiLU(Wx + b)."""
    x = inputs
    for weight, bias in layers[:-1]:
        y = functional.silu(functional.linear(x, weight, bias))
        x = x + y if x.shape[-1] == y.shape[-1] else y
    weight, bias = layers[-1]
    return functional.linear(x, weight, bias)[:, 0]


class Network:
    """Trained weights, ready to be asked."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        """Raises OptionError where the data are no weights."""
        try:
            self._mean, self._scale = (torch.tensor(data[key], dtype=torch.float32) for key in ("mean", "scale"))
            self._layers = [
                (torch.tensor(one["weight"], dtype=torch.float32), torch.tensor(one["bias"], dtype=torch.float32))
                for one in data["layers"]
            ]
            self.threshold = float(data["threshold"])
            self.drafter_sha256 = str(data["drafter_sha256"])
            """the drafter whose rounds it was trained on"""
            self.made_from: Mapping[str, Any] = dict(data.get("made_from", {}))
            """what is known of its training, such as `held_out_log_loss`"""
            self.predict(torch.zeros(self.inputs))
        except (KeyError, TypeError, ValueError, IndexError, RuntimeError) as error:
            raise OptionError(
                f"these are no weights of a stop policy ({type(error).__name__}: {error}); make new ones with "
                "`specviz learn`."
            ) from None
        self.digest = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def inputs(self) -> int:
        """How many numbers it takes."""
        return self._mean.numel()

    def predict(self, inputs: Tensor) -> float:
        """inputs [in] → probability."""
        row = ((inputs - self._mean) / self._scale).unsqueeze(0)
        return float(logits(row, self._layers).sigmoid())


@cache
def shipped(policy: str) -> Network:
    """The weights in `assets/stops/`. Raises OptionError where there are none."""
    path = ROOT / "stops" / f"{policy}.json"
    try:
        return Network(read_json(path))
    except (SpecVizError, KeyError, TypeError, ValueError) as error:
        raise OptionError(
            f"the stop policy '{policy}' has no weights (assets/stops/{path.name}: {error}) `specviz learn` makes them "
            "anew."
        ) from None


def sized(network: Network, inputs: int) -> Network:
    """The network, if it takes so many numbers. Raises OptionError."""
    if network.inputs != inputs:
        raise OptionError(
            f"these weights read {network.inputs} numbers, but the stop policy gives {inputs}; make new ones with "
            "`specviz learn`."
        )
    return network


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
