"""What rejected candidates leave of the target below one node, in double precision over the whole vocabulary.

The arithmetic of the rules that subtract, written down from their equations and not taken from the verifiers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from specviz.live.audit.laws import Law, Number, point, spread
from specviz.trace.declared_rule import OPERATIONS
from specviz.trace.events import Node

WHOLE = Number(1.0)
ANY = Number(0.5, 0.5)
"""a probability of which nothing is known"""
ratio, end_here = OPERATIONS["ratio"], OPERATIONS["end_here"]


@dataclass
class Level:
    """The candidates below one node while they are tried."""

    left: Law | None
    """the target's distribution after the rejected ones; None: it cannot be recomputed any more"""
    proposal_of: Callable[[Node, Sequence[Node]], Law | None]
    """(candidate, rejected before it) → what it was drawn from; None: not recomputed"""
    reach: Number = WHOLE
    """A: by how much the target is scaled before a candidate is subtracted (bottom-up rules); 1 elsewhere"""
    before: Number = WHOLE
    """A before the last rejected one"""
    mass: Number | None = None
    """s: what the last rejected one left; None: not recomputed"""
    unseen: bool = False
    """a rejected one was drawn from what is not recomputed"""
    rejected: list[Node] = field(default_factory=list)

    def proposal(self, child: Node) -> Law | None:
        return self.proposal_of(child, self.rejected)

    def probability(self, child: Node, p: Number, q: Number) -> Number:
        """min(1, A p/Q): A of a candidate from A of its parent."""
        return spread(lambda a, x, y: ratio(a * x, y), self.reach, p, q)

    def reject(self, child: Node, scales: bool) -> None:
        """max(0, A p − Q), normalised, is what the next one is tried against; with `scales` A becomes s/(s + 1 − A),
        and is as unknown as s where that is not recomputed."""
        drawn_from = self.proposal(child)
        self.rejected.append(child)
        self.unseen = self.unseen or drawn_from is None
        if self.left is None or drawn_from is None:
            self.left = self.mass = None
        else:
            self.left, self.mass = subtract(self.left, self.reach, drawn_from)
        if scales:
            self.before = self.reach
            self.reach = ANY if self.mass is None else spread(end_here, self.mass, self.reach)


def subtract(p: Law, scale: Number, q: Law) -> tuple[Law | None, Number]:
    """norm(max(0, A p − Q)) and its mass; None where what is left is within the precision of the two."""
    over = scale.value * p.probs - q.probs
    near = scale.value * p.near + scale.near * p.probs + q.near
    return normalised(over, near)


def normalised(over: np.ndarray, near: np.ndarray) -> tuple[Law | None, Number]:
    """max(0, over) and its sum, with the bounds that follow from those of `over`."""
    kept, near = np.maximum(over, 0.0), np.where(over > -near, near, 0.0)
    mass = Number(float(kept.sum()), float(near.sum()))
    if mass.value <= 2 * mass.near:
        return None, mass
    probs = kept / mass.value
    return Law(probs, (near + probs * mass.near) / (mass.value - mass.near)), mass


def kseq_beta(p: Law, q: Law, rho: float) -> Number:
    """beta = Σ min(p / rho, q) (SpecTr, 2310.15141)."""
    return Number(float(np.minimum(p.probs / rho, q.probs).sum()), float(np.maximum(p.near / rho, q.near).sum()))


def kseq_left(p: Law, q: Law, rho: float, siblings: int) -> tuple[Law | None, Number]:
    """norm(p − min(p / rho, q) (1 − (1 − beta)^K) / beta) and its mass."""
    factor = spread(lambda beta: (1 - (1 - min(1.0, beta)) ** siblings) / beta, kseq_beta(p, q, rho))
    both = np.minimum(p.probs / rho, q.probs)
    near = p.near + factor.value * np.maximum(p.near / rho, q.near) + factor.near * both
    return normalised(p.probs - factor.value * both, near)


def proposal(q: Law | None, child: Node, rejected: Sequence[Node], size: int) -> Law | None:
    """What a candidate was drawn from: a point mass, q, or q less the siblings drawn before it and put back nowhere."""
    if child.kind == "point_mass":
        return point(child.token, size)
    gone = [
        node.token
        for node in rejected
        if (node.kind, node.source) == (child.kind, child.source) and child.kind != "iid"
    ]
    if q is None or not gone:
        return q
    probs, near = q.probs.copy(), q.near.copy()
    probs[gone] = near[gone] = 0.0
    return normalised(probs, near)[0]
