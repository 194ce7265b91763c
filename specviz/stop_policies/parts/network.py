"""A small network that says how likely a candidate is accepted, and where its trained weights come from.

Weights are plain JSON data, made by `specviz learn` (or by a page, for its own runs) and shipped under `assets/stops/`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from specviz.errors import OptionError, SpecVizError
from specviz.resources import ROOT, read_json

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
