"""The batch of any model, for models that have none of their own and as a measure for those that do."""

from collections.abc import Sequence

from torch import Tensor

from specviz.lm.base import Cache, LanguageModel, Share


class OneByOne:
    """The batch of any model: each share alone, one after the other. Gives the right answers and saves no time."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    def new_cache(self) -> Cache:
        return self._model.new_cache()

    def forward(self, shares: Sequence[Share]) -> list[Tensor]:
        return [self._model.forward(share.tokens, share.cache, share.parents, share.last_only) for share in shares]

    def leave(self, cache: Cache) -> None:
        """Nothing is shared."""
