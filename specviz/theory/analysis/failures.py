"""Kinds of failure in plain words: what a drafter did wrong where a round ended on a rejection, or drafted nothing.

Each failed round is of exactly one kind, the first of `KINDS` that fits its first candidate; so shares add up to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from specviz.theory.analysis.pairs import EXAMPLES, Example, examples_of
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
        lambda one: one.rank == 1 or (one.rank is None and one.target_share == 1),
    ),
    "close call": (
        "the target gave the drafted token at least half of what it gave its favourite",
        lambda one: one.target_share is not None and one.target_share >= CLOSE,
    ),
    "missed copy": (
        "the target repeated what stands in the text already, and the drafter did not see it",
        lambda one: one.wanted_copied and not one.copied,
    ),
    "false copy": (
        "it repeated what stands in the text already, and the target went another way",
        lambda one: one.copied and not one.wanted_copied,
    ),
    "other number": (
        "it wrote another number",
        lambda one: DIGIT in (one.token_class, one.wanted_class),
    ),
    "other layout": (
        "it broke or indented the line otherwise",
        lambda one: WHITESPACE in (one.token_class, one.wanted_class),
    ),
    "stopped early": (
        "it set a punctuation mark where the target went on with a word",
        lambda one: one.token_class == PUNCTUATION and is_word(one.wanted_class),
    ),
    "went on": (
        "it went on with a word where the target set a punctuation mark",
        lambda one: is_word(one.token_class) and one.wanted_class == PUNCTUATION,
    ),
    "other mark": (
        "it set another punctuation mark",
        lambda one: one.token_class == one.wanted_class == PUNCTUATION,
    ),
    "other cut": (
        "it began the same word, cut into other tokens or written otherwise",
        lambda one: _same_start(one.text, one.wanted_text),
    ),
    "other ending": (
        "it ended the word otherwise",
        lambda one: WORD_PART in (one.token_class, one.wanted_class),
    ),
    "other word": (
        "it chose another word",
        lambda one: is_word(one.token_class) and is_word(one.wanted_class),
    ),
    "other": ("something else", lambda one: True),
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
                cases[_kind_of(failed)].append(failed)
            elif this.origin == "target" and this.room > 1 and run.drafter != PLAIN:
                nothing.append(this)
    total = len(nothing) + sum(map(len, cases.values()))
    found = [
        Failure(kind, KINDS[kind], rate(len(some), total), examples_of(some)) for kind, some in cases.items() if some
    ]
    if nothing:
        found.append(Failure(NOTHING, KINDS[NOTHING], rate(len(nothing), total), tuple(map(_at, nothing[:EXAMPLES]))))
    return tuple(sorted(found, key=lambda failure: -failure.share.hits))


def _kind_of(candidate: Candidate) -> str:
    return next(kind for kind, (_, fits) in _TESTS.items() if fits(candidate))


def _same_start(drafted: str, wanted: str) -> bool:
    """Whether one of two words begins with the other, spaces and capitals aside."""
    one, other = drafted.strip().casefold(), wanted.strip().casefold()
    return bool(one and other) and (one.startswith(other) or other.startswith(one))


def _at(this: RoundFacts) -> Example:
    return Example(this.run, this.index, None, this.position, this.context, "", this.last)
