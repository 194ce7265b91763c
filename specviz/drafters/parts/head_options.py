"""What the drafters with trained heads share as options: the weights, and a tree or a chain. Registers nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from specviz.drafters.parts.module_files import WEIGHTS_HELP
from specviz.drafters.parts.planned_tree import PlannedTree
from specviz.drafters.parts.shape import GrowingOptions
from specviz.options import Options, option
from specviz.protocol.trainings import SHIPPED
from specviz.tree_policies.base import TreePolicy
from specviz.tree_policies.levels import LevelsOptions, LevelsTreePolicy
from specviz.tree_policies.parts.draws import DRAWS


@dataclass(frozen=True)
class HeadOptions(GrowingOptions):
    """Weights and shape of the draft."""

    weights: str = option(SHIPPED, help=WEIGHTS_HELP)
    nodes: int = option(
        12,
        help="candidates per round, as a tree of the most promising paths; 0: a chain of gamma",
        minimum=0,
        maximum=64,
        counts="candidates",
        shape=True,
    )
    gamma: int = option(
        4, help="levels at most, one trained head each; without nodes the length of the chain", minimum=1, maximum=16
    )
    draw: str = option(
        "auto",
        help="how candidates of a chain are drawn; auto: i.i.d., the most probable at temperature 0",
        choices=("auto", *DRAWS),
        unless="nodes",
        shape=True,
    )

    @property
    def tree_policy(self) -> TreePolicy[Options]:
        if self.nodes:
            return PlannedTree()
        return LevelsTreePolicy(LevelsOptions(branching=(1,) * self.gamma, draw=self.draw))


HeadOptionsT_co = TypeVar("HeadOptionsT_co", bound=HeadOptions, covariant=True)
