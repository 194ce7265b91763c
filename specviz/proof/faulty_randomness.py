"""Crooked dice: bugs that sit in the randomness, planted around the dice of a run.

Each passes on what it does not harm. Knows nothing about methods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from torch import Tensor

from specviz.core.randomness import Dice, Drawn, Toss
from specviz.engine.session import Method
from specviz.trace.uniform_draws import Key


class Generous:
    """Dice that accept whatever they are asked about."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice

    def accept(self, probability: float, key: Key) -> Toss:
        return self._dice.accept(1.0, key)

    def draw(self, probs: Tensor, key: Key) -> Drawn:
        return self._dice.draw(probs, key)

    def foresee(self, probs: Tensor, key: Key) -> int:
        return self._dice.foresee(probs, key)


class OneNumber(Generous):
    """Dice that judge a candidate with the number that drew it.

    Candidates drawn in order at one level: node n is the n-th draw of the round.
    """

    def __init__(self, dice: Dice) -> None:
        super().__init__(dice)
        self._draws: dict[int, Key] = {}

    def draw(self, probs: Tensor, key: Key) -> Drawn:
        purpose, _, index = key
        if purpose == "draft":
            self._draws[index + 1] = key
        return self._dice.draw(probs, key)

    def accept(self, probability: float, key: Key) -> Toss:
        return self._dice.accept(probability, self._draws.get(key[2], key))


class NoDraw(Generous):
    """Dice that put off the draw that ends a round."""

    def draw(self, probs: Tensor, key: Key) -> Drawn:
        return Drawn(int(probs.argmax()), None)

    def accept(self, probability: float, key: Key) -> Toss:
        return self._dice.accept(probability, key)


def thrown(crooked: Callable[[Dice], Dice]) -> Callable[[Method], Method]:
    """Plants such dice into a method."""

    def plant(method: Method) -> Method:
        return replace(method, dice=crooked(method.dice))

    return plant
