"""A tree whose shape is settled before anything is asked: by ranks, or by the very tokens. Registers nothing.

measured accuracies ─ static_paths ─► ranks ──┐
a lattice's best prefixes ──────────► tokens ─┴► PlannedTree ─► tree
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

from specviz.core.sampling import Sampling
from specviz.core.tree import ROOT
from specviz.options import Options
from specviz.trace.events import CandidateKind
from specviz.tree_policies.base import Draft, TreePolicy

Path = tuple[int, ...]


class PlannedTree(TreePolicy[Options]):
    """Level by level, the planned children of each node: point masses, whatever the temperature."""

    name = "planned"
    settles_siblings = True

    def __init__(self, paths: Iterable[Path] = (), by_rank: bool = False) -> None:
        """`paths` from the root, each after its own beginning: of tokens, or, with `by_rank`, of places in the order of
        what the drafter holds most probable."""
        super().__init__(Options())
        self.by_rank = by_rank
        self._children: dict[Path, list[int]] = {}
        for path in paths:
            self._children.setdefault(path[:-1], []).append(path[-1])

    @property
    def paths(self) -> list[Path]:
        """As they were given, brothers beside each other."""
        return [(*path, last) for path, family in self._children.items() for last in family]

    def kinds(self, sampling: Sampling) -> frozenset[CandidateKind]:
        return frozenset(["point_mass"])

    def grow(self, draft: Draft) -> None:
        level: dict[int, Path] = {ROOT: ()}
        while level:
            asked, logits = draft.expand([node for node, path in level.items() if path in self._children])
            plans = [self._children[level[node]] for node in asked]
            ranked: Sequence[Sequence[int]] = []
            if self.by_rank and asked:
                width = min(1 + max(map(max, plans)), logits.shape[-1])
                ranked = logits.topk(width, dim=-1).indices.tolist()
            below: dict[int, Path] = {}
            for row, (node, plan) in enumerate(zip(asked, plans, strict=True)):
                for one in plan:
                    if not self.by_rank:
                        below[draft.add(node, one, "point_mass", None)] = (*level[node], one)
                    elif one < len(ranked[row]):
                        below[draft.add(node, ranked[row][one], "point_mass", None)] = (*level[node], one)
            level = below


def static_paths(accuracies: Sequence[Sequence[float]], nodes: int) -> list[Path]:
    """The `nodes` paths of ranks most probably accepted to their ends, each after its own beginning.

    `accuracies[d][r]` is how often the target's choice at depth d + 1 was the drafter's candidate of rank r. A path's
    worth is the product along it, as if depths erred independently (Medusa, 2401.10774, §2.3.3: the tree of the largest
    expected acceptance length). Of equals the shorter, then the one of lower ranks.
    """
    chosen = list[Path]()
    waiting = [(-worth, 1, (rank,)) for rank, worth in enumerate(accuracies[0])] if accuracies else []
    heapq.heapify(waiting)
    while waiting and len(chosen) < nodes:
        worth, depth, path = heapq.heappop(waiting)
        chosen.append(path)
        if depth < len(accuracies):
            for rank, share in enumerate(accuracies[depth]):
                heapq.heappush(waiting, (worth * share, depth + 1, (*path, rank)))
    return chosen


def expected_length(accuracies: Sequence[Sequence[float]], paths: Iterable[Path]) -> float:
    """Candidates accepted per round where the accuracies hold: the paths' worths, added up."""
    total = 0.0
    for path in paths:
        worth = 1.0
        for depth, rank in enumerate(path):
            worth *= accuracies[depth][rank]
        total += worth
    return total
