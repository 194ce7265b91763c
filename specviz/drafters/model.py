"""Drafts from a smaller language model: a chain, or a tree of given branching, or what a growth policy makes.

How a tree grows is in `specviz/tree_policies`, when a draft ends in `specviz/stop_policies`, how the model is asked in
`parts/model_draft.py`. Knows nothing about the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from specviz.core.sampling import Sampling
from specviz.core.tree import Shape
from specviz.drafters.base import DRAFTERS, DraftContext, Drafter, Proposal
from specviz.drafters.parts.model_draft import ModelDraft
from specviz.drafters.parts.shape import ShapeOptions
from specviz.lm.base import LanguageModel
from specviz.options import Options
from specviz.trace.events import CandidateKind


@DRAFTERS.register("model")
class ModelDrafter(Drafter):
    """A smaller model of the same vocabulary drafts a chain of gamma tokens, or a tree.

    The classic method: worth it when the small model is much cheaper than the target and often agrees with it. Above
    temperature 0 candidates are drawn from its distribution under the same temperature, top-k and top-p as the target.
    Leviathan et al. 2211.17192, Chen et al. 2302.01318; trees: SpecInfer 2305.09781, RSD 2402.14160.
    """

    name: ClassVar[str] = "model"
    options_type: ClassVar[type[Options]] = ShapeOptions
    lossless: ClassVar[bool] = True
    needs_model: ClassVar[bool] = True

    grows: ClassVar[bool] = True
    gives_hidden: ClassVar[bool] = True

    def __init__(self, options: Options, model: LanguageModel | None) -> None:
        assert isinstance(options, ShapeOptions)
        assert model is not None, "this drafter needs a model."
        super().__init__(options, model)
        self._draft = ModelDraft(model, options.growth, self.name)

    @property
    def model(self) -> LanguageModel:
        return self._draft.model

    @classmethod
    def kinds(cls, options: Options, sampling: Sampling) -> frozenset[CandidateKind]:
        assert isinstance(options, ShapeOptions)
        return options.growth.kinds(sampling)

    @classmethod
    def shape(cls, options: Options, sampling: Sampling) -> Shape:
        assert isinstance(options, ShapeOptions)
        return options.growth.shape(sampling)

    def begin(self, tokens: Sequence[int]) -> None:
        self._draft.begin(tokens, self.habit)

    def propose(self, context: DraftContext) -> Proposal:
        return self._draft.propose(context, self.habit)
