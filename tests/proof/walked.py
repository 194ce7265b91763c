"""Exact numbers of a proof's case, by walking its branches."""

from collections.abc import Callable

from specviz.core.randomness import SeededRandom
from specviz.engine.session import RoundRecord
from specviz.proof.exhaustive import ProofCase, branches, distance, session_of


def error(case: ProofCase, merged: bool = True) -> float:
    """Largest difference between the engine's law and the target's, over all texts."""
    return distance(case, merged).error


def accepted(record: RoundRecord) -> int:
    """How many candidates the round keeps."""
    return len(record.verdict.path)


def expectation(case: ProofCase, count: Callable[[RoundRecord], float] = accepted) -> float:
    """Of a number that the first round's record gives, exactly."""
    return sum(branch.weight * count(branch.records[0]) for branch in branches(case, (), 0))


def text(case: ProofCase, seed: int) -> list[int]:
    """What the engine writes after the prompt with the random numbers of this seed."""
    session = session_of(case, SeededRandom(seed))
    session.begin()
    while session.finished is None:
        session.round()
    return session.tokens[len(case.prompt) :]
