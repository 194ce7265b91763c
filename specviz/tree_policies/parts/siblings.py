"""The candidates below one node, taken one by one, so that a policy can decide before each whether to take another.

Above temperature 0 they are drawn without replacement; at temperature 0 the most probable come in order, as point
masses.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from torch import Tensor

from specviz.core.sampling import Sampling, transform, without
from specviz.trace.events import CandidateKind
from specviz.tree_policies.base import Draft

Row = npt.NDArray[np.float32]


class Taken(NamedTuple):
    """One candidate."""

    token: int
    proposal: Tensor | None
    prob: float
    """its share of what the node's distribution had before any sibling was taken"""


class Siblings(Protocol):
    """What is left below a node."""

    kind: CandidateKind

    @property
    def left(self) -> float:
        """Mass of the distribution that no sibling has taken; 0 where there is nothing to take any more."""
        ...

    @property
    def best(self) -> float:
        """Probability of the most probable token that is left."""
        ...

    def take(self, draft: Draft) -> Taken:
        """The next one. Only where something is left."""
        ...


class DrawnSiblings:
    """Drawn one after the other from q without replacement."""

    kind: CandidateKind = "without_replacement"

    def __init__(self, q: Tensor) -> None:
        self._q = q
        self._rest = q
        self._left = 1.0

    @property
    def left(self) -> float:
        return self._left

    @property
    def best(self) -> float:
        return self._left * float(self._rest.max())

    def take(self, draft: Draft) -> Taken:
        token = draft.draw(self._rest)
        self._rest, mass = without(self._rest, [token])
        self._left *= mass
        return Taken(token, self._q, float(self._q[token]))


class RankedSiblings:
    """The most probable, one after the other; of equal ones the lowest id."""

    kind: CandidateKind = "point_mass"

    def __init__(self, probs: Row) -> None:
        self._rest = probs
        self._left = 1.0

    @property
    def left(self) -> float:
        return self._left

    @property
    def best(self) -> float:
        return float(self._rest.max())

    def take(self, draft: Draft) -> Taken:
        token = int(self._rest.argmax())
        prob = float(self._rest[token])
        self._rest[token] = 0.0
        self._left = float(self._rest.sum())
        return Taken(token, None, prob)


def siblings_of(logits: Tensor, sampling: Sampling) -> list[Siblings]:
    """What can be taken below each of the nodes with these logits [n, V]; worked out for all of them at once.

    At temperature 0 the sampling's distribution is a point mass and says nothing about a second candidate, so there
    the model's own softmax ranks them; in one transfer, after which nothing waits for the device.
    """
    if sampling.greedy:
        return [RankedSiblings(row) for row in logits.float().softmax(-1).cpu().numpy()]
    return [DrawnSiblings(row) for row in transform(logits, sampling).unbind(0)]


def sibling_kinds(sampling: Sampling) -> frozenset[CandidateKind]:
    """The kind that `siblings_of` takes."""
    return frozenset([RankedSiblings.kind if sampling.greedy else DrawnSiblings.kind])
