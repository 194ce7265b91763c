"""Stops exactly where the target will reject, by asking it: a bound, not a method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from specviz.stop_policies.base import STOP_POLICIES, DraftView, StopOptions, StopPolicy, TargetSays
from specviz.trace.declared_method import Stops
from specviz.trace.events import Option


@dataclass(frozen=True)
class OracleOptions(StopOptions):
    """Nothing to choose."""


@STOP_POLICIES.register("oracle")
class OracleStopPolicy(StopPolicy[OracleOptions]):
    """Stops at the first candidate that the target will reject: an upper bound that cannot be deployed.

    The oracle lookahead of DISCO (2405.04304): no draft goes on below a rejected candidate and none ends above one, so
    no policy with the same drafter and tree policy makes fewer target passes, and a chain wastes one candidate per
    round at most. It knows by asking the target beforehand, which costs what speculation is to save: no speed is ever
    taken from its runs. At temperature 0 alone: above it, what is accepted is not settled before the draws are made.
    """

    stops: ClassVar[Stops] = Stops(score="target")
    temperatures: ClassVar[str] = "zero"
    deployable: ClassVar[bool] = False

    def __init__(self, options: OracleOptions) -> None:
        super().__init__(options)
        self._target_says: TargetSays | None = None
        self._asked = 0

    def consult(self, target_says: TargetSays) -> None:
        self._target_says = target_says

    def goes_below(self, draft: DraftView, node: int) -> bool:
        assert self._target_says is not None, "the oracle was not given a target."
        *before, token = draft.text(node)
        self._asked += 1
        return self._target_says(before) == token

    def state(self) -> dict[str, Option]:
        return {"stop_asked_target": self._asked}
