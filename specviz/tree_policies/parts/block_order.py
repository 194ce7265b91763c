"""The order of a tree's nodes in the attention mask, and how many blocks of the mask it touches."""

from __future__ import annotations

from collections.abc import Sequence

from specviz.core.tree import ROOT, DraftTree


def depth_first(tree: DraftTree) -> list[int]:
    """All nodes, subtree by subtree; siblings keep their order, because it is the order of the trials."""
    children = tree.families()
    order, stack = list[int](), [ROOT]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(reversed(children[node]))
    return order


def touched_tiles(parents: Sequence[int], tile: int) -> int:
    """How many tile × tile blocks of the ancestor mask (a node sees itself and its ancestors) hold anything."""
    touched = set()
    for node in range(len(parents)):
        seen = node
        while seen >= 0:
            touched.add((node // tile, seen // tile))
            seen = parents[seen]
    return len(touched)
