"""What a candidate was really drawn from once earlier siblings were rejected, and what rejecting it leaves of a target.

The two steps that every rule with residuals is made of.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from specviz.core.sampling import without
from specviz.core.tree import DraftTree


def drawn_before(tree: DraftTree, child: int, rejected: Sequence[int]) -> list[int]:
    """Tokens that `child` could no longer be drawn as: rejected siblings of the same draw without replacement.

    Empty for i.i.d. candidates and point masses.
    """
    if tree.kinds[child] != "without_replacement":
        return []
    return [
        tree.tokens[other]
        for other in rejected
        if tree.kinds[other] == "without_replacement" and tree.sources[other] == tree.sources[child]
    ]


def drawn_from(tree: DraftTree, child: int, rejected: Sequence[int]) -> Tensor | None:
    """Q of a candidate after `rejected` siblings [V]; None for a point mass."""
    proposal = tree.proposals[child]
    taken = drawn_before(tree, child, rejected)
    return without(proposal, taken)[0] if taken and proposal is not None else proposal


def reach_after(reach: float, left: float) -> float:
    """s / (s + 1 - A): the probability to end at a node reached with A, of whose deeper paths s is left; 0/0 is 1.

    Block verification (2403.10444, algorithm 2: h_i) and traversal verification (2505.12398, §3).
    """
    below = left + 1.0 - reach
    return left / below if below > 0.0 else 1.0


def path_reach(reach: float, p: float, q: float) -> float:
    """min(1, A p/q): A of a child from A of its parent; the same quantity is called P_i in block verification."""
    return min(1.0, reach * p / q) if q > 0.0 else float(reach * p > 0.0)


def scaled_rejection(target: Tensor, reach: float, token: int, proposal: Tensor | None) -> tuple[Tensor, float]:
    """norm(max(0, A p - Q)) [V] and its mass s; `target` with mass 0 where nothing is left."""
    scaled = target.double() * reach
    if proposal is None:
        scaled[token] = 0.0
    else:
        scaled = (scaled - proposal.double()).clamp_(min=0.0)
    mass = float(scaled.sum())
    return ((scaled / mass).to(target.dtype), mass) if mass > 0.0 else (target, 0.0)
