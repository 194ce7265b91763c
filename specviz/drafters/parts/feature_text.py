"""The target's states along the text, as a drafter that reads them collects them. Registers nothing.

prompt ─ read ─► ... each round's outcome ─ extend ─► states of every committed token but the last
"""

from __future__ import annotations

import torch
from torch import Tensor

from specviz.core.tree import ROOT
from specviz.drafters.base import RoundOutcome

FIRST_ROWS = 256
"""rows there is room for at first; it doubles when full"""


class FeatureText:
    """States [L, depths, H] of the first L tokens of the text, in one growing storage: 4 · depths · H bytes a token in
    float32."""

    def __init__(self) -> None:
        self.length = 0
        self._rows: Tensor | None = None

    def read(self, features: Tensor) -> None:
        """Append the states [n, depths, H] of the next n tokens."""
        stop = self.length + len(features)
        if self._rows is None or stop > len(self._rows):
            room = FIRST_ROWS
            while room < stop:
                room *= 2
            grown = features.new_empty(room, *features.shape[1:])
            if self._rows is not None:
                grown[: self.length] = self._rows[: self.length]
            self._rows = grown
        self._rows[self.length : stop] = features
        self.length = stop

    def extend(self, outcome: RoundOutcome) -> Tensor:
        """Append the states of what a round committed, but of its last token: they are not computed yet. Returns those
        appended [n, depths, H], of the root and the accepted tokens after it."""
        assert outcome.features is not None, "this round left no states: the drafter is no `ReadsFeatures`."
        path = [ROOT, *outcome.path][: len(outcome.tokens) - 1 - self.length]
        found = outcome.features[torch.tensor(path, device=outcome.features.device)]
        self.read(found)
        return found

    def rows(self, start: int = 0) -> Tensor:
        """States [L - start, depths, H] of the tokens from `start` on; a view."""
        assert self._rows is not None, "no text was read."
        return self._rows[start : self.length]
