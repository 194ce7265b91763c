"""Rounds that a reader wants to step through, found by what happened in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from specviz.theory.analysis.facts import RoundFacts

SURPRISING = 6.0
"""bits: the drafter gave the token less than 1 in 64"""

Pattern = Callable[[RoundFacts, float], bool]

PATTERNS: Mapping[str, tuple[str, Pattern]] = {
    "rejected at depth 1": (
        "the first place already failed",
        lambda this, bits: this.failed_at == 1,
    ),
    "saved by a sibling": (
        "a candidate was rejected and a sibling of it accepted",
        lambda this, bits: this.saved_by_sibling,
    ),
    "surprise": (
        "the drafter gave the token that ended the round less than 1 in 2^bits",
        lambda this, bits: this.surprise_bits is not None and this.surprise_bits > bits,
    ),
    "all accepted": (
        "a whole path was accepted",
        lambda this, bits: this.drafted > 0 and this.accepted > 0 and this.accepted == this.deepest,
    ),
    "nothing accepted": (
        "candidates were drafted and none was accepted",
        lambda this, bits: this.drafted > 0 and this.accepted == 0,
    ),
    "nothing drafted": (
        "the drafter had nothing to propose",
        lambda this, bits: this.drafted == 0 and this.origin == "target",
    ),
}
"""name → (what it finds, whether a round is such a one); the second argument is the bits of `surprise` alone"""


def matching(rounds: Iterable[RoundFacts], pattern: str, bits: float = SURPRISING) -> list[RoundFacts]:
    """The rounds of a pattern, in order. Raises KeyError for a pattern that is not in PATTERNS."""
    _, fits = PATTERNS[pattern]
    return [this for this in rounds if fits(this, bits)]
