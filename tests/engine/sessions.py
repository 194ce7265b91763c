"""A text decoded to its end: what most tests of drafters and rounds begin with."""

from collections.abc import Sequence
from typing import Any

from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.engine.session import Method, RoundRecord, Session, Start
from specviz.engine.termination import Ending, Limits
from specviz.verifiers.base import VERIFIERS


def session(
    target: Any,
    drafter: Any,
    prompt: Sequence[int],
    new_tokens: int = 24,
    temperature: float = 0.0,
    verifier: str = "sequential",
) -> Session:
    """Not begun yet; nothing but its length ends the text."""
    method = Method(drafter, VERIFIERS.get(verifier).of({}), Sampling(temperature), SeededRandom(3))
    return Session(target, method, Start(list(prompt)), Ending(Limits(new_tokens), lambda token: b""))


def decoded(*given: Any, **settings: Any) -> tuple[Session, list[RoundRecord]]:
    """A session with these arguments at its end, and its rounds."""
    whole, records = session(*given, **settings), list[RoundRecord]()
    whole.begin()
    while whole.finished is None:
        records.append(whole.round())
    return whole, records
