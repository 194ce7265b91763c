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
