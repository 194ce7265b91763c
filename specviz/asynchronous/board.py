"""What the drafter and the verifier of an asynchronous run see of each other: two texts, two counters and a limit.

Only the drafter writes the draft, only the verifier what is verified and how far may be drafted. A payload is written
before the length that announces it, so that a reader never meets an unwritten token; and whatever a reader meets can
only cost time, because the verifier compares the whole draft with its own text before it takes a token from it.

The board in memory that two processes share also holds the engine's clock and what the drafter's model believes. Each
word has one writer: the verifier writes the verified text, its length, the rollbacks asked for, the limit, the clock
and the end, the drafter the draft, its length, the model's rows, how much of a draft was ready for a verdict, and the
rollbacks done. The processors this runs on
(x86-64, and ARM64 through the locks around every event) keep the order of a payload and its length, and a reader that
met an older length or a torn draft would only lose time, because the target's own answers decide.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import MutableSequence, Sequence
from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np
import numpy.typing as npt

NONE_YET = -1


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
    def hand_over(self, ready: int) -> None:
        """By the drafter, of a verdict that it meets: so many tokens of the draft that follows are there already."""

    @abstractmethod
    def handed_over(self) -> int:
        """How many were, at the last verdict; `NONE_YET` before the first."""

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
        self._ready = NONE_YET
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

    def hand_over(self, ready: int) -> None:
        self._ready = ready
        self.changes += 1

    def handed_over(self) -> int:
        return self._ready

    def is_over(self) -> bool:
        return self._over

    def end(self) -> None:
        self._over = True
        self.changes += 1


Row = npt.NDArray[np.float32]
WORDS = 9
VERIFIED, DRAFT, ASKED, DONE, OVER, LIMIT, READY, CLOCK = range(8)
"""words of the header; the clock has two"""


@dataclass(frozen=True, slots=True)
class Size:
    """What a board has room for."""

    tokens: int
    """of a text"""
    rows: int = 0
    """of the drafter's model that are kept; a later one takes the place of an earlier one"""
    width: int = 0
    """numbers in a row: the vocabulary"""

    @property
    def bytes(self) -> int:
        return 8 * (WORDS + 2 * self.tokens) + 4 * self.rows * self.width


class SharedBoard(Board):
    """Header of nine 64-bit words, then room for two texts, then for the model's rows."""

    def __init__(self, memory: SharedMemory, size: Size) -> None:
        self.memory = memory
        self.size = size
        words = np.ndarray((WORDS + 2 * size.tokens,), dtype=np.int64, buffer=memory.buf)
        self._head, self._verified, self._draft = np.split(words, [WORDS, WORDS + size.tokens])
        self._rows = np.ndarray((size.rows, size.width), dtype=np.float32, buffer=memory.buf, offset=words.nbytes)
        self.clock = EngineClock(self._head[CLOCK:])

    @classmethod
    def create(cls, prompt: Sequence[int], size: Size) -> SharedBoard:
        """A new board that begins with the prompt; whoever makes it ends it with `unlink`."""
        memory = SharedMemory(create=True, size=size.bytes)
        board = cls(memory, size)
        board._head[:] = 0
        board._verified[: len(prompt)] = board._draft[: len(prompt)] = prompt
        board._head[READY] = NONE_YET
        board._head[VERIFIED] = board._head[DRAFT] = len(prompt)
        return board

    @classmethod
    def join(cls, name: str, size: Size) -> SharedBoard:
        """The board of another process."""
        return cls(SharedMemory(name), size)

    def close(self, unlink: bool = False) -> None:
        """Let go of the memory; its maker also removes it."""
        del self._head, self._verified, self._draft, self._rows, self.clock
        self.memory.close()
        if unlink:
            self.memory.unlink()

    def verified_length(self) -> int:
        return int(self._head[VERIFIED])

    def verified(self, start: int, stop: int) -> list[int]:
        found: list[int] = self._verified[start:stop].tolist()
        return found

    def append_verified(self, tokens: Sequence[int]) -> None:
        """What has no room is left out: a board is made as long as the drafter can read."""
        length = self.verified_length()
        tokens = tokens[: self.size.tokens - length]
        self._verified[length : length + len(tokens)] = tokens
        self._head[VERIFIED] = length + len(tokens)

    def draft_length(self) -> int:
        return int(self._head[DRAFT])

    def draft(self, start: int, stop: int) -> list[int]:
        found: list[int] = self._draft[start:stop].tolist()
        return found

    def write_draft(self, start: int, tokens: Sequence[int]) -> None:
        self._draft[start : start + len(tokens)] = tokens
        self._head[DRAFT] = start + len(tokens)

    def rollbacks_asked(self) -> int:
        return int(self._head[ASKED])

    def ask_rollback(self) -> None:
        self._head[ASKED] += 1

    def rollbacks_done(self) -> int:
        return int(self._head[DONE])

    def answer_rollbacks(self, asked: int) -> None:
        self._head[DONE] = asked

    def limit(self) -> int:
        return int(self._head[LIMIT])

    def allow(self, limit: int) -> None:
        self._head[LIMIT] = limit

    def hand_over(self, ready: int) -> None:
        self._head[READY] = ready

    def handed_over(self) -> int:
        return int(self._head[READY])

    def write_row(self, length: int, row: Row) -> None:
        """What the drafter's model says follows a text of this length; before the token drafted from it."""
        if self.size.rows:
            self._rows[length % self.size.rows] = row

    def row(self, length: int) -> Row:
        """A copy [width] of the row written last for a text of this length, or of one that took its place."""
        return np.array(self._rows[length % self.size.rows])

    def is_over(self) -> bool:
        return bool(self._head[OVER])

    def end(self) -> None:
        self._head[OVER] = 1


BILLION = 1_000_000_000
RUNNING = -1
STOPPED, OFFSET = range(2)


class EngineClock:
    """The engine's clock as two processes read it: it runs while a round does, and stands still between rounds.

    What a drafter does while it stands still (a trace is written, a page drawn, another run takes its turn) would be
    drafted for nothing. Written by the target's side alone.

    Two words of 64 bits, in memory that both sides see: where it stands (`RUNNING` while it runs), and by how much the
    machine's own clock is ahead of it; nanoseconds."""

    def __init__(self, words: MutableSequence[int] | Any) -> None:
        """`words`: two of them, zero at first, for a clock that stands at 0."""
        self._words = words

    def run(self, at_s: float) -> None:
        """From now on, beginning at this time."""
        self._words[OFFSET] = time.perf_counter_ns() - round(at_s * BILLION)
        self._words[STOPPED] = RUNNING

    def stop(self) -> None:
        if self.is_running:
            self._words[STOPPED] = time.perf_counter_ns() - int(self._words[OFFSET])

    @property
    def is_running(self) -> bool:
        return int(self._words[STOPPED]) == RUNNING

    def now(self) -> float:
        """Seconds."""
        stopped = int(self._words[STOPPED])
        return (time.perf_counter_ns() - int(self._words[OFFSET]) if stopped == RUNNING else stopped) / BILLION
