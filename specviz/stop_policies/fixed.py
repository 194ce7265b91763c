"""Never stops early: the draft is as deep as its tree policy makes it."""

from __future__ import annotations

from typing import ClassVar

from specviz.stop_policies.base import STOP_POLICIES, StopOptions, StopPolicy
from specviz.trace.declared_method import Stops


@STOP_POLICIES.register("fixed")
class FixedStopPolicy(StopPolicy[StopOptions]):
    """Every draft has its full length.

    The baseline of Leviathan et al. 2211.17192: gamma tokens per round, whatever the drafter thinks of them.
    """

    stops: ClassVar[Stops] = Stops(score="none")

    def does_nothing(self) -> bool:
        return not self.options.longest
