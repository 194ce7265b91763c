"""The shape of a draft as a drafter's own options, for every drafter whose drafts grow. Registers nothing."""

from __future__ import annotations

from dataclasses import dataclass

from specviz.options import Options, option
from specviz.tree_policies.base import Growth
from specviz.tree_policies.levels import LevelsGrowth, LevelsOptions
from specviz.tree_policies.parts.draws import DRAWS
from specviz.tree_policies.parts.level_wise import check_size


@dataclass(frozen=True)
class ShapeOptions(Options):
    """Shape of the draft, and how its candidates are drawn."""

    gamma: int = option(4, help="tokens drafted per round, as a chain", minimum=1, maximum=32)
    branching: tuple[int, ...] = option(
        (),
        help="children per node at each level, such as 3,2,1; makes a tree and replaces gamma",
        minimum=1,
        maximum=32,
    )
    draw: str = option(
        "auto",
        help="how candidates are drawn; auto: i.i.d. for a chain, without replacement for a tree, the most probable "
        "at temperature 0",
        choices=("auto", *DRAWS),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_size(self.branching)

    @property
    def widths(self) -> tuple[int, ...]:
        """Children per node, level by level."""
        return self.branching or (1,) * self.gamma

    @property
    def growth(self) -> Growth:
        """The same as a growth policy, for runs that choose none."""
        return LevelsGrowth(LevelsOptions(branching=self.widths, draw=self.draw))
