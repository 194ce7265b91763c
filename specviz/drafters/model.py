"""Drafts from a smaller language model: a chain, or a tree of given branching, or what a tree policy makes.

How a tree grows is in `specviz/tree_policies`, when a draft ends in `specviz/stop_policies`, how the model is asked in
`drafting/draft_model.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from specviz.drafters.base import DRAFTERS, DraftContext, Needs, Proposal
from specviz.drafters.capabilities import Begins, UsesModel
from specviz.drafters.drafting.draft_model import ModelDraft
from specviz.drafters.drafting.growing import GrowingDrafter, ShapeOptions
from specviz.lm.base import LanguageModel


@DRAFTERS.register("model")
class ModelDrafter(GrowingDrafter[ShapeOptions], UsesModel, Begins):
    """A smaller model of the same vocabulary drafts a chain of gamma tokens, or a tree.

    The classic method: worth it when the small model is much cheaper than the target and often agrees with it. Above
    temperature 0 candidates are drawn from its distribution under the same temperature, top-k and top-p as the target.
    Leviathan et al. 2211.17192, Chen et al. 2302.01318; trees: SpecInfer 2305.09781, RSD 2402.14160.
    """

    needs: ClassVar[Needs | None] = Needs(
        guesses_from="a smaller language model",
        training="the small model's",
        memory="the small model's weights and cache",
    )
    pass_reads: ClassVar[str] = "all weights of its model"

    def use(self, model: LanguageModel) -> None:
        self._draft = ModelDraft(model, self.name)

    def drafting_model(self) -> LanguageModel:
        return self._draft.model

    def gives_hidden(self) -> bool:
        return True

    def begin(self, tokens: Sequence[int]) -> None:
        self._draft.begin(tokens, self.draft_policies.stop_policy)

    def propose(self, context: DraftContext) -> Proposal:
        return self._draft.propose(context, self.tree_policy, self.draft_policies.stop_policy)
