"""What followed the end of a text at other places of a datastore, in a form that `best_first` can walk.

Snippets stand in the order of the suffix array, so those that go on alike stand together: a prefix is a range of rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from specviz.datastore.store import Datastore, Match
from specviz.datastore.suffix_array import Ids
from specviz.drafters.parts.continuations import Found, rows
from specviz.trace.exhibits import LOOKED_UP, Exhibit, ExhibitRow

Range = tuple[int, int, int]
"""rows from, rows to, and how many tokens of them have been read"""
END = -1


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to look up, and how much to read there."""

    shortest: int
    longest: int
    """tokens of the suffix that must match"""
    depth: int
    """tokens read at each place"""
    most: int
    """places read"""


@dataclass(frozen=True, slots=True)
class Snippets:
    """The places of a match, or a fair part of them."""

    store: Datastore
    match: Match
    ids: Ids
    """[m, depth], what was read there"""
    places: npt.NDArray[np.int64]
    """[m], where in the datastore"""

    @classmethod
    def look_up(cls, store: Datastore, tokens: Sequence[int], wanted: Wanted) -> Snippets | None:
        """At the longest suffix of `tokens` that occurs; None where none does."""
        match = store.longest(tokens, wanted.shortest, wanted.longest)
        return None if match is None else cls(store, match, *store.continuations(match, wanted.depth, wanted.most))

    @property
    def start(self) -> Range:
        return 0, len(self.ids), 0

    def after(self, place: Range) -> list[tuple[int, int, Range]]:
        """(token, how many rows, the rows) of what comes next in a range of rows; an end of a document is `END`."""
        first, stop, read = place
        column = self.ids[first:stop, read]
        bounds = [0, *(np.flatnonzero(column[1:] != column[:-1]) + 1).tolist(), len(column)]
        found = []
        for begin, end in itertools.pairwise(bounds):
            token = int(column[begin])
            ranged = (first + begin, first + end, read + 1)
            found.append((END if token == self.store.vocab_size else token, end - begin, ranged))
        return found

    def exhibits(self, tokens: Sequence[int], found: Sequence[Found], nodes: Mapping[int, int]) -> Iterator[Exhibit]:
        """What was looked up, and what was drafted from it, each with its number of places and one file it is in."""
        matched = list(tokens[len(tokens) - self.match.length :])
        yield Exhibit(LOOKED_UP, [ExhibitRow(f"at {self.match.count} places", matched)])
        shown = rows(found, nodes, lambda end: f"{found[end].count} of {len(self.ids)}")
        yield Exhibit("what followed there", [self._with_file(row) for row in shown])

    def _with_file(self, row: ExhibitRow) -> ExhibitRow:
        alike = (self.ids[:, : len(row.tokens)] == np.array(row.tokens)).all(axis=1)
        document = self.store.document(int(self.places[int(alike.argmax())]))
        return ExhibitRow(f"{row.label}, as in {document}", row.tokens, nodes=row.nodes, scores=row.scores)
