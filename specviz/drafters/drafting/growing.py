"""The draft under way, between the three that make it, and the drafters whose drafts grow so.

    tree policy ─ expand(nodes) ─► [ stop: below these? ] ─► a pass of the model ─► [ stop: draw here? ] ─► tree policy

`GrowingDraft` is that draft, `PlainChains` stands for it in runs where nobody has a say, `LastDraft` is what a run
remembers between rounds for the stop policy, `GrowingDrafter` what such drafters share: the policies of a run, or else
the shape that their own options describe.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self, TypeVar

import torch
from torch import Tensor

from specviz.core.draws import Chooser, Noise
from specviz.core.randomness import RandomSource, SeededRandom
from specviz.core.sampling import Sampling, largest_prob, transform
from specviz.core.tree import ROOT, DraftTree, Shape
from specviz.drafters.base import DraftContext, Drafter, DraftPolicies, Proposal
from specviz.drafters.capabilities import Grows
from specviz.errors import DraftError
from specviz.lm.base import Chain
from specviz.options import Options, option
from specviz.stop_policies.base import StopOptions, StopPolicy
from specviz.trace.events import CandidateKind, Option
from specviz.trace.uniform_draws import RACE, stream
from specviz.tree_policies.base import TargetProposal, TreePolicy
from specviz.tree_policies.drawing import DRAWS, check_size
from specviz.tree_policies.levels import LevelsOptions, LevelsTreePolicy

Answer = Callable[[Sequence[int], int], Tensor]
"""(nodes, the depth of what follows them) → logits [len(nodes), V], from one pass"""


@dataclass(slots=True)
class GrowingDraft:
    """Implements `tree_policies.base.Draft` for the tree policy and `stop_policies.base.DraftView` for the stop
    policy."""

    context: DraftContext
    proposal: Proposal
    stop_policy: StopPolicy[StopOptions]
    deepest: int
    """no candidate deeper than this"""
    answer: Answer
    source: str
    """name of the drafter"""
    hidden_of: Callable[[int], Tensor | None] = lambda node: None
    """the drafter's last hidden state [H] at a node it has read, where it gives one"""
    draws: int = 0
    confidence_of: Callable[[int], float | None] = lambda node: None
    """see `stop_policies.base.DraftView.confidence`"""
    branches_of: Callable[[Sequence[int]], Tensor] | None = None
    """see `capabilities.ReadsBranches`"""
    by_depth: bool = False
    """see `tree_policies.base.Draft.by_depth`"""
    _depth: int = 1
    """of what follows the nodes that were expanded last"""

    @property
    def tree(self) -> DraftTree:
        return self.proposal.tree

    @property
    def sampling(self) -> Sampling:
        return self.context.sampling

    @property
    def randomness(self) -> RandomSource:
        return self.context.randomness

    @property
    def round(self) -> int:
        return self.context.round

    @property
    def target_proposal(self) -> TargetProposal | None:
        return self.context.target_proposal

    @property
    def chain_levels(self) -> int | None:
        return self.stop_policy.levels()

    @property
    def note(self) -> dict[str, Option]:
        return self.proposal.note

    def expand(self, nodes: Sequence[int]) -> tuple[list[int], Tensor]:
        """See `tree_policies.base.Draft.expand`."""
        depths = self.tree.depths
        asked = [node for node in nodes if depths[node] < self.deepest]
        if asked and asked != [ROOT]:
            asked = self.stop_policy.going_on(self, asked)
        if not asked:
            return [], torch.empty(0)
        self._depth = 1 + max(depths[node] for node in asked)
        logits = self.answer(asked, self._depth)
        self.proposal.draft_logits.append((asked, logits))
        drawn = [index for index, node in enumerate(asked) if self.stop_policy.draws_at(self, node)]
        if len(drawn) == len(asked):
            return asked, logits
        return [asked[index] for index in drawn], logits[drawn]

    def reread(self, nodes: Sequence[int]) -> Tensor:
        """See `tree_policies.base.Draft.reread`; what was recorded of the pass before is forgotten."""
        assert self.branches_of is not None, f"'{self.source}' reads no branches, which the pairing check refuses."
        logits = self.branches_of(nodes)
        self.proposal.draft_logits[:] = [(nodes, logits)]
        return logits

    def add(
        self, parent: int, token: int, kind: CandidateKind, proposal: Tensor | None, source: str | None = None
    ) -> int:
        return self.tree.add(parent, token, kind, proposal, source or self.source)

    def draw(self, probs: Tensor) -> int:
        self.draws += 1
        return self.randomness.draw(probs, ("draft", self.round, self.draws - 1)).token

    def candidate(self, probs: Tensor, index: int, lane: int = 0) -> int:
        """See `tree_policies.base.Draft.candidate`."""
        if self.context.noise == RACE:
            return self.randomness.peek(probs, (RACE, len(self.context.tokens) - 1 + self._depth, lane))
        return self.randomness.draw(probs, ("draft", self.round, index)).token

    def arrange(self, nodes: Sequence[int]) -> None:
        """See `tree_policies.base.Draft.arrange`."""
        tree = self.tree
        place = {node: index for index, node in enumerate(nodes)}
        dropped = [node for node in range(len(tree)) if node not in place]
        if any(tree.kinds[node] != "point_mass" for node in dropped):
            raise DraftError(
                f"the tree policy drops node {dropped[0]}, which was drawn; a drawn candidate must be submitted, or "
                "the text is biased. This is a fault of the policy."
            )
        families = tree.families()
        for node in nodes:
            family = [place[child] for child in families[node] if child in place]
            if family != sorted(family) or any(child <= place[node] for child in family):
                raise DraftError(
                    f"the tree policy moves the children of node {node} out of their order; this is its fault."
                )
        tree.arrange(nodes)
        kept = [(part, rows) for part, rows in self.proposal.draft_logits if any(node in place for node in part)]
        self.proposal.draft_logits[:] = [_renumbered(part, rows, place) for part, rows in kept]

    def parent(self, node: int) -> int:
        return self.tree.parents[node]

    def depth(self, node: int) -> int:
        return self.tree.depths[node]

    def head(self, node: int, count: int) -> list[float]:
        if count == 1 and self.sampling.greedy:
            return [largest_prob(self._logits(node))]
        distribution = self._distribution(node)
        if count == 1:  # a third of what `topk` takes
            return [float(distribution.max())]
        found: list[float] = distribution.topk(min(count, len(distribution))).values.tolist()
        return found

    def prob(self, node: int) -> float:
        tree = self.tree
        proposal = tree.proposals[node]
        distribution = self._distribution(tree.parents[node]) if proposal is None else proposal
        return float(distribution[tree.tokens[node]])

    def entropy(self, node: int) -> float:
        return float(torch.special.entr(self._distribution(node)).sum())

    def hidden(self, node: int) -> Tensor | None:
        found = self.hidden_of(node)
        return None if found is None else found.float().cpu()

    def confidence(self, node: int) -> float | None:
        return self.confidence_of(node)

    def text(self, node: int) -> list[int]:
        return [*self.context.tokens, *self.tree.token_path(node)]

    def _logits(self, node: int) -> Tensor:
        """[V]; those of the last pass are asked for most."""
        return next(rows[part.index(node)] for part, rows in reversed(self.proposal.draft_logits) if node in part)

    def _distribution(self, node: int) -> Tensor:
        """Looked for where it was asked for: few policies want to know, and those of few nodes."""
        logits = self._logits(node)
        return logits.float().softmax(-1) if self.sampling.greedy else transform(logits, self.sampling)


def _renumbered(nodes: Sequence[int], rows: Tensor, place: dict[int, int]) -> tuple[list[int], Tensor]:
    kept = [index for index, node in enumerate(nodes) if node in place]
    return [place[nodes[index]] for index in kept], rows if len(kept) == len(nodes) else rows[kept]


class PlainChains:
    """The drafts of a run whose tree policy makes chains in which nobody else has a say, each written by one call of
    the model. Whether a run is such a one is settled by its first draft: behind a pass each question costs time."""

    def __init__(self, source: str) -> None:
        """`source` is what candidates are marked with."""
        self._source = source
        self._is_settled = False
        self._chooser: Chooser | None = None
        """of the longest chain; None: this run's drafts are others"""
        self._levels = 0
        self._kind: CandidateKind = "point_mass"

    def drawn(
        self,
        policies: tuple[TreePolicy[Options], StopPolicy[StopOptions]],
        context: DraftContext,
        proposal: Proposal,
        depth: int,
        write: Callable[[Chooser], Chain | None],
        draws: int = 0,
    ) -> bool:
        """Whether the draft is such a chain, of up to `depth` candidates, and complete; else it is still a root alone.
        `write` is that call of the model, None where it takes several; `draws` draws of the round were made before."""
        if not self._is_settled:
            self._chooser, self._is_settled = self._settled(*policies, context), True
        chooser, steps = self._chooser, min(depth, self._levels)
        if chooser is None or steps < 1:
            return False
        chain = write(chooser.again(steps, context.round, draws))
        if chain is None:
            return False
        proposal.draft_logits.append((range(steps), chain.logits))
        proposal.tree.add_chain(chain.tokens, self._kind, chooser.room, chooser.probs(), self._source)
        return True

    def _settled(
        self, tree_policy: TreePolicy[Options], stop_policy: StopPolicy[StopOptions], context: DraftContext
    ) -> Chooser | None:
        """What takes the tokens of all these chains; None where the drafts are others, or there is no compiler."""
        chain = tree_policy.chain(context.sampling)
        if chain is None or not stop_policy.does_nothing():
            return None
        self._levels, self._kind = chain
        if self._kind == "point_mass":
            return Chooser.of(self._levels)
        sampling, randomness = context.sampling, context.randomness
        if sampling.greedy or not sampling.uncut or context.noise == RACE or type(randomness) is not SeededRandom:
            return None
        return Chooser.of(self._levels, sampling.temperature, Noise(stream(randomness.seed, "draft"), 0, 0))


@dataclass(slots=True)
class LastDraft:
    """Finds out how the previous round went: what was committed beyond one token was accepted, of this draft or of
    what others drafted beside it."""

    tree: DraftTree | None = None
    size: int = 0
    """its nodes; others may have added more since"""
    length: int = 0

    def report(self, stop_policy: StopPolicy[StopOptions], context: DraftContext) -> None:
        """Tell the stop policy; nothing before the first draft."""
        if self.tree is not None and not stop_policy.does_nothing():
            committed = context.tokens[self.length :]
            accepted = committed if context.target_proposal is not None else committed[:-1]
            stop_policy.learn(max(self.tree.depths[: self.size]), self._followed(self.tree, accepted))

    def _followed(self, tree: DraftTree, accepted: Sequence[int]) -> int:
        """How many levels of this draft the accepted tokens went down."""
        reached = {ROOT}
        for levels, token in enumerate(accepted):
            here = zip(range(self.size), tree.parents, tree.tokens, strict=False)
            reached = {node for node, parent, drafted in here if parent in reached and drafted == token}
            if not reached:
                return levels
        return len(accepted)

    def remember(self, tree: DraftTree, tokens: Sequence[int]) -> None:
        self.tree, self.size, self.length = tree, len(tree), len(tokens)


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

    def no_deeper(self, levels: int) -> Self:
        """The same with chains of so many levels at most; trees are cut where they are drafted."""
        return self if self.branching else replace(self, gamma=min(self.gamma, levels))

    @property
    def widths(self) -> tuple[int, ...]:
        """Children per node, level by level."""
        return self.branching or (1,) * self.gamma

    @cached_property
    def tree_policy(self) -> TreePolicy[Options]:
        """The same one in every round."""
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
