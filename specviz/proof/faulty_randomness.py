"""Bugs that sit in the randomness, planted around the random source of a run.

Each passes on what it does not harm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from torch import Tensor

from specviz.core.randomness import AcceptDraw, RandomSource, TokenDraw
from specviz.engine.session import Method
from specviz.trace.uniform_draws import Key


class AlwaysAccepts:
    """Accepts whatever it is asked about."""

    def __init__(self, randomness: RandomSource) -> None:
        self._randomness = randomness

    def accept(self, probability: float, key: Key) -> AcceptDraw:
        return self._randomness.accept(1.0, key)

    def draw(self, probs: Tensor, key: Key) -> TokenDraw:
        return self._randomness.draw(probs, key)

    def peek(self, probs: Tensor, key: Key) -> int:
        return self._randomness.peek(probs, key)


class OneDraw(AlwaysAccepts):
    """Judges a candidate with the number that drew it.

    Candidates drawn in order at one level: node n is the n-th draw of the round.
    """

    def __init__(self, randomness: RandomSource) -> None:
        super().__init__(randomness)
        self._draws: dict[int, Key] = {}

    def draw(self, probs: Tensor, key: Key) -> TokenDraw:
        purpose, _, index = key
        if purpose == "draft":
            self._draws[index + 1] = key
        return self._randomness.draw(probs, key)

    def accept(self, probability: float, key: Key) -> AcceptDraw:
        return self._randomness.accept(probability, self._draws.get(key[2], key))


class NoDraw(AlwaysAccepts):
    """Puts off the draw that ends a round."""

    def draw(self, probs: Tensor, key: Key) -> TokenDraw:
        return TokenDraw(int(probs.argmax()), None)

    def accept(self, probability: float, key: Key) -> AcceptDraw:
        return self._randomness.accept(probability, key)


def with_randomness(faulty: Callable[[RandomSource], RandomSource]) -> Callable[[Method], Method]:
    """Plants such a random source into a method."""

    def plant(method: Method) -> Method:
        return replace(method, randomness=faulty(method.randomness))

    return plant
