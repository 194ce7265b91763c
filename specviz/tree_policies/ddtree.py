"""DDTree: of all paths through a block that was drafted in one pass, those most likely to be right."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from math import exp, log
from typing import ClassVar

from torch import Tensor

from specviz.core.sampling import Sampling, transform
from specviz.core.tree import ROOT
from specviz.options import option
from specviz.trace.declared_method import Trees
from specviz.trace.events import CandidateKind
from specviz.tree_policies.base import MOST_NODES, TREE_POLICIES, Draft, TreePolicy, TreePolicyOptions
from specviz.tree_policies.drawing import DrawnSiblings

Ranks = tuple[int, ...]
"""of a node: which of its parent's likeliest tokens it is, at every level down to it"""


@dataclass(frozen=True)
class DDTreeOptions(TreePolicyOptions):
    """Size of the tree, and what fills it."""

    budget: int = option(12, help="candidates per round", minimum=1, maximum=MOST_NODES, counts="candidates")
    draw: str = option(
        "top_k",
        help="top_k: the likeliest tokens; without_replacement: drawn ones, in a tree of the same shape",
        choices=("top_k", "without_replacement"),
    )


@dataclass(frozen=True, slots=True)
class Ranked:
    """What follows a node, likeliest first."""

    tokens: list[int]
    costs: list[float]
    """negative logarithms of their probabilities, rising"""


def ranked(logits: Tensor, sampling: Sampling, most: int, drawn: bool = False) -> Ranked:
    """Of logits [V]: at most so many, and none that cannot come. At temperature 0 the sampling's distribution is a
    point mass and says nothing of a second candidate, so there the model's own softmax ranks them, unless
    they are drawn."""
    probs = logits.float().softmax(-1) if sampling.greedy and not drawn else transform(logits[None], sampling)[0]
    best = probs.topk(min(most, len(probs)))
    shares = [share for share in best.values.tolist() if share > 0.0]
    return Ranked(best.indices.tolist()[: len(shares)], [-log(share) for share in shares])


@TREE_POLICIES.register("ddtree")
class DDTreePolicy(TreePolicy[DDTreeOptions]):
    """Takes the best paths through a drafted block, best first, until the budget is used.

    A path is worth the product of the drafter's probabilities of its tokens: how likely all of it is right, if the
    places of the block are independent, as those of a drafter that fills them in one pass are. The worths of the tree
    add up to the tokens that it expects to be accepted. Nothing is drawn, so each is a point mass at any temperature.
    Drawn, the shape stays what the ranks say, and a node's n-th child is the n-th draw: whether it exists does not
    depend on what it is drawn as. Made for `dflash`, `medusa` and `masked_block`; a drafter that needs a pass for every
    node pays for each. DDTree (2604.12989).
    """

    trees: ClassVar[Trees] = Trees()

    @property
    def draws(self) -> bool:
        return self.options.draw == DrawnSiblings.kind

    def kinds(self, sampling: Sampling) -> frozenset[CandidateKind]:
        return frozenset([DrawnSiblings.kind if self.draws else "point_mass"])

    def grow(self, draft: Draft) -> None:
        budget, worth = int(self.options.budget), 0.0
        families: dict[int, Ranked] = {}
        drawn: dict[int, DrawnSiblings] = {}
        waiting: list[tuple[float, int, Ranks, int]] = []
        """cost of a path, its length, its ranks, the node that it goes on from; of equals the shorter, then the one of
        lower ranks"""

        def open_below(node: int, cost: float, ranks: Ranks) -> None:
            asked, logits = draft.expand([node])
            if asked:
                families[node] = ranked(logits[0], draft.sampling, budget, self.draws)
                if self.draws:
                    drawn[node] = DrawnSiblings(transform(logits, draft.sampling)[0])
                heapq.heappush(waiting, (cost + families[node].costs[0], len(ranks) + 1, (*ranks, 0), node))

        open_below(ROOT, 0.0, ())
        while waiting and draft.tree.drafted < budget:
            cost, length, ranks, parent = heapq.heappop(waiting)
            family, rank = families[parent], ranks[-1]
            if parent in drawn:
                taken = drawn[parent].take(draft)
                node = draft.add(parent, taken.token, drawn[parent].kind, taken.proposal)
            else:
                node = draft.add(parent, family.tokens[rank], "point_mass", None)
            worth += exp(-cost)
            if rank + 1 < len(family.tokens):
                sibling = cost - family.costs[rank] + family.costs[rank + 1]
                heapq.heappush(waiting, (sibling, length, (*ranks[:-1], rank + 1), parent))
            if draft.tree.drafted < budget:
                open_below(node, cost, ranks)
        draft.note["expected_accepted"] = round(worth, 4)
