"""Never stops early: the draft is as deep as its tree policy makes it."""

from __future__ import annotations

from specviz.stop_policies.base import STOP_POLICIES, StopOptions, StopPolicy


@STOP_POLICIES.register("fixed")
class FixedStopPolicy(StopPolicy[StopOptions]):
    """Every draft has its full length.

    The baseline of Leviathan et al. 2211.17192: gamma tokens per round, whatever the drafter thinks of them.
    """

    def does_nothing(self) -> bool:
        return not self.options.longest
