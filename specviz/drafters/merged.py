"""Several drafter models, one tree: each drafts a tree of its own, and what has the same text becomes one node.

    text ─► tree of the first model ──┐
    text ─► tree of the next model  ──┴► one tree, each candidate with its source, kind and distribution

The further models are handed over (`join`); which ones is an option.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import ClassVar

from torch import Tensor

from specviz.core.sampling import Sampling
from specviz.core.tree import ROOT, DraftTree, Shape
from specviz.drafters.base import DRAFTERS, DraftContext, Needs, Proposal
from specviz.drafters.capabilities import Begins, UsesFurtherModels
from specviz.drafters.drafting.draft_model import ModelDraft
from specviz.drafters.drafting.growing import GrowingDrafter, ShapeOptions
from specviz.errors import OptionError
from specviz.lm.base import LanguageModel
from specviz.options import option
from specviz.stop_policies.base import StopOptions, StopPolicy
from specviz.trace.declared_method import Candidates

SOURCES = ("model", "model_2", "model_3", "model_4")
"""marks of the candidates, by model"""


@dataclass(frozen=True)
class MergedOptions(ShapeOptions):
    """Shape of each model's own tree, and which models draft beside the first."""

    others: str = option(
        "drafter-weak",
        help="models that draft beside the run's drafter model: one to three bundled names, folders or hub ids, "
        "separated by commas",
    )
    branching: tuple[int, ...] = option(
        (2, 1, 1),
        help="children per node at each level of each model's tree; empty: chains of gamma",
        minimum=1,
        maximum=32,
        shape=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= len(self.names) < len(SOURCES):
            raise OptionError(
                f"others names {len(self.names)} models, but one to {len(SOURCES) - 1} draft beside the first; write "
                "their names with commas between them."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Of the further models."""
        return tuple(name.strip() for name in self.others.split(",") if name.strip())


@DRAFTERS.register("merged")
class MergedDrafter(GrowingDrafter[MergedOptions], UsesFurtherModels, Begins):
    """Several drafter models draft, and the target judges all their trees merged into one in a single pass.

    Where one model errs another may not; a token is paid for once where their trees agree. Candidates keep the
    distribution they were drawn from. A token that two models drew for the same place stays a candidate of each, as
    leaving out a drawn one would bias the text, and what both draft below it hangs below the first.
    SpecInfer (Miao et al., 2305.09781, §3 and definition 3.2).
    """

    candidates: ClassVar[Candidates] = Candidates(sources=SOURCES, merged=True)
    needs: ClassVar[Needs | None] = Needs(
        guesses_from="several smaller language models, their trees merged",
        training="the small models'",
        memory="the small models' weights and caches",
    )
    pass_reads: ClassVar[str] = "all weights of the model whose pass it is"

    def __init__(self, options: MergedOptions) -> None:
        super().__init__(options)
        self._drafts = list[ModelDraft]()
        self._stops = list[StopPolicy[StopOptions]]()
        """one for each model's drafts, for it learns from how they went"""

    def further(self) -> Sequence[str]:
        return self.options.names

    def use(self, model: LanguageModel) -> None:
        self._drafts = [ModelDraft(model, SOURCES[0])]

    def join(self, models: Sequence[LanguageModel]) -> None:
        self._drafts += [ModelDraft(model, source) for model, source in zip(models, SOURCES[1:], strict=False)]
        names = ",".join(model.info.name for model in models)  # a trace must not carry paths of this machine
        self.options = replace(self.options, others=names)

    def drafting_model(self) -> LanguageModel:
        return self._drafts[0].model

    def shape(self, sampling: Sampling) -> Shape:
        return "tree"

    def begin(self, tokens: Sequence[int]) -> None:
        shared = self.draft_policies.stop_policy
        self._stops = [shared, *(deepcopy(shared) for _ in self._drafts[1:])]
        for draft, stop_policy in zip(self._drafts, self._stops, strict=True):
            draft.begin(tokens, stop_policy)

    def propose(self, context: DraftContext) -> Proposal:
        merged, draws, seen = Proposal(DraftTree.from_root(context.tokens[-1])), 0, 0
        asked: dict[int, list[tuple[str, Tensor]]] = {}
        for draft, stop_policy, source in zip(self._drafts, self._stops, SOURCES, strict=False):
            own = draft.propose(context, self.tree_policy, stop_policy, draws)
            draws = draft.draws
            before = merged.tree.drafted
            nodes = merge(merged.tree, own.tree)
            seen += own.tree.drafted - (merged.tree.drafted - before)
            merged.passes.extend(own.passes)
            merged.note.update(own.note if source == SOURCES[0] else {f"{source}_{k}": v for k, v in own.note.items()})
            for part, rows in own.draft_logits:
                for node, row in zip(part, rows, strict=True):
                    asked.setdefault(nodes[node], []).append((source, row))
        merged.note["merged"] = seen
        merged.draft_logits.extend(_shown(merged.tree, asked))
        return merged


def merge(tree: DraftTree, other: DraftTree) -> list[int]:
    """Add another draft of the same root; per node of `other` the node of `tree` below which its children hang.

    A point mass that is there already is not added again. A drawn candidate is, behind all that are there: it was
    drawn, so it must be tried; its children go below the first candidate with its text that the other draft has not
    joined yet.
    """
    home, joined = [ROOT], set[int]()
    there = len(tree)
    for node in range(1, len(other)):
        parent, token, kind = home[other.parents[node]], other.tokens[node], other.kinds[node]
        same = next(
            (
                child
                for child in tree.children(parent)
                if child < there and child not in joined and tree.tokens[child] == token
            ),
            None,
        )
        added = None
        if same is None or kind != "point_mass":
            added = tree.add(parent, token, kind, other.proposals[node], other.sources[node])
        if same is not None:
            joined.add(same)
        chosen = same if same is not None else added
        assert chosen is not None, "a candidate is either there or added."
        home.append(chosen)
    return home


def _shown(tree: DraftTree, asked: dict[int, list[tuple[str, Tensor]]]) -> list[tuple[Sequence[int], Tensor]]:
    """Per node one model's logits [1, V] of those that were asked there: of the one its first child comes from."""
    found = list[tuple[Sequence[int], Tensor]]()
    for node, answers in asked.items():
        first = next((tree.sources[child] for child in tree.children(node)), answers[0][0])
        row = next((row for source, row in answers if source == first), answers[0][1])
        found.append(([node], row.unsqueeze(0)))
    return found
