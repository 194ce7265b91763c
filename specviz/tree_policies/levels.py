"""A tree of given branching, level by level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from specviz.core.sampling import Sampling
from specviz.core.tree import Shape
from specviz.options import option
from specviz.trace.declared_method import Trees
from specviz.trace.events import CandidateKind
from specviz.tree_policies.base import TREE_POLICIES, WIDEST, Draft, TreePolicy, TreePolicyOptions
from specviz.tree_policies.drawing import DRAWS, Draw, check_size, choose_draw, grow_levels, plain_chain


@dataclass(frozen=True)
class LevelsOptions(TreePolicyOptions):
    """Shape of the tree, and how its candidates are drawn."""

    branching: tuple[int, ...] = option(
        (3, 2, 1), help="children per node at each level, such as 3,2,1", minimum=1, maximum=WIDEST
    )
    draw: str = option(
        "auto",
        help="how candidates are drawn; auto: without replacement, the most probable at temperature 0",
        choices=("auto", *DRAWS),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_size(self.branching)


@TREE_POLICIES.register("levels")
class LevelsTreePolicy(TreePolicy[LevelsOptions]):
    """The same number of children below every node of a level; i.i.d., without replacement or the most probable.

    With i.i.d. children the tree of SpecInfer (2305.09781) and MCSD (2401.06706).
    """

    trees: ClassVar[Trees] = Trees(even=True, in_order=True)

    settles_siblings: ClassVar[bool] = True

    def kinds(self, sampling: Sampling) -> frozenset[CandidateKind]:
        return frozenset([self._draw(sampling).kind])

    def shape(self, sampling: Sampling) -> Shape:
        return "tree" if self._is_tree else "chain"

    def chain(self, sampling: Sampling) -> tuple[int, CandidateKind] | None:
        return plain_chain(self.options.branching, self._draw(sampling), self.options)

    def grow(self, draft: Draft) -> None:
        grow_levels(draft, self.options.branching, self._draw(draft.sampling), self.options)

    @property
    def _is_tree(self) -> bool:
        return max(self.options.branching, default=1) > 1

    def _draw(self, sampling: Sampling) -> Draw:
        return choose_draw(self.options.draw, self._is_tree, greedy=sampling.greedy)
