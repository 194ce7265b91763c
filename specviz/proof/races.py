"""Exact laws of races: who wins under one distribution, given who won under others with the same times.

The times E of V tokens are independent and exponential, so E divided by its sum is uniform on the simplex. That token i
wins under p, E_i p_y <= E_y p_i for all y, cuts the simplex along planes through its corner at 0. What is known of a
race is therefore a set of smaller simplices, and the probability of it the volume of these: no number is drawn. V is
that of a toy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

Corners = npt.NDArray[np.float64]
"""[V, V]: the corners of a simplex, a row each, whose entries add up to 1"""
FLAT = 1e-15
"""a corner that lies so near to a plane lies in it"""


Look = tuple[int, tuple[float, ...]]
"""(winner, distribution [V])"""


@dataclass(frozen=True, slots=True)
class Race:
    """What is known of the times of one race: who won, look by look."""

    tokens: int
    looks: tuple[Look, ...] = ()

    def won(self, token: int, probs: Sequence[float]) -> Race:
        """The same, and `token` wins under `probs` [V], which need not add up to 1."""
        return Race(self.tokens, (*self.looks, (token, tuple(probs))))

    @property
    def share(self) -> float:
        """Probability of what is known."""
        return _share(self)


@lru_cache(maxsize=1 << 16)
def _share(race: Race) -> float:
    return float(sum(abs(np.linalg.det(part)) for part in _parts(race)))


@lru_cache(maxsize=1 << 14)
def _parts(race: Race) -> tuple[Corners, ...]:
    """The simplices that the looks leave."""
    if not race.looks:
        return (np.eye(race.tokens),)
    token, probs = race.looks[-1]
    parts = _parts(Race(race.tokens, race.looks[:-1]))
    for other, p in enumerate(probs):
        if other != token and p > 0.0:
            plane = np.zeros(race.tokens)
            plane[other], plane[token] = probs[token], -p
            parts = tuple(piece for part in parts for piece in _beyond(part, plane))
    return parts


def _beyond(part: Corners, plane: Corners) -> Iterator[Corners]:
    """The part of a simplex where plane · E >= 0, cut into simplices."""
    heights = part @ plane
    above, below = heights > FLAT, heights < -FLAT
    if not below.any():
        yield part
    elif above.any():
        high, low = int(heights.argmax()), int(heights.argmin())
        cut = (part[high] * -heights[low] + part[low] * heights[high]) / (heights[high] - heights[low])
        for replaced in (high, low):
            piece = part.copy()
            piece[replaced] = cut
            yield from _beyond(piece, plane)


Stages = tuple[tuple[float, ...], ...]
"""of each race what is left of its time: means of exponential times that follow one another"""


def soonest(races: Sequence[Race], probs: Sequence[float]) -> list[float]:
    """[V]: probability of what is known of these races, whose times are independent, and that each token is the one
    with the smallest E over probability in all of them.

    Inside a simplex E is the sum of its corners with independent exponential weights, so that the time of a race's
    winner is a sum of exponential times, one per corner, and who is first follows stage by stage.
    """
    chances = [0.0] * len(probs)
    for pieces in product(*(_finishes(race, probs) for race in races)):
        share = prod(share for _, share, _ in pieces)
        for (token, _, _), first in zip(pieces, _first(tuple(stages for _, _, stages in pieces)), strict=True):
            chances[token] += share * first
    return chances


def _finishes(race: Race, probs: Sequence[float]) -> list[tuple[int, float, tuple[float, ...]]]:
    """Ways the race can end under `probs`: (winner, probability, means of the stages of its time)."""
    return [
        (token, abs(float(np.linalg.det(part))), tuple(float(height) / p for height in part[:, token] if height > FLAT))
        for token, p in enumerate(probs)
        if p > 0.0
        for part in _parts(race.won(token, probs))
    ]


@lru_cache(maxsize=1 << 16)
def _first(stages: Stages) -> tuple[float, ...]:
    """Probability of each race to be the first with no stage left."""
    if not all(stages):
        return tuple(float(not left) for left in stages)
    rates = [1.0 / left[0] for left in stages]
    after = [_first((*stages[:k], stages[k][1:], *stages[k + 1 :])) for k in range(len(stages))]
    return tuple(
        sum(rate * then[k] for rate, then in zip(rates, after, strict=True)) / sum(rates) for k in range(len(stages))
    )
