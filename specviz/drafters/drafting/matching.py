"""Drafts copied from where the end of the text occurred before: in the text itself, or in a datastore.

    match ─► best_first: the most frequent prefixes of what followed ─► plant: point masses in the draft tree ─► rows

`SuffixAutomaton` (Blumer et al. 1985) holds every substring of a text with its number of occurrences: at most two
states per token, all strings of a state end at the same places. It answers what a suffix tree does, for matches of any
length, and grows with the text. `Snippets` are places of a datastore in the order of its suffix array, so that those
which go on alike stand together: a prefix is a range of rows.

Shares are frequencies, not a distribution that anything was drawn from: candidates are point masses.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from specviz.core.tree import ROOT, DraftTree
from specviz.datastore.store import Datastore, Ids, Match
from specviz.trace.header import LOOKED_UP, Exhibit, ExhibitRow

START = 0
"""state of the empty string"""


class SuffixAutomaton:
    """Grows by `extend`; amortised constant time per token, apart from the counts of a text that repeats itself."""

    def __init__(self) -> None:
        self.following: list[dict[int, int]] = [{}]
        """per state: token → state"""
        self.shorter = [-1]
        """per state: that of its longest suffix which ends at more places; -1 for the empty string"""
        self.length = [0]
        """per state: length of its longest string"""
        self.count = [0]
        """per state: how often its strings occur"""
        self.first_end = [-1]
        """per state: index of the last token of the first occurrence"""
        self.whole = START
        """state of the text itself"""
        self._size = 0

    def extend(self, token: int) -> None:
        """Append one token."""
        new = self._add({}, self.length[self.whole] + 1, 0, self._size)
        state = self.whole
        while state >= 0 and token not in self.following[state]:
            self.following[state][token] = new
            state = self.shorter[state]
        if state < 0:
            self.shorter[new] = START
        else:
            self.shorter[new] = self._ending_alike(state, token)
        self.whole, self._size = new, self._size + 1
        while new >= 0:
            self.count[new] += 1
            new = self.shorter[new]

    def suffixes(self, state: int, longest: int) -> Iterator[tuple[int, int]]:
        """(length, state) of `state`'s string cut to `longest` tokens and of its ever shorter suffixes with more
        occurrences each."""
        while state > START:
            shorter = self.shorter[state]
            if self.length[shorter] < longest:
                yield min(self.length[state], longest), state
            state = shorter

    def after(self, state: int) -> list[tuple[int, int, int]]:
        """(token, how often, state) for all that followed a string of `state`."""
        return [(token, self.count[other], other) for token, other in self.following[state].items()]

    def _ending_alike(self, state: int, token: int) -> int:
        """The state of the longest string of `state` followed by `token`, split off where it is not a state's own."""
        reached = self.following[state][token]
        length = self.length[state] + 1
        if self.length[reached] == length:
            return reached
        split = self._add(dict(self.following[reached]), length, self.count[reached], self.first_end[reached])
        self.shorter[split], self.shorter[reached] = self.shorter[reached], split
        while state >= 0 and self.following[state].get(token) == reached:
            self.following[state][token] = split
            state = self.shorter[state]
        return split

    def _add(self, following: dict[int, int], length: int, count: int, first_end: int) -> int:
        self.following.append(following)
        self.shorter.append(START)
        self.length.append(length)
        self.count.append(count)
        self.first_end.append(first_end)
        return len(self.length) - 1


class Cursor:
    """The longest suffix of another text that occurs in an automaton, kept up to date as that text grows."""

    def __init__(self, automaton: SuffixAutomaton) -> None:
        self._automaton = automaton
        self.state = START
        self.length = 0

    def step(self, token: int) -> None:
        """The other text goes on with `token`."""
        automaton = self._automaton
        while self.state != START and token not in automaton.following[self.state]:
            self.state = automaton.shorter[self.state]
            self.length = automaton.length[self.state]
        reached = automaton.following[self.state].get(token)
        if reached is not None:
            self.state, self.length = reached, self.length + 1


Place = TypeVar("Place")
Follow = Callable[[Place], list[tuple[int, int, Place]]]
"""a place in what was matched → (token, how often it followed, the place after it); a negative token stands for an end
of what was matched: it counts, but nothing can be drafted from it"""


@dataclass(frozen=True, slots=True)
class Found:
    """One node of the trie."""

    token: int
    parent: int
    """index of its parent among all found; -1 below the match itself"""
    share: float
    """of what followed the match, how much began with the path down to here"""
    count: int
    """how often that was"""
    depth: int


def best_first(
    start: Place, follow: Follow[Place], most: int, depth: int, floor: float, width: int = 0,
    ends: frozenset[int] = frozenset(), unsaid: frozenset[int] = frozenset(),
) -> list[Found]:  # fmt: skip
    """The `most` prefixes with the largest shares, none below `floor` or longer than `depth`; parents come first.

    A prefix is at least as frequent as what begins with it, so the best are closed under parents. `width` keeps that
    many children per node; 0: all. `ends` and `unsaid`, as in `DraftContext`: nothing is below one, or is one.
    """
    chosen: list[Found] = []
    heap: list[tuple[float, int, Found, Place]] = []
    pushed = count()

    def push(place: Place, parent: int, share: float, level: int) -> None:
        following = follow(place)
        total = sum(times for _, times, _ in following)
        drafted = [after for after in following if after[0] >= 0 and after[0] not in unsaid]
        for token, times, after in heapq.nlargest(width or len(drafted), drafted, key=lambda one: one[1]):
            part = share * times / total
            if part >= floor:
                heapq.heappush(heap, (-part, next(pushed), Found(token, parent, part, times, level), after))

    if most > 0 and depth > 0:
        push(start, -1, 1.0, 1)
    while heap and len(chosen) < most:
        _, _, best, place = heapq.heappop(heap)
        chosen.append(best)
        if best.depth < depth and len(chosen) < most and best.token not in ends:
            push(place, len(chosen) - 1, best.share, best.depth + 1)
    return chosen


def plant(tree: DraftTree, continuations: Sequence[Found], source: str) -> dict[int, int]:
    """Append what was found below the root as point masses; index into `continuations` → node."""
    nodes: dict[int, int] = {}
    for index, continuation in enumerate(continuations):
        parent = ROOT if continuation.parent < 0 else nodes[continuation.parent]
        nodes[index] = tree.add(parent, continuation.token, "point_mass", None, source)
    return nodes


def matched_before(text: SuffixAutomaton, state: int, length: int, tokens: Sequence[int]) -> ExhibitRow:
    """The end of `tokens`, a text that `text` holds, where it occurred first."""
    start = text.first_end[state] - length + 1
    return ExhibitRow("first seen here", list(tokens[len(tokens) - length :]), position=start)


def rows(continuations: Sequence[Found], nodes: Mapping[int, int], label: Callable[[int], str]) -> list[ExhibitRow]:
    """One row per whole continuation, the most frequent first, with the share of each of its prefixes.

    `label` names the row that ends at an index of `continuations`; `nodes` may lack what was not drafted.
    """
    inner = {continuation.parent for continuation in continuations}
    ends = [index for index in range(len(continuations)) if index not in inner]
    return [
        _row(continuations, nodes, end, label(end)) for end in sorted(ends, key=lambda end: -continuations[end].share)
    ]


def _row(continuations: Sequence[Found], nodes: Mapping[int, int], end: int, label: str) -> ExhibitRow:
    path: list[int] = []
    while end >= 0:
        path.insert(0, end)
        end = continuations[end].parent
    return ExhibitRow(
        label,
        [continuations[index].token for index in path],
        nodes=[nodes[index] for index in path if index in nodes],
        scores=[round(continuations[index].share, 6) for index in path],
    )


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
