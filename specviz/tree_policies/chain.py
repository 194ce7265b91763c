"""A chain: one candidate after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from specviz.core.sampling import Sampling
from specviz.core.tree import Shape
from specviz.options import option
from specviz.trace.declared_method import Trees
from specviz.trace.events import CandidateKind
from specviz.tree_policies.base import DEEPEST, TREE_POLICIES, Draft, TreePolicy, TreePolicyOptions
from specviz.tree_policies.drawing import DRAWS, Draw, choose_draw, grow_levels, plain_chain


@dataclass(frozen=True)
class ChainOptions(TreePolicyOptions):
    """Length of the chain."""

    length: int = option(4, help="tokens drafted per round", minimum=1, maximum=DEEPEST, counts="levels")
    draw: str = option(
        "auto",
        help="how candidates are drawn; auto: from the drafter's distribution, the most probable at temperature 0",
        choices=("auto", *DRAWS),
    )


@TREE_POLICIES.register("chain")
class ChainTreePolicy(TreePolicy[ChainOptions]):
    """One token after the other, each drawn from what the drafter says follows.

    Speculative decoding as first published: Leviathan et al. 2211.17192, Chen et al. 2302.01318.
    """

    trees: ClassVar[Trees] = Trees(even=True, in_order=True)

    settles_siblings: ClassVar[bool] = True

    def kinds(self, sampling: Sampling) -> frozenset[CandidateKind]:
        return frozenset([self._draw(sampling).kind])

    def shape(self, sampling: Sampling) -> Shape:
        return "chain"

    def chain(self, sampling: Sampling) -> tuple[int, CandidateKind] | None:
        return plain_chain((1,) * self.options.length, self._draw(sampling), self.options)

    def grow(self, draft: Draft) -> None:
        grow_levels(draft, (1,) * self.options.length, self._draw(draft.sampling), self.options)

    def _draw(self, sampling: Sampling) -> Draw:
        return choose_draw(self.options.draw, is_tree=False, greedy=sampling.greedy)
