"""What the drafter and the verifier of an asynchronous run see of each other: two texts, two counters and a limit.

Only the drafter writes the draft, only the verifier what is verified and how far may be drafted. A payload is written
before the length that announces it, so that a reader never meets an unwritten token; and whatever a reader meets can
only cost time, because the verifier compares the whole draft with its own text before it takes a token from it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence


class Board(ABC):
    """Texts by absolute position, prompt included."""

    @abstractmethod
    def verified_length(self) -> int: ...

    @abstractmethod
    def verified(self, start: int, stop: int) -> list[int]: ...

    @abstractmethod
    def append_verified(self, tokens: Sequence[int]) -> None:
        """Payload, then length."""

    @abstractmethod
    def draft_length(self) -> int: ...

    @abstractmethod
    def draft(self, start: int, stop: int) -> list[int]: ...

    @abstractmethod
    def write_draft(self, start: int, tokens: Sequence[int]) -> None:
        """Payload at `start`, then the length start + len(tokens)."""

    @abstractmethod
    def rollbacks_asked(self) -> int: ...

    @abstractmethod
    def ask_rollback(self) -> None:
        """By the verifier, before it publishes the text that makes the draft wrong."""

    @abstractmethod
    def rollbacks_done(self) -> int: ...

    @abstractmethod
    def answer_rollbacks(self, asked: int) -> None:
        """By the drafter: so many were asked for when it last compared its text."""

    @abstractmethod
    def limit(self) -> int:
        """A draft may make the text no longer than this."""

    @abstractmethod
    def allow(self, limit: int) -> None:
        """By the verifier."""

    @abstractmethod
    def is_over(self) -> bool: ...

    @abstractmethod
    def end(self) -> None:
        """By the verifier: the text is complete."""


class LocalBoard(Board):
    """Both machines in one process: simulations and tests."""

    def __init__(self, prompt: Sequence[int]) -> None:
        self._verified, self._draft = list(prompt), list(prompt)
        self._asked = self._done = self._limit = 0
        self._over = False
        self.changes = 0
        """counts everything written: two machines that wait while nothing changes wait for ever"""

    def verified_length(self) -> int:
        return len(self._verified)

    def verified(self, start: int, stop: int) -> list[int]:
        return self._verified[start:stop]

    def append_verified(self, tokens: Sequence[int]) -> None:
        self._verified += tokens
        self.changes += 1

    def draft_length(self) -> int:
        return len(self._draft)

    def draft(self, start: int, stop: int) -> list[int]:
        return self._draft[start:stop]

    def write_draft(self, start: int, tokens: Sequence[int]) -> None:
        self._draft[start:] = tokens
        self.changes += 1

    def rollbacks_asked(self) -> int:
        return self._asked

    def ask_rollback(self) -> None:
        self._asked += 1
        self.changes += 1

    def rollbacks_done(self) -> int:
        return self._done

    def answer_rollbacks(self, asked: int) -> None:
        if asked != self._done:
            self._done = asked
            self.changes += 1

    def limit(self) -> int:
        return self._limit

    def allow(self, limit: int) -> None:
        if limit != self._limit:
            self._limit = limit
            self.changes += 1

    def is_over(self) -> bool:
        return self._over

    def end(self) -> None:
        self._over = True
        self.changes += 1
