"""Kinds of failure in plain words: what a drafter did wrong where a round ended on a rejection, or drafted nothing; and
which tokens were drafted in whose place, with examples in their text.

Each failed round is of exactly one kind, the first of `KINDS` that fits its first candidate; so shares add up to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from specviz.theory.analysis.facts import (
    DIGIT,
    PUNCTUATION,
    WHITESPACE,
    WORD_PART,
    Candidate,
    RoundFacts,
    RunFacts,
    is_word,
)
from specviz.theory.analysis.rates import Rate, rate

CLOSE = 0.5
"""a call is close where the target gave the drafted token at least this share of what it gave its favourite"""


@dataclass(frozen=True, slots=True)
class Failure:
    """One kind of failure of one drafter."""

    kind: str
    words: str
    """what happened, as a sentence without its full stop"""
    share: Rate
    """of all failed rounds"""
    examples: tuple[Example, ...]


NOTHING = "nothing drafted"
PLAIN = "none"
"""the drafter that never drafts, and so never fails"""

Fits = Callable[[Candidate], bool]

_TESTS: Mapping[str, tuple[str, Fits]] = {
    "lost draw": (
        "it drafted the target's favourite, and the random draw went against it",
        lambda candidate: candidate.rank == 1 or (candidate.rank is None and candidate.target_share == 1),
    ),
    "close call": (
        "the target gave the drafted token at least half of what it gave its favourite",
        lambda candidate: candidate.target_share is not None and candidate.target_share >= CLOSE,
    ),
    "missed copy": (
        "the target repeated what stands in the text already, and the drafter did not see it",
        lambda candidate: candidate.wanted_copied and not candidate.copied,
    ),
    "false copy": (
        "it repeated what stands in the text already, and the target went another way",
        lambda candidate: candidate.copied and not candidate.wanted_copied,
    ),
    "other number": (
        "it wrote another number",
        lambda candidate: DIGIT in (candidate.token_class, candidate.wanted_class),
    ),
    "other layout": (
        "it broke or indented the line otherwise",
        lambda candidate: WHITESPACE in (candidate.token_class, candidate.wanted_class),
    ),
    "stopped early": (
        "it set a punctuation mark where the target went on with a word",
        lambda candidate: candidate.token_class == PUNCTUATION and is_word(candidate.wanted_class),
    ),
    "went on": (
        "it went on with a word where the target set a punctuation mark",
        lambda candidate: is_word(candidate.token_class) and candidate.wanted_class == PUNCTUATION,
    ),
    "other mark": (
        "it set another punctuation mark",
        lambda candidate: candidate.token_class == candidate.wanted_class == PUNCTUATION,
    ),
    "other cut": (
        "it began the same word, cut into other tokens or written otherwise",
        lambda candidate: _same_start(candidate.text, candidate.wanted_text),
    ),
    "other ending": (
        "it ended the word otherwise",
        lambda candidate: WORD_PART in (candidate.token_class, candidate.wanted_class),
    ),
    "other word": (
        "it chose another word",
        lambda candidate: is_word(candidate.token_class) and is_word(candidate.wanted_class),
    ),
    "other": ("something else", lambda candidate: True),
}

KINDS: Mapping[str, str] = {
    NOTHING: "it had nothing to propose, so the target wrote one token alone",
    **{kind: words for kind, (words, _) in _TESTS.items()},
}
"""kind → what happened, in the order in which they are tried"""


def failures(runs: Sequence[RunFacts]) -> tuple[Failure, ...]:
    """Every kind that occurs, the most frequent first."""
    cases: dict[str, list[Candidate]] = {kind: [] for kind in KINDS}
    nothing: list[RoundFacts] = []
    for run in runs:
        first = {
            (candidate.round, candidate.depth): candidate
            for candidate in reversed(run.candidates)
            if candidate.in_text and candidate.fate == "rejected"
        }
        for this in run.rounds:
            failed = None if this.failed_at is None else first.get((this.index, this.failed_at))
            if failed is not None:
                cases[next(kind for kind, (_, fits) in _TESTS.items() if fits(failed))].append(failed)
            elif this.origin == "target" and this.room > 1 and run.drafter != PLAIN:
                nothing.append(this)
    total = len(nothing) + sum(map(len, cases.values()))
    kinds = [
        Failure(kind, KINDS[kind], rate(len(some), total), examples_of(some)) for kind, some in cases.items() if some
    ]
    if nothing:
        kinds.append(Failure(NOTHING, KINDS[NOTHING], rate(len(nothing), total), tuple(map(_at, nothing[:EXAMPLES]))))
    return tuple(sorted(kinds, key=lambda failure: -failure.share.hits))


def _same_start(drafted: str, wanted: str) -> bool:
    """Whether one of two words begins with the other, spaces and capitals aside."""
    first, other = drafted.strip().casefold(), wanted.strip().casefold()
    return bool(first and other) and (first.startswith(other) or other.startswith(first))


def _at(this: RoundFacts) -> Example:
    return Example(this.run, this.index, None, this.position, this.context, "", this.last)


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
    by_tokens: dict[tuple[int, int], list[Candidate]] = {}
    for candidate in candidates:
        if candidate.fate == "rejected" and candidate.wanted is not None and candidate.wanted != candidate.token:
            by_tokens.setdefault((candidate.token, candidate.wanted), []).append(candidate)
    pairs = [
        Pair(some[0].text, some[0].wanted_text, *tokens, len(some), examples_of(some))
        for tokens, some in by_tokens.items()
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
        Example(
            candidate.run,
            candidate.round,
            candidate.node,
            candidate.position,
            candidate.context,
            candidate.text,
            candidate.wanted_text,
        )
        for candidate in chosen
    )
