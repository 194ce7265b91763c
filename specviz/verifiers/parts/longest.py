"""The walk of the relaxed rules: every candidate whose parent passed is tried, the longest path of passes wins.

Choosing the longest path is what makes them lossy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from specviz.core.tree import ROOT, DraftTree
from specviz.verifiers.base import TrialRecord


def try_all(tree: DraftTree, judge: Callable[[int], TrialRecord]) -> list[TrialRecord]:
    """Trials in the order of the nodes, of all candidates whose parent is the root or passed."""
    passed = {ROOT}
    trials = []
    for node in range(1, len(tree)):
        if tree.parents[node] in passed:
            trials.append(judge(node))
            if trials[-1].accepted:
                passed.add(node)
    return trials


def longest_path(tree: DraftTree, trials: Sequence[TrialRecord], worth: Callable[[int], float]) -> list[int]:
    """The deepest path of passes; of several the one with the largest `worth` of its end, then the earliest."""
    ends = [trial.node for trial in trials if trial.accepted]
    if not ends:
        return []
    return tree.path(max(ends, key=lambda node: (tree.depths[node], worth(node), -node)))
