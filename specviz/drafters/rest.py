"""Retrieval from a datastore: the end of the text is looked up in a large text, and what followed there is drafted.

    text ─► longest suffix in the datastore ─► snippets ─► a trie of their most frequent prefixes ─► draft tree

It is handed over (`consult`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from specviz.core.tree import DraftTree
from specviz.datastore.store import Datastore
from specviz.drafters.base import DRAFTERS, DraftContext, Drafter, Needs, Proposal
from specviz.drafters.capabilities import Begins, Retrieves
from specviz.drafters.drafting.matching import Snippets, Wanted, best_first, plant
from specviz.errors import DatastoreError, OptionError
from specviz.options import Options, option
from specviz.trace.declared_method import Candidates


@dataclass(frozen=True)
class RestOptions(Options):
    """What must match, and how much is drafted from it."""

    max_nodes: int = option(16, help="most candidates of a draft", minimum=1, maximum=64)
    max_match: int = option(16, help="longest suffix of the text that is looked up", minimum=1, maximum=16)
    min_match: int = option(2, help="shortest suffix that is looked up", minimum=1, maximum=16)
    snippet: int = option(10, help="tokens read at each place of a match", minimum=1, maximum=16)
    places: int = option(1000, help="most places read; of more, every k-th", minimum=1, maximum=5000)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.min_match > self.max_match:
            raise OptionError(
                f"min_match is {self.min_match} and max_match {self.max_match}, but the shortest suffix cannot be "
                "longer than the longest; lower min_match."
            )


@DRAFTERS.register("rest")
class RestDrafter(Drafter[RestOptions], Retrieves, Begins):
    """Drafts what most often followed the end of the text in a datastore of other texts.

    The longest suffix that occurs there decides; every prefix of every snippet is counted, and the most frequent make
    the draft tree. Candidates are point masses. No model and no training, but a datastore near the text's domain: it
    is built by `specviz datastore build`. REST (He et al., 2311.08252).
    """

    candidates: ClassVar[Candidates] = Candidates(most="max_nodes", shows=True)
    needs: ClassVar[Needs | None] = Needs(guesses_from="a datastore of other texts", memory="a datastore")

    def __init__(self, options: RestOptions) -> None:
        super().__init__(options)
        self._store: Datastore | None = None

    def retrieves(self) -> bool:
        return True

    def consult(self, datastore: Datastore) -> None:
        self._store = datastore

    def begin(self, tokens: Sequence[int]) -> None:
        if self._store is None:
            raise DatastoreError("'rest' has no datastore to look in; build one with `specviz datastore build`.")

    def propose(self, context: DraftContext) -> Proposal:
        assert self._store is not None, "begin was not called."
        options, tree = self.options, DraftTree.from_root(context.tokens[-1])
        depth = min(options.snippet, context.max_depth)
        wanted = Wanted(options.min_match, options.max_match, depth, options.places)
        snippets = Snippets.look_up(self._store, context.tokens, wanted) if depth > 0 else None
        if snippets is None:
            return Proposal(tree, note={"match_length": 0})
        marks = context.ends, context.unsaid
        best = best_first(snippets.start, snippets.after, options.max_nodes, depth, 0.0, 0, *marks)
        nodes = plant(tree, best, self.name)
        note = {"match_length": snippets.match.length, "places": snippets.match.count}
        return Proposal(tree, note=dict(note), exhibits=list(snippets.exhibits(context.tokens, best, nodes)))
