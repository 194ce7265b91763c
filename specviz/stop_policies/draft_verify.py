"""A confidence threshold that follows the acceptance rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from specviz.options import option
from specviz.stop_policies.base import STOP_POLICIES, DraftView, StopOptions, StopPolicy
from specviz.trace.declared_method import MovingThreshold, Stops
from specviz.trace.events import Option


@dataclass(frozen=True)
class DraftVerifyOptions(StopOptions):
    """The first threshold, and how it moves."""

    first_threshold: float = option(0.8, help="the threshold before anything was learned", minimum=0.0, maximum=1.0)
    wanted: float = option(0.9, help="acceptance rate that the threshold aims at", minimum=0.0, maximum=1.0)
    step: float = option(0.01, help="how far the threshold is pulled at a time", minimum=0.0, maximum=1.0)
    memory: float = option(0.5, help="weight of the past in the acceptance rate", minimum=0.0, maximum=1.0)
    inertia: float = option(0.9, help="weight of the old threshold in the new one", minimum=0.0, maximum=1.0)


@STOP_POLICIES.register("draft_verify")
class DraftVerifyStopPolicy(StopPolicy[DraftVerifyOptions]):
    """Stops below an unlikely candidate; the threshold rises when too little is accepted and sinks otherwise.

    Draft & Verify (2309.08168, §4.3): a smoothed acceptance rate below the wanted one pulls the threshold up by a
    step, otherwise down, unless the last draft was never stopped; the threshold itself is smoothed too. It remembers
    the rounds of its run; a run continued from a trace starts afresh.
    """

    stops: ClassVar[Stops] = Stops(score="prob", threshold="first_threshold", noted="stop_threshold")

    def __init__(self, options: DraftVerifyOptions) -> None:
        super().__init__(options)
        given = self.options
        self._moving = MovingThreshold(
            float(given.first_threshold), given.wanted, given.step, given.memory, given.inertia
        )

    def learn(self, drafted: int, accepted: int) -> None:
        self._moving.learn(drafted, accepted)

    def goes_below(self, draft: DraftView, node: int) -> bool:
        goes_on = draft.prob(node) >= self._moving.value
        self._moving.stopped = self._moving.stopped or not goes_on
        return goes_on

    def state(self) -> dict[str, Option]:
        return {"stop_threshold": self._moving.value}
