"""Never stops early: the draft is as deep as its growth policy makes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from specviz.stop_policies.base import STOPS, Stop, StopOptions


@dataclass(frozen=True)
class FixedOptions(StopOptions):
    """Nothing to choose."""


@STOPS.register("fixed")
class FixedStop(Stop[FixedOptions]):
    """Every draft has its full length.

    The baseline of Leviathan et al. 2211.17192: gamma tokens per round, whatever the drafter thinks of them.
    """

    ends_early: ClassVar[bool] = False
