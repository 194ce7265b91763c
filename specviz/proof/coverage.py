"""What a walk saw of each kind of candidate: an error of zero says nothing about candidates that nobody judged.

    declared kinds ─┐
    prompts ─► walk ─► what was drafted, tried, accepted, rejected ─► what is missing; none, or the method is not proved

A method is walked on one prompt after the other until every kind of candidate it declares was tried, accepted and
rejected.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Literal

from specviz.engine.session import RoundRecord
from specviz.proof.exhaustive import ProofCase, Text, distance, drafter_of
from specviz.trace.events import CandidateKind

REPEATING = (0, 1, 2, 0, 1, 0, 0, 1)
"""a drafter that looks the text's end up in the text finds it here, more than once and differently continued"""
Event = Literal["tried", "accepted", "rejected"]
EVENTS: tuple[Event, ...] = ("tried", "accepted", "rejected")


@dataclass(slots=True)
class Seen:
    """What happened in a walk, over all branches of all rounds."""

    rounds: float = 0.0
    """expected number of rounds, over all walks"""
    candidates: float = 0.0
    """expected number of candidates drafted in them"""
    drafted: set[CandidateKind] = field(default_factory=set)
    happened: set[tuple[CandidateKind, Event]] = field(default_factory=set)

    def note(self, record: RoundRecord, weight: float) -> None:
        """Take down a round that happens with probability `weight`. Nodes that ride along are no candidates."""
        kinds = {node: record.proposal.tree.kinds[node] for node in record.proposal.candidates}
        self.rounds += weight
        self.candidates += weight * len(kinds)
        self.drafted.update(kinds.values())
        for trial in (one for one in record.verdict.trials if one.node in kinds):
            self.happened.add((kinds[trial.node], "tried"))
            if not trial.accepted:
                self.happened.add((kinds[trial.node], "rejected"))
        self.happened.update((kinds[node], "accepted") for node in record.verdict.path if node in kinds)

    @property
    def per_round(self) -> float:
        """Candidates drafted per round, in the mean over all branches."""
        return self.candidates / self.rounds


@dataclass(frozen=True, slots=True)
class Proof:
    """What the walks of one method over several prompts found."""

    error: float
    """largest difference in the probability of one text, over all prompts"""
    total_variation: float
    """largest over all prompts"""
    per_round: float
    """candidates drafted per round"""
    prompts: int
    missing: tuple[str, ...]
    """what the walks did not show; empty, or the method is not proved, however small its error"""


def prompts(vocab_size: int) -> Iterator[Text]:
    """Texts that repeat themselves, so that one can copy from them: one, and the same with every pair of tokens."""
    begin = tuple(token % vocab_size for token in REPEATING)
    yield begin
    for pair in product(range(vocab_size), repeat=2):
        yield (*begin, *pair)


def declared(case: ProofCase) -> frozenset[CandidateKind]:
    """The kinds of candidates that the case's drafter and tree policy say they draw; empty for plain decoding."""
    return drafter_of(case).kinds(case.sampling)


def prove(case: ProofCase) -> Proof:
    """Walk the case on as many prompts as it takes to see each declared kind tried, accepted and rejected."""
    seen, walked, error, total_variation = Seen(), 0, 0.0, 0.0
    for prompt in prompts(case.vocab_size):
        found = distance(replace(case, prompt=prompt), watch=seen.note)
        walked += 1
        error, total_variation = max(error, found.error), max(total_variation, found.total_variation)
        if not missing(case, seen):
            break
    return Proof(error, total_variation, seen.per_round, walked, missing(case, seen))


def missing(case: ProofCase, seen: Seen) -> tuple[str, ...]:
    """What was not seen of the candidates that the case declares, in words; undeclared ones the session refuses."""
    found = []
    for kind in sorted(declared(case)):
        if kind not in seen.drafted:
            found.append(f"{kind} never drafted")
        else:
            found += [f"{kind} never {event}" for event in EVENTS if (kind, event) not in seen.happened]
    return tuple(found)
