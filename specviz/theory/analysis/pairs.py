"""Which tokens are drafted in whose place: the table of rejected pairs, and examples in their text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from specviz.theory.analysis.facts import Candidate

EXAMPLES = 3
"""kept of everything that has examples"""


@dataclass(frozen=True, slots=True)
class Example:
    """One place in one trace, for a player that opens there."""

    run: str
    """name of the trace"""
    round: int
    """counted from 0"""
    node: int | None
    """the rejected candidate; None: nothing was drafted"""
    position: int
    """of the output token, counted from 0"""
    context: str
    """the text before it"""
    drafted: str
    wanted: str


@dataclass(frozen=True, slots=True)
class Pair:
    """A token that was drafted and rejected, and the one that became text in its place."""

    drafted: str
    wanted: str
    drafted_token: int
    wanted_token: int
    count: int
    examples: tuple[Example, ...]


def rejected_pairs(candidates: Iterable[Candidate]) -> tuple[Pair, ...]:
    """Rejected candidates by drafted and wanted token, the most frequent first; those off the text have no wanted
    token and are left out, and so are those rejected for the very token that came (a draw that fell again on it)."""
    found: dict[tuple[int, int], list[Candidate]] = {}
    for candidate in candidates:
        if candidate.fate == "rejected" and candidate.wanted is not None and candidate.wanted != candidate.token:
            found.setdefault((candidate.token, candidate.wanted), []).append(candidate)
    pairs = [
        Pair(some[0].text, some[0].wanted_text, *tokens, len(some), examples_of(some)) for tokens, some in found.items()
    ]
    return tuple(sorted(pairs, key=lambda pair: (-pair.count, pair.drafted, pair.wanted)))


def examples_of(cases: Sequence[Candidate]) -> tuple[Example, ...]:
    """Up to three, of different traces where there are such."""
    chosen: list[Candidate] = []
    for candidate in cases:
        if len(chosen) < EXAMPLES and candidate.run not in {other.run for other in chosen}:
            chosen.append(candidate)
    chosen += [candidate for candidate in cases if candidate not in chosen][: EXAMPLES - len(chosen)]
    return tuple(
        Example(one.run, one.round, one.node, one.position, one.context, one.text, one.wanted_text) for one in chosen
    )
