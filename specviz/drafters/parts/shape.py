"""What all drafters share whose drafts grow: the shape as their own options, and the policies of a run.

Registers nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TypeVar

from specviz.core.sampling import Sampling
from specviz.core.tree import Shape
from specviz.drafters.base import Drafter, DraftPolicies
from specviz.drafters.capabilities import Grows
from specviz.options import Options, option
from specviz.trace.events import CandidateKind
from specviz.tree_policies.base import TreePolicy
from specviz.tree_policies.levels import LevelsOptions, LevelsTreePolicy
from specviz.tree_policies.parts.draws import DRAWS
from specviz.tree_policies.parts.level_wise import check_size


@dataclass(frozen=True)
class GrowingOptions(Options, ABC):
    """Options of a drafter whose drafts grow."""

    @property
    @abstractmethod
    def tree_policy(self) -> TreePolicy[Options]:
        """The shape that they describe as a tree policy, for runs that choose none."""


@dataclass(frozen=True)
class ShapeOptions(GrowingOptions):
    """Shape of the draft, and how its candidates are drawn."""

    gamma: int = option(
        4, help="tokens drafted per round, as a chain", minimum=1, maximum=32, unless="branching", shape=True
    )
    branching: tuple[int, ...] = option(
        (),
        help="children per node at each level, such as 3,2,1; makes a tree and replaces gamma",
        minimum=1,
        maximum=32,
        shape=True,
    )
    draw: str = option(
        "auto",
        help="how candidates are drawn; auto: i.i.d. for a chain, without replacement for a tree, the most probable "
        "at temperature 0",
        choices=("auto", *DRAWS),
        shape=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_size(self.branching)

    @property
    def widths(self) -> tuple[int, ...]:
        """Children per node, level by level."""
        return self.branching or (1,) * self.gamma

    @property
    def tree_policy(self) -> TreePolicy[Options]:
        return LevelsTreePolicy(LevelsOptions(branching=self.widths, draw=self.draw))


GrowingOptionsT_co = TypeVar("GrowingOptionsT_co", bound=GrowingOptions, covariant=True)
ShapeOptionsT_co = TypeVar("ShapeOptionsT_co", bound=ShapeOptions, covariant=True)


class GrowingDrafter(Drafter[GrowingOptionsT_co], Grows):
    """A drafter whose drafts grow by a policy: that of the run, or else what its own options describe."""

    def __init__(self, options: GrowingOptionsT_co) -> None:
        super().__init__(options)
        self.draft_policies = DraftPolicies()

    def follow(self, draft_policies: DraftPolicies) -> None:
        self.draft_policies = draft_policies

    def policies(self) -> DraftPolicies:
        return self.draft_policies

    @property
    def tree_policy(self) -> TreePolicy[Options]:
        """The policy that its drafts follow."""
        return self.draft_policies.tree_policy or self.options.tree_policy

    def gives_hidden(self) -> bool:
        return False

    def kinds(self, sampling: Sampling) -> frozenset[CandidateKind]:
        return self.tree_policy.kinds(sampling)

    def shape(self, sampling: Sampling) -> Shape:
        return self.tree_policy.shape(sampling)
