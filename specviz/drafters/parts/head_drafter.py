"""A drafter with trained heads: it reads the target's states, asks its module, and lets a tree grow from the answers.

    target's states ─► text ─► [ start: one pass of the module ] ─► answer(nodes) ─► tree policy ─► tree

What Medusa heads, Hydra heads, the Markov lattice and the masked block share. Registers nothing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from torch import Tensor

from specviz.core.clock import now
from specviz.core.tree import DraftTree
from specviz.drafters.base import DraftContext, DraftPass, Proposal, RoundOutcome
from specviz.drafters.capabilities import Observes, ReadsFeatures
from specviz.drafters.parts.feature_text import FeatureText
from specviz.drafters.parts.growing import GrowingDraft, LastDraft
from specviz.drafters.parts.head_learning import Accuracies
from specviz.drafters.parts.head_options import HeadOptionsT_co
from specviz.drafters.parts.module_files import module_for
from specviz.drafters.parts.planned_tree import PlannedTree, expected_length, static_paths
from specviz.drafters.parts.shape import GrowingDrafter
from specviz.drafters.parts.trained import DrafterModule
from specviz.errors import ModelError
from specviz.lm.base import Cache, GivesFeatures, LanguageModel
from specviz.options import Options
from specviz.protocol.trainings import SHIPPED, UNTRAINED
from specviz.trace.events import Option
from specviz.trace.exhibits import Exhibit, ExhibitRow
from specviz.tree_policies.base import TreePolicy

SHOWN = 5
"""tokens of a distribution in an exhibit, beside those drafted"""


class HeadDrafter(GrowingDrafter[HeadOptionsT_co], ReadsFeatures, Observes):
    """A subclass names its module, and says what follows a node."""

    module_type: ClassVar[type[DrafterModule[Options]]]

    def __init__(self, options: HeadOptionsT_co) -> None:
        super().__init__(options)
        self._text = FeatureText()
        self._last = LastDraft()
        self._planned: PlannedTree | None = None
        """the tree of this drafter's own, once it is known"""
        self._measured: dict[str, Option] = {}
        """what is noted with every round about the heads"""

    def attach(self, target: LanguageModel, cache: Cache) -> None:
        """Raises ModelError where the target does not give its states, or the weights are not for it."""
        self.device = target.device
        self.use_module(self.load(reading(target, self.name)))
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
        return self.module().weights_read()

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
            draft = GrowingDraft(
                context, proposal, stop_policy, depth, lambda nodes, at: self.answer(proposal.tree, nodes), self.name
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
        proposal.passes.append(DraftPass(rows, 0, now(self.device) - began, depth, self.weights_read(depth)))
        return found


def reading(target: LanguageModel, drafter: str) -> GivesFeatures:
    """The target as one whose states can be read. Raises ModelError where they cannot."""
    if isinstance(target, GivesFeatures):
        return target
    raise ModelError(
        f"the drafter '{drafter}' drafts from the target's states, but the adapter '{target.info.adapter}' of "
        f"{target.info.name} does not give them; choose another drafter."
    )


def shown_weights(weights: str) -> str:
    """As a trace names them: no path of this machine."""
    return weights if weights in (SHIPPED, UNTRAINED) else Path(weights).name


def likely_row(label: str, tree: DraftTree, parents: Sequence[int], probs: Tensor) -> ExhibitRow:
    """What a distribution [V] holds most probable, and what of it was drafted below these nodes."""
    families = tree.families()
    nodes = [node for parent in parents for node in families[parent]]
    drafted = dict.fromkeys(tree.tokens[node] for node in nodes)
    tokens = probs.topk(min(SHOWN, len(probs))).indices.tolist()
    tokens += [token for token in drafted if token not in tokens]
    marks = [index for index, token in enumerate(tokens) if token in drafted]
    scores = [round(score, 6) for score in probs[tokens].tolist()]
    return ExhibitRow(label, tokens, marks, nodes, scores=scores)
