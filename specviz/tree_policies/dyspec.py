"""DySpec: the tree grows where verification is most likely to arrive."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import ClassVar

from specviz.core.sampling import Sampling
from specviz.core.tree import ROOT, DraftTree
from specviz.options import option
from specviz.trace.declared_method import Trees
from specviz.trace.events import CandidateKind
from specviz.trace.tree_shape import touched_tiles
from specviz.tree_policies.base import MOST_NODES, TREE_POLICIES, Draft, TreePolicy, TreePolicyOptions
from specviz.tree_policies.drawing import Siblings, sibling_kinds, siblings_of


@dataclass(frozen=True)
class DySpecOptions(TreePolicyOptions):
    """Size of the tree, and how it is filled."""

    budget: int = option(16, help="candidates per round", minimum=1, maximum=MOST_NODES, counts="candidates")
    threshold: float = option(
        0.0,
        help="0: the best slot first, one drafter pass per node; above: every slot worth at least this, level by level "
        "with one pass each",
        minimum=0.0,
        maximum=1.0,
    )
    tile: int = option(8, help="side of the mask's blocks that are counted", minimum=1, maximum=128)


@TREE_POLICIES.register("dyspec")
class DySpecTreePolicy(TreePolicy[DySpecOptions]):
    """Spends a budget of nodes where they are most likely to be reached, by the drafter's own probabilities.

    DySpec (2410.11744), algorithm 1: a slot is worth the probability that verification tries it, the product of the
    drafter's probabilities down to it and of the rejections before it. With a threshold, level by level. Nodes are laid
    out subtree by subtree, and the blocks that the mask then touches are counted.
    """

    trees: ClassVar[Trees] = Trees(
        best_first="threshold",
        depth_first=True,
        notes=("mask_tiles", "mask_tiles_all", "mask_tiles_as_drawn"),
    )

    def kinds(self, sampling: Sampling) -> frozenset[CandidateKind]:
        return sibling_kinds(sampling)

    def grow(self, draft: Draft) -> None:
        if self.options.threshold > 0.0:
            self._by_level(draft)
        else:
            self._best_first(draft)
        tree, tile = draft.tree, int(self.options.tile)
        draft.note["mask_tiles_as_drawn"] = touched_tiles(tree.parents, tile)
        draft.arrange(depth_first(tree))
        draft.note["mask_tiles"] = touched_tiles(tree.parents, tile)
        draft.note["mask_tiles_all"] = (-(-len(tree) // tile)) ** 2

    def _best_first(self, draft: Draft) -> None:
        families: dict[int, Siblings] = {}
        values = {ROOT: 1.0}
        slots = [(-1.0, ROOT)]
        """of the next child below a node: what it is worth, negated, and the node; of equals the older node"""
        while slots and draft.tree.drafted < self.options.budget:
            _, node = heapq.heappop(slots)
            if node not in families:
                _, logits = draft.expand([node])
                if not len(logits):
                    continue
                families[node] = siblings_of(logits, draft.sampling)[0]
            family, value = families[node], values[node]
            taken = family.take(draft)
            child = draft.add(node, taken.token, family.kind, taken.proposal)
            values[child] = value * taken.prob
            heapq.heappush(slots, (-values[child], child))
            if family.left > 0.0:
                heapq.heappush(slots, (-value * family.left, node))

    def _by_level(self, draft: Draft) -> None:
        threshold, budget = float(self.options.threshold), int(self.options.budget)
        values = {ROOT: 1.0}
        level = [ROOT]
        while level and draft.tree.drafted < budget:
            nodes, logits = draft.expand(level)
            if not nodes:
                return
            level = []
            for node, family in zip(nodes, siblings_of(logits, draft.sampling), strict=True):
                value = values[node]
                while family.left > 0.0 and value * family.left >= threshold and draft.tree.drafted < budget:
                    taken = family.take(draft)
                    child = draft.add(node, taken.token, family.kind, taken.proposal)
                    values[child] = value * taken.prob
                    if values[child] >= threshold:
                        level.append(child)


def depth_first(tree: DraftTree) -> list[int]:
    """All nodes, subtree by subtree; siblings keep their order, because it is the order of the trials."""
    children = tree.families()
    order, stack = list[int](), [ROOT]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(reversed(children[node]))
    return order
