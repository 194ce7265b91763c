"""What follows from a tree's parents alone: families, rows of a pass, and where its nodes stand on a screen."""

from __future__ import annotations

from collections.abc import Sequence


def families_of(parents: Sequence[int]) -> list[list[int]]:
    """Per node its children, in the order of their ids; a parent of -1 is none."""
    families: list[list[int]] = [[] for _ in parents]
    for node, parent in enumerate(parents):
        if parent >= 0:
            families[parent].append(node)
    return families


def rows_of(parents: Sequence[int], tokens: Sequence[int]) -> list[int]:
    """Per node its row in a pass over the tree: 0 for the root, and one row for nodes of the same text.

    Only i.i.d. siblings and candidates of several sources repeat a text; elsewhere row i is node i."""
    row_of: dict[tuple[int, int], int] = {}
    rows = [0]
    for parent, token in zip(parents[1:], tokens[1:], strict=True):
        rows.append(row_of.setdefault((rows[parent], token), 1 + len(row_of)))
    return rows


def tidy_layout(parents: Sequence[int], depths: Sequence[int]) -> list[tuple[float, float]]:
    """(x, y) per node: x is the depth, leaves take rows 0, 1, 2, … in depth-first order, a parent sits at
    the middle of its first and last child (Reingold-Tilford's idea at unit node size, no crossings)."""
    children = families_of(parents)
    rows = [0.0] * len(parents)
    next_row = 0.0
    stack = [0]
    preorder: list[int] = []
    while stack:
        node = stack.pop()
        preorder.append(node)
        stack.extend(reversed(children[node]))
        if not children[node]:
            rows[node] = next_row
            next_row += 1.0
    for node in reversed(preorder):
        if children[node]:
            rows[node] = (rows[children[node][0]] + rows[children[node][-1]]) / 2
    return [(float(depth), row) for depth, row in zip(depths, rows, strict=True)]


def touched_tiles(parents: Sequence[int], tile: int) -> int:
    """How many tile × tile blocks of the ancestor mask (a node sees itself and its ancestors) hold anything."""
    touched = set()
    for node in range(len(parents)):
        seen = node
        while seen >= 0:
            touched.add((node // tile, seen // tile))
            seen = parents[seen]
    return len(touched)
