"""RSD with constant branching: Gumbel-top-k below every node of a level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from specviz.core.sampling import Sampling
from specviz.core.tree import Shape
from specviz.options import option
from specviz.trace.declared_method import Trees
from specviz.trace.events import CandidateKind
from specviz.tree_policies.base import TREE_POLICIES, WIDEST, Draft, TreePolicy, TreePolicyOptions
from specviz.tree_policies.drawing import Draw, check_size, choose_draw, grow_levels, plain_chain


@dataclass(frozen=True)
class RsdCOptions(TreePolicyOptions):
    """Shape of the tree."""

    branching: tuple[int, ...] = option(
        (2, 2, 2), help="children per node at each level, such as 3,2,1", minimum=1, maximum=WIDEST
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_size(self.branching)


@TREE_POLICIES.register("rsd_c")
class RsdCTreePolicy(TreePolicy[RsdCOptions]):
    """Recursive speculative decoding with constant branching: distinct children at every node, in the order drawn.

    RSD-C of Jeong et al. 2402.14160, §3.2. Gumbel-top-k in decreasing order of the keys is the same as drawing one
    after the other without replacement, and that is how it is drawn here. At temperature 0 the most probable.
    """

    trees: ClassVar[Trees] = Trees(even=True, in_order=True)

    settles_siblings: ClassVar[bool] = True

    def kinds(self, sampling: Sampling) -> frozenset[CandidateKind]:
        return frozenset([_draw(sampling).kind])

    def shape(self, sampling: Sampling) -> Shape:
        return "tree" if max(self.options.branching, default=1) > 1 else "chain"

    def chain(self, sampling: Sampling) -> tuple[int, CandidateKind] | None:
        return plain_chain(self.options.branching, _draw(sampling), self.options)

    def grow(self, draft: Draft) -> None:
        grow_levels(draft, self.options.branching, _draw(draft.sampling), self.options)


def _draw(sampling: Sampling) -> Draw:
    return choose_draw("auto", is_tree=True, greedy=sampling.greedy)
