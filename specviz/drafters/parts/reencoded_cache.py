"""The cache of a drafter that reads the text in its own tokens: what was cached is kept as far as the new encoding of
the text agrees with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from specviz.drafters.parts.draft_cache import DraftCache
from specviz.lm.translated import TranslatedModel


class ReencodedCache(DraftCache):
    """Rows are the model's own tokens; nodes come and logits go in the target's."""

    def __init__(self, model: TranslatedModel, encode: Callable[[Sequence[int]], list[int]]) -> None:
        super().__init__(model)
        self._translated = model
        self._encode = encode
        self._read: tuple[int, list[int]] = (0, [])
        """(length of the target's text, that text in own ids), of the last text asked for: texts only grow"""

    def extend(self, nodes: Sequence[tuple[int, int, int]]) -> Tensor:
        """See `DraftCache.extend`."""
        own = self._translated.own_id
        return super().extend([(parent, node, own(token)) for parent, node, token in nodes])

    def _own(self, tokens: Sequence[int]) -> Sequence[int]:
        if self._read[0] != len(tokens):
            self._read = len(tokens), self._encode(tokens) or [self._translated.stand_in]
        return self._read[1]

    def _rewind(self, own: Sequence[int]) -> None:
        """Forget the rows that the encoding of the longer text no longer has; its last token is always fed anew."""
        rows, limit = self._rows, min(self._rows.base, len(own) - 1)
        agree = next((i for i in range(limit) if rows.tokens[i] != own[i]), limit)
        if agree < rows.base:
            rows.truncate(agree)
            self._row_of.clear()

    def _feed(self, own: Sequence[int], parents: Sequence[int] | None, last_only: bool) -> Tensor:
        return self._translated.forward_own(own, self._rows, parents, last_only)
