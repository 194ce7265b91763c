"""What a tree policy is: it turns a model that answers "what follows?" into a draft tree.

    drafter ─► Draft (the tree so far, the model behind `expand`) ─► tree policy ─► tree

One file per policy. Knows nothing about models, caches, verifiers or stop policies: `expand` answers only for the nodes
below which drafting may go on, whoever decided that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from torch import Tensor

from specviz.core.randomness import RandomSource
from specviz.core.sampling import Sampling
from specviz.core.tree import DraftTree, Shape
from specviz.options import Options, option
from specviz.registry import OptionsT_co, PlugIn, Registry
from specviz.trace.declared_method import Trees
from specviz.trace.events import CandidateKind, Option

MOST_NODES = 512
"""candidates per round; a typing error must not fill the memory"""
DEEPEST = 32
WIDEST = 32


@dataclass(frozen=True, slots=True)
class TargetProposal:
    """What the target's last pass already says follows the root, where the round before left its last token open."""

    token: int
    """the last token of the round before: drawn here, and not committed"""
    logits: Tensor
    """[V], the target's, before the sampling transform"""


class Draft(Protocol):
    """A draft under way."""

    draws: int
    """how many draws this round has made: the first free index for keys ("draft", round, index)"""
    by_depth: bool
    """whether what follows a node depends on its depth alone"""

    @property
    def tree(self) -> DraftTree: ...

    @property
    def sampling(self) -> Sampling: ...

    @property
    def randomness(self) -> RandomSource: ...

    @property
    def round(self) -> int: ...

    @property
    def target_proposal(self) -> TargetProposal | None:
        """Only for policies that set `opens`, and not in every round of theirs."""
        ...

    @property
    def chain_levels(self) -> int | None:
        """How long the stop policy lets a chain become; None: as long as its own options say."""
        ...

    @property
    def note(self) -> dict[str, Option]:
        """What the policy wants to be recorded with the round."""
        ...

    def expand(self, nodes: Sequence[int]) -> tuple[list[int], Tensor]:
        """What follows these nodes: (nodes, logits [len(nodes), V]), from one pass over all of them.

        A node is left out where drafting ends there: the text's end is reached, or the stop policy says so. Whether
        it does is known before anything is drawn below the node. An answer may be empty.
        """
        ...

    def reread(self, nodes: Sequence[int]) -> Tensor:
        """What follows these nodes once the model is told their branches: logits [len(nodes), V], from one pass. The
        nodes come in order, the root first and with a node all above it. For policies that set `rereads`."""
        ...

    def add(
        self, parent: int, token: int, kind: CandidateKind, proposal: Tensor | None, source: str | None = None
    ) -> int:
        """Append a candidate, proposed by `source` (None: the drafter); its id."""
        ...

    def draw(self, probs: Tensor) -> int:
        """An outcome of a distribution, with noise that is used only once."""
        ...

    def candidate(self, probs: Tensor, index: int, lane: int = 0) -> int:
        """A candidate below the nodes that were expanded last, drawn from a distribution [V] with the `index`-th noise
        of this round; where the verifier lets the target race, the winner of `lane` at the candidate's place in the
        text instead."""
        ...

    def arrange(self, nodes: Sequence[int]) -> None:
        """Keep these nodes in this order and renumber them; the root first, parents before children.

        Raises DraftError where a drawn candidate would be dropped or siblings would change places (see adaptedness).
        """
        ...


class TreePolicy(PlugIn[OptionsT_co], ABC):
    """Stateless across rounds.

    Adaptedness: whether a candidate exists, and its place among its siblings, may depend on anything but its own value
    unless it is a point mass.
    """

    opens: ClassVar[bool] = False
    """its first level comes from the target: a round that accepted something leaves its last token open, to be the
    first of the next round's candidates for its place"""
    settles_siblings: ClassVar[bool] = False
    """how many children a node gets is settled before any of them is drawn; rules that judge siblings by their number
    need it, and a policy that does not declare it is taken to decide while drawing"""
    trees: ClassVar[Trees] = Trees()
    """what a trace shows of its trees; the check goes by it"""

    @abstractmethod
    def kinds(self, sampling: Sampling) -> frozenset[CandidateKind]:
        """Which candidate kinds it will draw under this sampling; the pairing check reads it."""

    def shape(self, sampling: Sampling) -> Shape:
        """`chain` where no candidate will ever have a sibling."""
        return "tree"

    @property
    def rereads(self) -> bool:
        """Whether it asks for a second pass, which is told the branches of a drafted block; few drafters can make it
        (`capabilities.ReadsBranches`)."""
        return False

    def chain(self, sampling: Sampling) -> tuple[int, CandidateKind] | None:
        """So many candidates of this kind, each below the one before, where `grow` never makes anything else and draws
        as `drawing.DRAWS` do: a drafter may then write them by one call of its model, without asking the policy."""
        return None

    @abstractmethod
    def grow(self, draft: Draft) -> None:
        """Grow the tree, which is a root alone, by asking `expand` and adding candidates."""

    def prepare(self, pair: Pair) -> None:
        """Told once, before the first round, whose draft is judged by whom. What a policy makes of it goes into its
        options, and so into the header. Most policies do not ask."""
        return

    def tune(self, costs: StepCosts) -> None:
        """Told once, before the first round, what passes cost on this machine; only what a request asks for may depend
        on it, for no two measurements are equal. Most policies do not ask."""
        return


@dataclass(frozen=True, slots=True)
class Pair:
    """Which weights draft for which, and at which temperature both are sampled."""

    target_sha256: str
    drafter_sha256: str
    temperature: float


@dataclass(frozen=True, slots=True)
class StepCosts:
    """Measured seconds of bare passes."""

    target: Sequence[tuple[int, float]]
    """(tokens in one pass of the target, seconds), increasing in tokens; at least one"""
    draft_s: float
    """one pass of the drafter's model over one token; 0 where it has none"""

    def target_s(self, tokens: int) -> float:
        """Seconds of a target pass over so many tokens, on straight lines through what was measured; beyond the last
        measurement on with the last line, for a longer pass does not come free."""
        counts, seconds = zip(*self.target, strict=True)
        if tokens <= counts[-1] or len(counts) == 1:
            return float(np.interp(tokens, counts, seconds))
        slope = (seconds[-1] - seconds[-2]) / (counts[-1] - counts[-2])
        return float(seconds[-1] + max(0.0, slope) * (tokens - counts[-1]))


@dataclass(frozen=True)
class TreePolicyOptions(Options):
    """What every policy can be held to."""

    budget: int = option(
        0,
        help="so many candidates per round: the shape is cut there, or goes on like its last level; 0: as many as the "
        "shape has",
        minimum=0,
        maximum=MOST_NODES,
        counts="candidates",
    )
    """the one option that all policies share, so that they can be compared at the same size of the target's pass; fewer
    candidates come only where the text, the drafter's distribution or the stop policy ends the draft"""

    @property
    def most(self) -> int:
        return self.budget or MOST_NODES

    def goes_deeper(self, levels: int, wanted: int, nodes: int) -> bool:
        """Whether another level follows `levels` of them with `nodes` candidates, of a shape that has `wanted`."""
        return levels < wanted or (nodes < self.budget and levels < DEEPEST)


TREE_POLICIES: Registry[type[TreePolicy[Options]]] = Registry("tree policy", package="specviz.tree_policies")
