"""What followed a match elsewhere, merged into a trie of its most frequent continuations and put into a draft tree.

    match ─► best_first: the most frequent prefixes of what followed ─► plant: point masses in the draft tree ─► rows

Shares are frequencies, not a distribution that anything was drawn from: candidates are point masses.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TypeVar

from specviz.core.tree import ROOT, DraftTree
from specviz.drafters.parts.suffix_automaton import SuffixAutomaton
from specviz.trace.exhibits import ExhibitRow

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


def best_first(start: Place, follow: Follow[Place], most: int, depth: int, floor: float, width: int = 0) -> list[Found]:
    """The `most` prefixes with the largest shares, none below `floor` or longer than `depth`; parents come first.

    A prefix is at least as frequent as what begins with it, so the best are closed under parents. `width` keeps that
    many children per node; 0: all.
    """
    found: list[Found] = []
    heap: list[tuple[float, int, Found, Place]] = []
    pushed = count()

    def push(place: Place, parent: int, share: float, level: int) -> None:
        following = follow(place)
        total = sum(times for _, times, _ in following)
        drafted = [one for one in following if one[0] >= 0]
        for token, times, after in heapq.nlargest(width or len(drafted), drafted, key=lambda one: one[1]):
            part = share * times / total
            if part >= floor:
                heapq.heappush(heap, (-part, next(pushed), Found(token, parent, part, times, level), after))

    if most > 0 and depth > 0:
        push(start, -1, 1.0, 1)
    while heap and len(found) < most:
        _, _, best, place = heapq.heappop(heap)
        found.append(best)
        if best.depth < depth and len(found) < most:
            push(place, len(found) - 1, best.share, best.depth + 1)
    return found


def plant(tree: DraftTree, found: Sequence[Found], source: str) -> dict[int, int]:
    """Append what was found below the root as point masses; index into `found` → node."""
    nodes: dict[int, int] = {}
    for index, one in enumerate(found):
        parent = ROOT if one.parent < 0 else nodes[one.parent]
        nodes[index] = tree.add(parent, one.token, "point_mass", None, source)
    return nodes


def matched_before(text: SuffixAutomaton, state: int, length: int, tokens: Sequence[int]) -> ExhibitRow:
    """The end of `tokens`, a text that `text` holds, where it occurred first."""
    start = text.first_end[state] - length + 1
    return ExhibitRow("first seen here", list(tokens[len(tokens) - length :]), position=start)


def rows(found: Sequence[Found], nodes: Mapping[int, int], label: Callable[[int], str]) -> list[ExhibitRow]:
    """One row per whole continuation, the most frequent first, with the share of each of its prefixes.

    `label` names the row that ends at an index of `found`; `nodes` may lack what was not drafted.
    """
    inner = {one.parent for one in found}
    ends = [index for index in range(len(found)) if index not in inner]
    return [_row(found, nodes, end, label(end)) for end in sorted(ends, key=lambda end: -found[end].share)]


def _row(found: Sequence[Found], nodes: Mapping[int, int], end: int, label: str) -> ExhibitRow:
    path: list[int] = []
    while end >= 0:
        path.insert(0, end)
        end = found[end].parent
    return ExhibitRow(
        label,
        [found[index].token for index in path],
        nodes=[nodes[index] for index in path if index in nodes],
        scores=[round(found[index].share, 6) for index in path],
    )
