"""DDTree: of all paths through a block that was drafted in one pass, those most likely to be right."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import exp, log
from typing import ClassVar

from torch import Tensor

from specviz.core.draws import NO_NUMBERS
from specviz.core.sampling import Sampling, transform
from specviz.core.tree import ROOT
from specviz.errors import ModelError, OptionError
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
    rescore: bool = option(
        False,
        help="twice as many paths at first, then the best of what a second pass says of each, told its own tokens; for "
        "blocks that were trained causal",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rescore and self.draw != "top_k":
            raise OptionError(
                f"rescore drops candidates that are known, but draw is {self.draw}, and what was drawn must be judged; "
                "set draw to top_k, or switch rescore off."
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
    they are drawn. Raises ModelError where nothing can come."""
    probs = logits.float().softmax(-1) if sampling.greedy and not drawn else transform(logits[None], sampling)[0]
    best = probs.topk(min(most, len(probs)))
    shares = [share for share in best.values.tolist() if share > 0.0]
    if not shares:
        raise ModelError(NO_NUMBERS)
    return Ranked(best.indices.tolist()[: len(shares)], [-log(share) for share in shares])


def best_first(below: Callable[[int], Ranked | None], take: Callable[[int, int], int]) -> Iterator[float]:
    """The costs of paths, the best first, as long as the next is asked for: `below` ranks what follows a node, None
    where nothing shall, and `take` makes a node of a parent and its token."""
    families: dict[int, Ranked] = {}
    waiting: list[tuple[float, int, Ranks, int]] = []
    """cost of a path, its length, its ranks, the node that it goes on from; of equals the shorter, then the one of
    lower ranks"""

    def open_below(node: int, cost: float, ranks: Ranks) -> None:
        family = below(node)
        if family is not None:
            families[node] = family
            heapq.heappush(waiting, (cost + family.costs[0], len(ranks) + 1, (*ranks, 0), node))

    open_below(ROOT, 0.0, ())
    while waiting:
        cost, length, ranks, parent = heapq.heappop(waiting)
        family, rank = families[parent], ranks[-1]
        node = take(parent, family.tokens[rank])
        yield cost
        if rank + 1 < len(family.tokens):
            sibling = cost - family.costs[rank] + family.costs[rank + 1]
            heapq.heappush(waiting, (sibling, length, (*ranks[:-1], rank + 1), parent))
        open_below(node, cost, ranks)


@TREE_POLICIES.register("ddtree")
class DDTreePolicy(TreePolicy[DDTreeOptions]):
    """Takes the best paths through a drafted block, best first, until the budget is used.

    A path is worth the product of the drafter's probabilities of its tokens: how likely all of it is right, if the
    places of the block are independent, as those of a drafter that fills them in one pass are. The worths of the tree
    add up to the tokens that it expects to be accepted. Nothing is drawn, so each is a point mass at any temperature.
    Drawn, the shape stays what the ranks say, and a node's n-th child is the n-th draw: whether it exists does not
    depend on what it is drawn as. Made for `dflash`, `medusa` and `masked_block`; a drafter that needs a pass for every
    node pays for each. DDTree (2604.12989).
    With `rescore` a second pass reads each branch with its own tokens, and the best paths by what it says stay
    (JetSpec, 2606.18394, in our reading).
    """

    trees: ClassVar[Trees] = Trees()

    @property
    def rereads(self) -> bool:
        return self.options.rescore

    @property
    def draws(self) -> bool:
        return self.options.draw == DrawnSiblings.kind

    def kinds(self, sampling: Sampling) -> frozenset[CandidateKind]:
        return frozenset([DrawnSiblings.kind if self.draws else "point_mass"])

    def grow(self, draft: Draft) -> None:
        budget = int(self.options.budget)
        opened, worth = self._fill(draft, 2 * budget if self.options.rescore else budget)
        if self.options.rescore and opened:
            worth = self._choose(draft, opened, budget)
        draft.note["expected_accepted"] = round(worth, 4)

    def _fill(self, draft: Draft, budget: int) -> tuple[list[int], float]:
        """The nodes below which there is something to be had, and what the tree is worth."""
        opened, worth = list[int](), 0.0
        drawn: dict[int, DrawnSiblings] = {}
        known: dict[int, Ranked] = {}
        """by node, or by depth where all nodes of a level are followed alike"""

        def below(node: int) -> Ranked | None:
            asked, logits = draft.expand([node])
            if not asked:
                return None
            opened.append(node)
            if self.draws:
                drawn[node] = DrawnSiblings(transform(logits, draft.sampling)[0])
            key = draft.tree.depths[node] if draft.by_depth else node
            if key not in known:
                known[key] = ranked(logits[0], draft.sampling, budget, self.draws)
            return known[key]

        def take(parent: int, token: int) -> int:
            if parent not in drawn:
                return draft.add(parent, token, "point_mass", None)
            taken = drawn[parent].take(draft)
            return draft.add(parent, taken.token, drawn[parent].kind, taken.proposal)

        for cost in best_first(below, take):
            worth += exp(-cost)
            if draft.tree.drafted == budget:
                break
        return opened, worth

    def _choose(self, draft: Draft, opened: list[int], budget: int) -> float:
        """Keep the best paths by a second pass, of the tree and of all else that may follow the nodes below which it
        looked; what they are worth. Nothing was drawn, so whatever is left out biases nothing."""
        rows = dict(zip(sorted(opened), draft.reread(sorted(opened)), strict=True))
        tree, kept, worth = draft.tree, [ROOT], 0.0
        children = {(tree.parents[node], tree.tokens[node]): node for node in range(1, len(tree))}

        def below(node: int) -> Ranked | None:
            return ranked(rows[node], draft.sampling, budget) if node in rows else None

        def take(parent: int, token: int) -> int:
            kept.append(children.get((parent, token)) or draft.add(parent, token, "point_mass", None))
            return kept[-1]

        for cost in best_first(below, take):
            worth += exp(-cost)
            if len(kept) > budget:
                break
        draft.arrange(sorted(kept))
        return worth
