"""The tree template of Token Recycling: which followers of followers are drafted, as paths of ranks.

A path (0, 2) is the third follower of the root's first follower. Knows nothing about tokens or matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from specviz.tree_policies.base import StepCosts

Path = tuple[int, ...]

LEVELS = (8, 21, 25, 15, 8, 3)
"""candidates at depth 1, 2, … of the published 80-node template (authors' release, version 2.2.2)"""
WIDEST = 8
"""followers per token, hence ranks"""
NODES = sum(LEVELS)


def whole_template() -> list[Path]:
    """80 paths with the published number at each depth, breadth first.

    Our reading: of the children of what the depth above kept, those with the smallest product of ranks counted from 1,
    as if a follower's chance fell with its rank as in Zipf's law; among equals the one whose first ranks are lower.
    """
    template, level = list[Path](), list[Path]([()])
    for count in LEVELS:
        children = [(*path, rank) for path in level for rank in range(WIDEST)]
        level = sorted(children, key=lambda path: (prod(rank + 1 for rank in path), path))[:count]
        template += sorted(level)
    return template


def by_worth(template: Sequence[Path], hits: Sequence[float]) -> list[Path]:
    """The paths in the order in which a smaller tree keeps them, parents always before children.

    `hits` are the chances, each below 1 and falling, that the follower of rank 0, 1, … is what the target says; a
    path's worth, the chance that it is accepted, is their product. Paths of ranks beyond `hits` are left out.
    """
    possible = [path for path in template if max(path) < len(hits)]
    return sorted(possible, key=lambda path: (-_worth(path, hits), len(path), path))


def best_size(ordered: Sequence[Path], hits: Sequence[float], costs: StepCosts) -> int:
    """How many of the paths, at least one, take the least time per token: one target pass over them and the root,
    divided by the tokens expected of it."""
    tokens, best = 1.0, (float("inf"), 1)
    for size, path in enumerate(ordered, start=1):
        tokens += _worth(path, hits)
        best = min(best, (costs.target_s(size + 1) / tokens, size))
    return best[1]


def _worth(path: Path, hits: Sequence[float]) -> float:
    return prod(hits[rank] for rank in path)
