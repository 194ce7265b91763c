"""Retrieval-augmented drafting: the tree of a small model and that of retrieval, fused into one.

    text ─► the model's tree ──────────────────────────────────┐
    text ─► matches in the text and a datastore ─► prune by q ─┴► one tree, each node with its source and its kind

It is handed over (`consult`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from torch import Tensor

from specviz.core.sampling import Sampling
from specviz.core.tree import ROOT, DraftTree, Shape
from specviz.datastore.store import Datastore
from specviz.drafters.base import DRAFTERS, DraftContext, Needs, Proposal
from specviz.drafters.capabilities import Begins, Retrieves, UsesModel
from specviz.drafters.drafting.draft_model import ModelDraft
from specviz.drafters.drafting.growing import GrowingDrafter, ShapeOptions
from specviz.drafters.drafting.matching import (
    Found,
    Snippets,
    SuffixAutomaton,
    Wanted,
    best_first,
    matched_before,
    rows,
)
from specviz.errors import DatastoreError
from specviz.lm.base import LanguageModel
from specviz.options import option
from specviz.trace.declared_method import Candidates
from specviz.trace.events import CandidateKind
from specviz.trace.header import SEEN_BEFORE, Exhibit, ExhibitRow

MODEL, TEXT, DATASTORE = "model", "text", "datastore"
CONSIDERED = 64
"""prefixes per source that pruning chooses from"""
RARE = 0.01
"""no prefix less frequent than this is considered"""


@dataclass(frozen=True)
class RasdOptions(ShapeOptions):
    """The model's own tree, where to retrieve, and how much of it survives."""

    branching: tuple[int, ...] = option(
        (2, 1, 1, 1),
        help="children per node at each level of the model's own tree; empty: a chain of gamma",
        minimum=1,
        maximum=32,
        shape=True,
    )
    max_nodes: int = option(
        16, help="most candidates of the fused tree; all of the model's own are kept", minimum=1, maximum=64
    )
    likely: int = option(
        8, help="retrieved first tokens must be among so many most probable ones of the model", minimum=1, maximum=64
    )
    look_in: str = option("both", help="where to retrieve", choices=("both", TEXT, DATASTORE))
    max_match: int = option(16, help="longest suffix of the text that is looked up", minimum=2, maximum=16)
    snippet: int = option(10, help="tokens read at each place of a match", minimum=1, maximum=16)
    places: int = option(1000, help="most places read; of more, every k-th", minimum=1, maximum=5000)


@dataclass(frozen=True, slots=True)
class Branches:
    """A trie of continuations from one source, and what became of it."""

    source: str
    found: Sequence[Found]
    nodes: dict[int, int] = field(default_factory=dict)
    """index into `found` → node of the tree, of those that are in it"""
    pruned: list[int] = field(default_factory=list)
    """indices of first tokens that the model's distribution speaks against"""

    def first(self, index: int) -> int:
        """Index of the first token on the way to `index`."""
        while self.found[index].parent >= 0:
            index = self.found[index].parent
        return index


def prune(branches: Branches, q: Tensor | None, keep: int) -> dict[int, float]:
    """Index → score of what survives: its first token is one of the `keep` most probable in `q` [V].

    The score is q(first token) times the share of the path; without a distribution the share alone.
    """
    allowed: Mapping[int, float] | None = None
    if q is not None:
        best = q.topk(min(keep, q.shape[-1]))
        allowed = dict(zip(best.indices.tolist(), best.values.tolist(), strict=True))
    scores: dict[int, float] = {}
    for index, one in enumerate(branches.found):
        first = branches.found[branches.first(index)].token
        if allowed is None or first in allowed:
            scores[index] = one.share * (1.0 if allowed is None else allowed[first])
        elif one.parent < 0:
            branches.pruned.append(index)
    return scores


def fuse(tree: DraftTree, sources: Sequence[tuple[Branches, Mapping[int, float]]], most: int) -> None:
    """Add continuations, the best first, until the tree has `most` candidates; those that are in it are only found.

    Parents precede children, because a path's score never rises.
    """
    ranked = [(-score, place, index) for place, (_, scores) in enumerate(sources) for index, score in scores.items()]
    for _, place, index in sorted(ranked):
        branches = sources[place][0]
        one = branches.found[index]
        parent = ROOT if one.parent < 0 else branches.nodes.get(one.parent)
        if parent is None:
            continue
        node = next((child for child in tree.children(parent) if tree.tokens[child] == one.token), None)
        if node is None and tree.drafted < most:
            node = tree.add(parent, one.token, "point_mass", None, branches.source)
        if node is not None:
            branches.nodes[index] = node


@DRAFTERS.register("rasd")
class RasdDrafter(GrowingDrafter[RasdOptions], UsesModel, Retrieves, Begins):
    """Fuses what a small model drafts with what followed the same words elsewhere, pruned by that model.

    A retrieved branch survives where the model finds its first token likely; it is merged into the model's tree along
    their longest common prefix. Each candidate keeps its source and how it came about: drawn, or a point mass. The text
    and a datastore are searched. RASD (2503.03434); pruning criterion and ranking are our reading of it.
    """

    candidates: ClassVar[Candidates] = Candidates(sources=(MODEL,), found=(TEXT, DATASTORE), shows=True)
    needs: ClassVar[Needs | None] = Needs(
        guesses_from="a smaller language model, the text and a datastore",
        training="the small model's",
        memory="the small model's weights and cache, and a datastore",
    )
    pass_reads: ClassVar[str] = "all weights of its model"

    def __init__(self, options: RasdOptions) -> None:
        super().__init__(options)
        self._text = SuffixAutomaton()
        self._read = 0
        self._store: Datastore | None = None

    def use(self, model: LanguageModel) -> None:
        self._draft = ModelDraft(model, MODEL)

    def drafting_model(self) -> LanguageModel:
        return self._draft.model

    def kinds(self, sampling: Sampling) -> frozenset[CandidateKind]:
        return self.tree_policy.kinds(sampling) | {"point_mass"}

    def shape(self, sampling: Sampling) -> Shape:
        return "tree"

    def retrieves(self) -> bool:
        return self.options.look_in != TEXT

    def consult(self, datastore: Datastore) -> None:
        self._store = datastore

    def begin(self, tokens: Sequence[int]) -> None:
        if self._store is None and self.retrieves():
            raise DatastoreError(
                "'rasd' has no datastore to look in; build one with `specviz datastore build`, or look in the text."
            )
        self._draft.begin(tokens, self.draft_policies.stop_policy)
        self._follow(tokens)

    def propose(self, context: DraftContext) -> Proposal:
        self._follow(context.tokens)
        proposal = self._draft.propose(context, self.tree_policy, self.draft_policies.stop_policy)
        tree, q = proposal.tree, _after_root(proposal)
        own = tree.drafted
        depth = min(self.options.snippet, context.max_depth)
        if depth > 0:
            retrieved = list(self._retrieve(context, depth))
            scored = [(branches, prune(branches, q, self.options.likely)) for branches, _ in retrieved]
            fuse(tree, scored, self.options.max_nodes)
            for branches, exhibits in retrieved:
                proposal.exhibits.extend(exhibits)
                proposal.exhibits.extend(_left_out(branches, q))
        proposal.note.update(own=own, retrieved=tree.drafted - own)
        return proposal

    def _follow(self, tokens: Sequence[int]) -> None:
        """Read what the text has grown by."""
        for token in tokens[self._read :]:
            self._text.extend(token)
        self._read = len(tokens)

    def _retrieve(self, context: DraftContext, depth: int) -> Iterator[tuple[Branches, Iterator[Exhibit]]]:
        """Continuations from each source that has any; the exhibits are drawn up after the fusion."""
        options, tokens, marks = self.options, context.tokens, (context.ends, context.unsaid)
        if options.look_in != DATASTORE:
            match = next(self._text.suffixes(self._text.shorter[self._text.whole], options.max_match), None)
            if match is not None and match[0] >= 2:
                length, state = match
                found = best_first(state, self._text.after, CONSIDERED, depth, RARE, 0, *marks)
                branches = Branches(TEXT, found)
                yield branches, _from_text(branches, self._text, length, state, tokens)
        if self._store is not None and options.look_in != TEXT:
            wanted = Wanted(2, options.max_match, depth, options.places)
            snippets = Snippets.look_up(self._store, tokens, wanted)
            if snippets is not None:
                found = best_first(snippets.start, snippets.after, CONSIDERED, depth, RARE, 0, *marks)
                branches = Branches(DATASTORE, found)
                yield branches, snippets.exhibits(tokens, found, branches.nodes)


def _after_root(proposal: Proposal) -> Tensor | None:
    """What the model says follows the text [V], if it was asked."""
    for nodes, logits in proposal.draft_logits:
        if ROOT in nodes:
            return logits[list(nodes).index(ROOT)].float().softmax(-1)
    return None


def _from_text(
    branches: Branches, text: SuffixAutomaton, length: int, state: int, tokens: Sequence[int]
) -> Iterator[Exhibit]:
    yield Exhibit(SEEN_BEFORE, [matched_before(text, state, length, tokens)])
    times = sum(count for _, count, _ in text.after(state))
    found = branches.found
    yield Exhibit(
        "what followed, by frequency", rows(found, branches.nodes, lambda end: f"{found[end].count} of {times}")
    )


def _left_out(branches: Branches, q: Tensor | None) -> Iterator[Exhibit]:
    """Retrieved first tokens that the model finds too unlikely, with its probability of each."""
    if branches.pruned and q is not None:
        tokens = [branches.found[index].token for index in branches.pruned]
        row = ExhibitRow(f"from the {branches.source}", tokens, scores=[round(float(q[token]), 6) for token in tokens])
        yield Exhibit("retrieved, but unlikely to the model", [row])
