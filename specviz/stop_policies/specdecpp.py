"""A trained head on the drafter's hidden states says how likely all of the draft is still accepted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from specviz.core.tree import ROOT
from specviz.errors import DraftError
from specviz.options import option
from specviz.stop_policies.base import STOP_POLICIES, DraftView, Recipe
from specviz.stop_policies.learned import ThresholdOptions, TrainedStopPolicy


@dataclass(frozen=True)
class SpecDecPPOptions(ThresholdOptions):
    """How much risk is taken, and from which depth on."""

    threshold: float = option(
        0.0,
        help="stop where a rejection somewhere on the path is likelier than this (the paper: 0.3); 0: the value found "
        "in "
        "training",
        minimum=0.0,
        maximum=1.0,
    )
    least: int = option(2, help="levels that are drafted in any case", minimum=0, maximum=32)


@STOP_POLICIES.register("specdecpp")
class SpecDecPPStopPolicy(TrainedStopPolicy[SpecDecPPOptions]):
    """Stops where a trained head expects that some candidate of the path so far is rejected.

    SpecDec++ (2405.19715, §3): the optimal policy of a Markov decision process is a threshold on 1 - prod P(accepted),
    with P read off the drafter's last hidden state after the candidate. That state exists once the drafter has read
    the candidate, so this last pass is paid for; what follows is then not drawn. Trained by `specviz learn`.
    """

    recipe: ClassVar[Recipe | None] = Recipe(
        widths=(16, 16, 16, 16),
        from_hidden=True,
        reject_weight=6.0,
        whole_path=True,
        least=2,
        steps=30,  # hundreds of inputs and few examples: a longer training only learns these by heart
        learning_rate=0.003,
    )
    needs_hidden: ClassVar[bool] = True

    def __init__(self, options: SpecDecPPOptions) -> None:
        super().__init__(options)
        self._survives: dict[int, float] = {}
        """node → probability that its whole path is accepted"""

    def why_not(self, hidden_size: int, drafter_sha256: str) -> str | None:
        if self.network.inputs != hidden_size:
            return f"its weights read {self.network.inputs} numbers, but the drafter's hidden states have {hidden_size}"
        if self.network.drafter_sha256 != drafter_sha256:
            return "its weights were trained on the hidden states of other drafter weights"
        return None

    def draws_at(self, draft: DraftView, node: int) -> bool:
        if node == ROOT:
            self._survives = {ROOT: 1.0}
            return True
        hidden = draft.hidden(node)
        if hidden is None:
            raise DraftError("the drafter gave no hidden state to the stop policy; this is a fault of the drafter.")
        self._survives[node] = self._survives[draft.parent(node)] * self.network.predict(hidden)
        return draft.depth(node) < self.options.least or 1.0 - self._survives[node] <= self.threshold
