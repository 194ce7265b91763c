"""Puts retrieved continuations into a tree that a model drew: pruned by its distribution, merged by longest prefix.

    tries of what was found ─► prune by the model's q ─► rank ─► walk down the tree, branch off where it ends

The model's candidates keep their kind, order and place; what is added is a point mass and stands after them. Knows
nothing about where tries come from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from torch import Tensor

from specviz.core.tree import ROOT, DraftTree
from specviz.drafters.parts.continuations import Found


@dataclass(frozen=True, slots=True)
class Branches:
    """A trie of continuations from one source, and what became of it."""

    source: str
    found: Sequence[Found]
    nodes: dict[int, int] = field(default_factory=dict)
    """index into `found` → node of the tree, of those that are in it"""
    pruned: list[int] = field(default_factory=list)
    """indices of first tokens that the model's distribution speaks against"""

    def first(self, index: int) -> int:
        """Index of the first token on the way to `index`."""
        while self.found[index].parent >= 0:
            index = self.found[index].parent
        return index


def prune(branches: Branches, q: Tensor | None, keep: int) -> dict[int, float]:
    """Index → score of what survives: its first token is one of the `keep` most probable in `q` [V].

    The score is q(first token) times the share of the path; without a distribution the share alone.
    """
    allowed: Mapping[int, float] | None = None
    if q is not None:
        best = q.topk(min(keep, q.shape[-1]))
        allowed = dict(zip(best.indices.tolist(), best.values.tolist(), strict=True))
    scores: dict[int, float] = {}
    for index, one in enumerate(branches.found):
        first = branches.found[branches.first(index)].token
        if allowed is None or first in allowed:
            scores[index] = one.share * (1.0 if allowed is None else allowed[first])
        elif one.parent < 0:
            branches.pruned.append(index)
    return scores


def fuse(tree: DraftTree, sources: Sequence[tuple[Branches, Mapping[int, float]]], most: int) -> None:
    """Add continuations, the best first, until the tree has `most` candidates; those that are in it are only found.

    Parents precede children, because a path's score never rises.
    """
    ranked = [(-score, place, index) for place, (_, scores) in enumerate(sources) for index, score in scores.items()]
    for _, place, index in sorted(ranked):
        branches = sources[place][0]
        one = branches.found[index]
        parent = ROOT if one.parent < 0 else branches.nodes.get(one.parent)
        if parent is None:
            continue
        node = next((child for child in tree.children(parent) if tree.tokens[child] == one.token), None)
        if node is None and tree.drafted < most:
            node = tree.add(parent, one.token, "point_mass", None, branches.source)
        if node is not None:
            branches.nodes[index] = node
