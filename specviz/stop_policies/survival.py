"""Stops where the drafter expects that the target takes no more of the path."""

from __future__ import annotations

from dataclasses import dataclass

from specviz.core.tree import ROOT
from specviz.options import option
from specviz.stop_policies.base import STOP_POLICIES, DraftView, StopOptions, StopPolicy
from specviz.trace.events import Option


@dataclass(frozen=True)
class SurvivalOptions(StopOptions):
    """How likely a candidate must be to be reached and taken."""

    threshold: float = option(
        0.3, help="draw nothing that the target is less likely than this to reach and take", minimum=0.0, maximum=1.0
    )
    least: int = option(1, help="levels that are drafted in any case", minimum=0, maximum=32)


@STOP_POLICIES.register("survival")
class SurvivalStopPolicy(StopPolicy[SurvivalOptions]):
    """Draws a token only while the drafter expects that the target takes the path down to it.

    The chance is the product, along the path, of what a trained head says of each place before its token is drawn; of a
    drafter without such a head, of the largest probability there. As nothing that was drawn decides about itself, the
    text keeps its law. The stop of DSpark (2607.05147) for one text; whoever looks at a token and then takes it back
    keeps no law.
    """

    def __init__(self, options: SurvivalOptions) -> None:
        super().__init__(options)
        self._survives: dict[int, float] = {}
        """node → how likely the target takes the path to it and one token more"""

    def draws_at(self, draft: DraftView, node: int) -> bool:
        if node == ROOT:
            self._survives = {}
        sure = draft.confidence(node)
        chance = draft.head(node, 1)[0] if sure is None else sure
        reached = 1.0 if node == ROOT else self._survives[draft.parent(node)]
        self._survives[node] = reached * chance
        return draft.depth(node) < self.options.least or self._survives[node] >= self.options.threshold

    def state(self) -> dict[str, Option]:
        return {"survival_percent": [round(100 * chance) for chance in self._survives.values()]}
