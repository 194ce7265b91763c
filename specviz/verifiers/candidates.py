"""What rules are made of: what a candidate was really drawn from once earlier siblings were rejected, what rejecting it
leaves of a target, and the walk of the relaxed rules, where every candidate whose parent passed is tried.

Choosing the longest path of passes is what makes those lossy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from specviz.core.sampling import without
from specviz.core.tree import ROOT, DraftTree
from specviz.trace.events import Trial


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
    return min(reach * p / q, 1.0) if q > 0.0 else float(reach * p > 0.0)  # in this order what is no number stays none


def scaled_rejection(target: Tensor, reach: float, token: int, proposal: Tensor | None) -> tuple[Tensor, float]:
    """norm(max(0, A p - Q)) [V] and its mass s; `target` with mass 0 where nothing is left."""
    scaled = target.double() * reach
    if proposal is None:
        scaled[token] = 0.0
    else:
        scaled = (scaled - proposal.double()).clamp_(min=0.0)
    mass = float(scaled.sum())
    return ((scaled / mass).to(target.dtype), mass) if mass > 0.0 else (target, 0.0)


def try_all(tree: DraftTree, judge: Callable[[int], Trial]) -> list[Trial]:
    """Trials in the order of the nodes, of all candidates whose parent is the root or passed."""
    passed = {ROOT}
    trials = []
    for node in range(1, len(tree)):
        if tree.parents[node] in passed:
            trials.append(judge(node))
            if trials[-1].accepted:
                passed.add(node)
    return trials


def longest_path(tree: DraftTree, trials: Sequence[Trial], worth: Callable[[int], float]) -> list[int]:
    """The deepest path of passes; of several the one with the largest `worth` of its end, then the earliest."""
    ends = [trial.node for trial in trials if trial.accepted]
    if not ends:
        return []
    return tree.path(max(ends, key=lambda node: (tree.depths[node], worth(node), -node)))
