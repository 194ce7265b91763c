"""Stops where the drafter is so undecided that a bound on the acceptance rate is low."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

from specviz.options import option
from specviz.stop_policies.base import STOP_POLICIES, DraftView, StopOptions, StopPolicy
from specviz.trace.declared_method import MovingThreshold, Stops
from specviz.trace.events import Option


@dataclass(frozen=True)
class EntropyOptions(StopOptions):
    """The bound, and what it is held against."""

    scale: float = option(0.15, help="c in the bound 1 - sqrt(c H)", minimum=0.0, maximum=10.0)
    floor: float = option(0.3, help="go on while the bound is at least this", minimum=0.0, maximum=1.0)
    keep: bool = option(
        False, help="draw one more token where the bound is too low, then stop (as SVIP does; AdaEDL draws none)"
    )
    moves: bool = option(False, help="the floor follows the acceptance rate (as AdaEDL's does), from `floor` on")
    wanted: float = option(
        0.9, help="acceptance rate that a moving floor aims at", minimum=0.0, maximum=1.0, needs="moves"
    )
    step: float = option(
        0.01, help="how far a moving floor is pulled at a time", minimum=0.0, maximum=1.0, needs="moves"
    )
    memory: float = option(
        0.5, help="weight of the past in the acceptance rate", minimum=0.0, maximum=1.0, needs="moves"
    )
    inertia: float = option(0.9, help="weight of the old floor in the new one", minimum=0.0, maximum=1.0, needs="moves")


@STOP_POLICIES.register("entropy")
class EntropyStopPolicy(StopPolicy[EntropyOptions]):
    """Stops where 1 - sqrt(c H(q)) falls below a floor, H the entropy of the drafter's distribution in nats.

    The acceptance rate is estimated to be at least that (AdaEDL, 2410.18351; SVIP, 2411.18462). AdaEDL's form stops
    before drawing from such a distribution; with `keep` the token is drawn and submitted first, which is SVIP's
    form (its h = 0.3 is a floor of 0.7). With `moves` the floor rises when too little is accepted and sinks
    otherwise; it then remembers the rounds of its run, and a run continued from a trace starts afresh. H is taken
    after temperature, top-k and top-p.
    """

    stops: ClassVar[Stops] = Stops(score="bound", threshold="floor", noted="stop_floor", moves="moves", keeps="keep")

    def __init__(self, options: EntropyOptions) -> None:
        super().__init__(options)
        given = self.options
        self._floor = MovingThreshold(float(given.floor), given.wanted, given.step, given.memory, given.inertia)

    def learn(self, drafted: int, accepted: int) -> None:
        if self.options.moves:
            self._floor.learn(drafted, accepted)

    def goes_below(self, draft: DraftView, node: int) -> bool:
        return not self.options.keep or self._sure(draft, draft.parent(node))

    def draws_at(self, draft: DraftView, node: int) -> bool:
        return bool(self.options.keep) or self._sure(draft, node)

    def state(self) -> dict[str, Option]:
        return {"stop_floor": self._floor.value} if self.options.moves else {}

    def _sure(self, draft: DraftView, node: int) -> bool:
        sure = 1.0 - sqrt(float(self.options.scale) * draft.entropy(node)) >= self._floor.value
        self._floor.stopped = self._floor.stopped or not sure
        return sure
