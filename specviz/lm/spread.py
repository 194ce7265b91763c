"""What is asked for where a target does not fit one device: its layers over several (`map:…`), or each of its matrices
over the processes of `torchrun` (`tp:auto`).

Written where a device is named, so that a request, a sweep's file and a link need no further word for it. How it is
done: `hub_load`, `ranks`.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import torch

from specviz.errors import ModelError
from specviz.lm.place import choose_device

MAP, RANKS = "map:", "tp:"
PLANS = ("auto", "balanced", "sequential")
"""ways to share layers out that accelerate knows by name"""
Layers = str | dict[str, int | str]
"""one of `PLANS`, or module → device (0, "cuda:1", "cpu", "disk")"""


@dataclass(frozen=True, slots=True)
class Spread:
    """Where a model goes."""

    device: torch.device
    """where its rows go in and its logits come out"""
    layers: Layers | None = None
    """None: all on `device`"""
    ranks: int = 0
    """processes that share each matrix; 0: this one has it whole"""

    @property
    def spread(self) -> bool:
        return self.layers is not None or self.ranks > 0


def read_spread(device: str) -> Spread:
    """Raises ModelError for what is misspelt, or cannot be had on this machine."""
    if device.startswith(MAP):
        layers = _read_map(device.removeprefix(MAP))
        _need_accelerate("transformers puts layers on several devices with")
        return Spread(choose_device("auto"), layers)
    if device.startswith(RANKS):
        return Spread(_of_this_rank(device.removeprefix(RANKS)), ranks=_ranks())
    return Spread(choose_device(device))


def one_device(device: str) -> str:
    """Where a small model goes that works beside one spread like that: a drafter cut up would wait more than it
    computes."""
    return "auto" if device.startswith((MAP, RANKS)) else device


def _read_map(written: str) -> Layers:
    if written in PLANS:
        return written
    try:
        found: Any = json.loads(written)
    except ValueError:
        found = None
    places = list(found.values()) if isinstance(found, dict) else []
    if not places or not all(isinstance(one, (int, str)) and not isinstance(one, bool) for one in places):
        raise ModelError(
            f"there is no device map {written[:80]!r}; choose {', '.join(PLANS)}, or write a JSON object of modules "
            'and devices such as {"model.embed_tokens": 0, "model.layers.0": "cpu", …}.'
        )
    checked: dict[str, int | str] = found
    return checked


def _of_this_rank(written: str) -> torch.device:
    if written != "auto":
        raise ModelError(f"there is no way {written[:80]!r} to cut a model over processes; choose auto.")
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        raise ModelError(
            "a model is cut over the processes of torchrun, but this process was not started by it; "
            "write torchrun --nproc-per-node 2 -m specviz in place of specviz."
        )
    _need_accelerate("transformers cuts a model over processes with")
    if torch.cuda.is_available():
        return torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    return torch.device("cpu")


def _need_accelerate(purpose: str) -> None:
    if find_spec("accelerate") is None:
        raise ModelError(f"{purpose} accelerate, which is not installed: pip install 'specviz[large]'.")


def _ranks() -> int:
    return int(os.environ["WORLD_SIZE"])
