"""Uniform draws whose outcomes are given in order, for tests of one decision."""

from collections.abc import Sequence

from torch import Tensor

from specviz.core.randomness import AcceptDraw, Key, TokenDraw


class ScriptedRandom:
    """`True`/`False` for accept, a token id for draw."""

    def __init__(self, outcomes: Sequence[bool | int]) -> None:
        self._outcomes = list(outcomes)

    def accept(self, probability: float, key: Key) -> AcceptDraw:
        outcome = self._next(key)
        if not isinstance(outcome, bool):
            raise ValueError(f"the script has token {outcome} where {key} needs True or False.")
        return AcceptDraw(outcome, None)

    def draw(self, probs: Tensor, key: Key) -> TokenDraw:
        outcome = self._next(key)
        if isinstance(outcome, bool):
            raise ValueError(f"the script has {outcome} where {key} needs a token id.")
        return TokenDraw(outcome, None)

    def peek(self, probs: Tensor, key: Key) -> int:
        """A script holds no noise to look at: the most probable token."""
        return int(probs.argmax())

    def _next(self, key: Key) -> bool | int:
        if not self._outcomes:
            raise ValueError(f"the script has no outcome left for {key}; give one more.")
        return self._outcomes.pop(0)
