"""A drafter with trained heads: it reads the target's states, asks its module, and lets a tree grow from the answers.

    target's states ─► text ─► [ start: one pass of the module ] ─► answer(nodes) ─► tree policy ─► tree

    measured accuracies ─ static_paths ─► ranks ──┐
    a lattice's best prefixes ──────────► tokens ─┴► PlannedTree: settled before anything is asked

What Medusa heads, Hydra heads, the Markov lattice and the masked block share. The networks are in `head_networks`.
"""

from __future__ import annotations

import heapq
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, TypeVar

from torch import Tensor

from specviz.core.clock import now
from specviz.core.draws import Chooser
from specviz.core.sampling import Sampling
from specviz.core.tree import ROOT, DraftTree
from specviz.drafters.base import DraftContext, Proposal, RoundOutcome
from specviz.drafters.capabilities import Observes, ReadsFeatures, reading
from specviz.drafters.drafting.growing import GrowingDraft, GrowingDrafter, GrowingOptions, LastDraft, PlainChains
from specviz.drafters.learned.head_networks import Accuracies, TokenPath
from specviz.drafters.learned.module import DrafterModule
from specviz.drafters.learned.weights import WEIGHTS_HELP, module_for, shown_weights
from specviz.lm.base import Cache, Chain, GivesFeatures, LanguageModel
from specviz.options import Options, option
from specviz.protocol.trainings import SHIPPED
from specviz.trace.events import CandidateKind, Option, Pass
from specviz.trace.header import Exhibit, ExhibitRow
from specviz.tree_policies.base import Draft, TreePolicy
from specviz.tree_policies.drawing import DRAWS
from specviz.tree_policies.levels import LevelsOptions, LevelsTreePolicy


class PlannedTree(TreePolicy[Options]):
    """Level by level, the planned children of each node: point masses, whatever the temperature."""

    name = "planned"
    settles_siblings = True

    def __init__(self, paths: Iterable[TokenPath] = (), by_rank: bool = False) -> None:
        """`paths` from the root, each after its own beginning: of tokens, or, with `by_rank`, of places in the order of
        what the drafter holds most probable."""
        super().__init__(Options())
        self.by_rank = by_rank
        self._children: dict[TokenPath, list[int]] = {}
        for path in paths:
            self._children.setdefault(path[:-1], []).append(path[-1])

    @property
    def paths(self) -> list[TokenPath]:
        """As they were given, brothers beside each other."""
        return [(*path, last) for path, family in self._children.items() for last in family]

    def kinds(self, sampling: Sampling) -> frozenset[CandidateKind]:
        return frozenset(["point_mass"])

    def grow(self, draft: Draft) -> None:
        level: dict[int, TokenPath] = {ROOT: ()}
        while level:
            asked, logits = draft.expand([node for node, path in level.items() if path in self._children])
            plans = [self._children[level[node]] for node in asked]
            ranked: Sequence[Sequence[int]] = []
            if self.by_rank and asked:
                width = min(1 + max(map(max, plans)), logits.shape[-1])
                ranked = logits.topk(width, dim=-1).indices.tolist()
            below: dict[int, TokenPath] = {}
            for row, (node, plan) in enumerate(zip(asked, plans, strict=True)):
                for one in plan:
                    if not self.by_rank:
                        below[draft.add(node, one, "point_mass", None)] = (*level[node], one)
                    elif one < len(ranked[row]):
                        below[draft.add(node, ranked[row][one], "point_mass", None)] = (*level[node], one)
            level = below


def static_paths(accuracies: Sequence[Sequence[float]], nodes: int) -> list[TokenPath]:
    """The `nodes` paths of ranks most probably accepted to their ends, each after its own beginning.

    `accuracies[d][r]` is how often the target's choice at depth d + 1 was the drafter's candidate of rank r. A path's
    worth is the product along it, as if depths erred independently (Medusa, 2401.10774, §2.3.3: the tree of the largest
    expected acceptance length). Of equals the shorter, then the one of lower ranks.
    """
    chosen = list[TokenPath]()
    waiting: list[tuple[float, int, TokenPath]] = []
    if accuracies:
        waiting = [(-worth, 1, (rank,)) for rank, worth in enumerate(accuracies[0])]
    heapq.heapify(waiting)
    while waiting and len(chosen) < nodes:
        worth, depth, path = heapq.heappop(waiting)
        chosen.append(path)
        if depth < len(accuracies):
            for rank, share in enumerate(accuracies[depth]):
                heapq.heappush(waiting, (worth * share, depth + 1, (*path, rank)))
    return chosen


def expected_length(accuracies: Sequence[Sequence[float]], paths: Iterable[TokenPath]) -> float:
    """Candidates accepted per round where the accuracies hold: the paths' worths, added up."""
    total = 0.0
    for path in paths:
        worth = 1.0
        for depth, rank in enumerate(path):
            worth *= accuracies[depth][rank]
        total += worth
    return total


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

    @cached_property
    def tree_policy(self) -> TreePolicy[Options]:
        if self.nodes:
            return PlannedTree()
        return LevelsTreePolicy(LevelsOptions(branching=(1,) * self.gamma, draw=self.draw))


HeadOptionsT_co = TypeVar("HeadOptionsT_co", bound=HeadOptions, covariant=True)


FIRST_ROWS = 256
"""rows there is room for at first; it doubles when full"""


class FeatureText:
    """States [L, depths, H] of the first L tokens of the text, in one growing storage: 4 · depths · H bytes a token in
    float32."""

    def __init__(self) -> None:
        self.length = 0
        self._rows: Tensor | None = None

    def read(self, features: Tensor) -> None:
        """Append the states [n, depths, H] of the next n tokens."""
        stop = self.length + len(features)
        if self._rows is None or stop > len(self._rows):
            room = FIRST_ROWS
            while room < stop:
                room *= 2
            grown = features.new_empty(room, *features.shape[1:])
            if self._rows is not None:
                grown[: self.length] = self._rows[: self.length]
            self._rows = grown
        self._rows[self.length : stop] = features
        self.length = stop

    def extend(self, outcome: RoundOutcome) -> Tensor:
        """Append the states of what a round committed, but of its last token: they are not computed yet. Returns those
        appended [n, depths, H], of the root and the accepted tokens after it."""
        path = [ROOT, *outcome.path][: len(outcome.tokens) - 1 - self.length]
        found = outcome.features_at(path)
        self.read(found)
        return found

    def rows(self, start: int = 0) -> Tensor:
        """States [L - start, depths, H] of the tokens from `start` on; a view."""
        assert self._rows is not None, "no text was read."
        return self._rows[start : self.length]


SHOWN = 5
"""tokens of a distribution in an exhibit, beside those drafted"""


class HeadDrafter(GrowingDrafter[HeadOptionsT_co], ReadsFeatures, Observes):
    """A subclass names its module, and says what follows a node."""

    module_type: ClassVar[type[DrafterModule[Options]]]

    def __init__(self, options: HeadOptionsT_co) -> None:
        super().__init__(options)
        self._text = FeatureText()
        self._last, self._chains = LastDraft(), PlainChains(self.name)
        self._planned: PlannedTree | None = None
        """the tree of this drafter's own, once it is known"""
        self._measured: dict[str, Option] = {}
        """what is noted with every round about the heads"""

    def attach(self, target: LanguageModel, cache: Cache) -> None:
        """Raises ModelError where the target does not give its states, or the weights are not for it."""
        self.device = target.device
        module = self.load(reading(target, self.name))
        self.learnt_from = module.learnt_from
        self.use_module(module)
        self._reads = self.module().weights_read()
        self.options = replace(
            self.options,
            weights=shown_weights(self.options.weights),
            gamma=min(self.options.gamma, self.heads()),
        )

    def load(self, target: GivesFeatures) -> DrafterModule[Options]:
        """The module that the options name. Raises ModelError where there is none for this target."""
        return module_for(self.module_type, self.options.weights, target)

    @abstractmethod
    def use_module(self, module: DrafterModule[Options]) -> None:
        """Take the module over."""

    @abstractmethod
    def heads(self) -> int:
        """Levels that the module can draft."""

    @abstractmethod
    def start(self, context: DraftContext, states: FeatureText, proposal: Proposal) -> None:
        """A new draft: what can be worked out for all its nodes together. `states` are those of the text but its last
        token, and of one token at least."""

    @abstractmethod
    def answer(self, tree: DraftTree, nodes: Sequence[int]) -> Tensor:
        """Logits [len(nodes), V] of what follows the nodes, none of them deeper than `heads` - 1."""

    def chain(self, proposal: Proposal, chooser: Chooser) -> Chain | None:
        """A chain below the root by one compiled call, behind `start`; None where it takes several."""
        return None

    @abstractmethod
    def done(self, proposal: Proposal) -> None:
        """The draft is complete: show what it was made from."""

    def plan_by_accuracy(self, accuracies: Accuracies) -> None:
        """Settle the static tree; where the accuracies were measured, note them with every round."""
        rates = accuracies.rates[: self.options.gamma].tolist()
        paths = static_paths(rates, self.options.nodes)
        self._planned = PlannedTree(paths, by_rank=True)
        if accuracies.measured:
            self._measured["heads_right_percent"] = [round(100 * head[0]) for head in rates]
            if paths and self.draft_policies.tree_policy is None:
                self._measured["expected_accepted"] = round(expected_length(rates, paths), 3)

    def depths(self) -> Sequence[int]:
        return self.module().depths()

    @abstractmethod
    def module(self) -> DrafterModule[Options]:
        """As it was taken over."""

    def weights_read(self, depth: int | None) -> int:
        """Bytes of weights that the pass for nodes of this depth reads; None: the one for all of them."""
        return self._reads

    @property
    def tree_policy(self) -> TreePolicy[Options]:
        own = self._planned if self.options.nodes else None
        return self.draft_policies.tree_policy or own or self.options.tree_policy

    def read_features(self, tokens: Sequence[int], features: Tensor) -> None:
        self._text.read(features)

    def observe(self, outcome: RoundOutcome) -> list[Exhibit]:
        self._text.extend(outcome)
        return []

    def propose(self, context: DraftContext) -> Proposal:
        """A root alone after a prompt of one token: nothing is known of the target before its first pass."""
        proposal = Proposal(DraftTree.from_root(context.tokens[-1]))
        stop_policy = self.draft_policies.stop_policy
        self._last.report(stop_policy, context)
        depth = min(context.max_depth, self.options.gamma, stop_policy.levels() or self.options.gamma)
        if depth >= 1 and self._text.length:
            self.start(context, self._text, proposal)
            chain = partial(self.chain, proposal)
            if not self._chains.drawn((self.tree_policy, stop_policy), context, proposal, depth, chain):
                draft = GrowingDraft(
                    context,
                    proposal,
                    stop_policy,
                    depth,
                    lambda nodes, at: self.answer(proposal.tree, nodes),
                    self.name,
                )
                self.tree_policy.grow(draft)
            proposal.note.update(stop_policy.state() | self._measured)
            self.done(proposal)
        self._last.remember(proposal.tree, context.tokens)
        return proposal

    def timed(
        self, proposal: Proposal, rows: int, depth: int | None, work: Callable[..., Tensor], *given: Any
    ) -> Tensor:
        """Do a pass of the module and record it."""
        began = now(self.device)
        found = work(*given)
        proposal.passes.append(Pass(rows, 0, now(self.device) - began, depth, self.weights_read(depth)))
        return found


def likely_row(label: str, tree: DraftTree, parents: Sequence[int], probs: Tensor) -> ExhibitRow:
    """What a distribution [V] holds most probable, and what of it was drafted below these nodes."""
    probs = probs.cpu()  # one transfer, and not one for each question
    families = tree.families()
    nodes = [node for parent in parents for node in families[parent]]
    drafted = dict.fromkeys(tree.tokens[node] for node in nodes)
    tokens = probs.topk(min(SHOWN, len(probs))).indices.tolist()
    tokens += [token for token in drafted if token not in tokens]
    marks = [index for index, token in enumerate(tokens) if token in drafted]
    scores = [round(score, 6) for score in probs[tokens].tolist()]
    return ExhibitRow(label, tokens, marks, nodes, scores=scores)
