"""Drafts deeper after a wholly accepted round, shallower after a rejection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from specviz.options import option
from specviz.stop_policies.base import LONGEST, STOP_POLICIES, StopOptions, StopPolicy
from specviz.trace.declared_method import Stops
from specviz.trace.events import Option


@dataclass(frozen=True)
class HeuristicOptions(StopOptions):
    """Where to start, and the steps."""

    longest: int = option(0, help=f"levels at most; 0: {LONGEST}", minimum=0, maximum=LONGEST)
    start_levels: int = option(5, help="levels of the first draft", minimum=1, maximum=32)
    longer: int = option(2, help="added after a wholly accepted draft", minimum=0, maximum=32)
    shorter: int = option(1, help="taken away after any other draft", minimum=0, maximum=32)


@STOP_POLICIES.register("heuristic")
class HeuristicStopPolicy(StopPolicy[HeuristicOptions]):
    """Two tokens more after a wholly accepted draft, one less otherwise, never below one.

    The schedule "heuristic" of assisted generation in Hugging Face transformers. A chain gets the length it asks for,
    shorter or longer than its own; a tree is cut there. It remembers the rounds of its run; a run continued from a
    trace starts afresh.
    """

    stops: ClassVar[Stops] = Stops(score="none", levels="stop_levels")

    def __init__(self, options: HeuristicOptions) -> None:
        super().__init__(options)
        self._levels: int = self.options.start_levels

    def learn(self, drafted: int, accepted: int) -> None:
        if not drafted:
            return  # a round in which nothing could be drafted says nothing about length
        if accepted >= drafted:
            self._levels = drafted + self.options.longer  # of a draft that had room for less, no more than it showed
        else:
            self._levels = max(1, self._levels - self.options.shorter)

    def levels(self) -> int | None:
        return min(self._levels, self.options.longest or LONGEST)

    def state(self) -> dict[str, Option]:
        return {"stop_levels": self._levels}
