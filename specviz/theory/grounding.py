"""Acceptance split by what decides a token: the picture, or the grammar of captions.

Counted are the places of the text where a candidate was judged: the draft's token came out (accepted), or the target
put another in its place (a correction). Which kind a place is follows from the token that came out there. Tokens that
nobody guessed at, bonus tokens and those of rounds without a draft, count nowhere.

Question and expectation: Gagrani et al. 2404.08856, who tell no such count.
"""

from __future__ import annotations

from dataclasses import dataclass

from specviz.trace.events import Trace


@dataclass(frozen=True, slots=True)
class Judged:
    """Places of one kind."""

    accepted: int = 0
    judged: int = 0

    @property
    def rate(self) -> float | None:
        """Share accepted; None where nothing was judged."""
        return self.accepted / self.judged if self.judged else None

    def __add__(self, other: Judged) -> Judged:
        return Judged(self.accepted + other.accepted, self.judged + other.judged)


@dataclass(frozen=True, slots=True)
class Split:
    """Both kinds of one or several runs."""

    grammar: Judged = Judged()
    grounded: Judged = Judged()

    def __add__(self, other: Split) -> Split:
        return Split(self.grammar + other.grammar, self.grounded + other.grounded)


def split(trace: Trace) -> Split:
    """Of a run whose target saw a picture; of any other all places are grammar."""
    decided = frozenset(trace.started.scene.grounded) if trace.started.scene is not None else frozenset()
    found = Split()
    for this in trace.rounds:
        for one in this.committed.tokens:
            if one.origin in ("draft", "correction"):
                place = Judged(int(one.origin == "draft"), 1)
                found += Split(grounded=place) if one.token in decided else Split(grammar=place)
    return found
