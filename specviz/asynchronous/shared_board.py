"""The board in memory that two processes share.

One writer for each word: the verifier writes the verified text, its length, the rollbacks asked for and the end, the
drafter the draft, its length and the rollbacks done. A length is stored after its payload; the processors this runs on
(x86-64, and ARM64 through the locks around every event) keep that order, and a reader that met an older length or a
torn draft would only lose time, because the target's own answers decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from multiprocessing.shared_memory import SharedMemory

import numpy as np

from specviz.asynchronous.board import Board

WORDS = 8
VERIFIED, DRAFT, ASKED, DONE, OVER = range(5)


class SharedBoard(Board):
    """Header of eight 64-bit words, then room for two texts of `room` tokens."""

    def __init__(self, memory: SharedMemory, room: int) -> None:
        self.memory = memory
        self.room = room
        words = np.ndarray((WORDS + 2 * room,), dtype=np.int64, buffer=memory.buf)
        self._head, self._verified, self._draft = np.split(words, [WORDS, WORDS + room])

    @classmethod
    def create(cls, prompt: Sequence[int], room: int) -> SharedBoard:
        """A new board that begins with the prompt; whoever makes it ends it with `unlink`."""
        memory = SharedMemory(create=True, size=8 * (WORDS + 2 * room))
        board = cls(memory, room)
        board._head[:] = 0
        board._verified[: len(prompt)] = board._draft[: len(prompt)] = prompt
        board._head[VERIFIED] = board._head[DRAFT] = len(prompt)
        return board

    @classmethod
    def join(cls, name: str, room: int) -> SharedBoard:
        """The board of another process."""
        return cls(SharedMemory(name), room)

    def close(self, unlink: bool = False) -> None:
        """Let go of the memory; its maker also removes it."""
        del self._head, self._verified, self._draft
        self.memory.close()
        if unlink:
            self.memory.unlink()

    def verified_length(self) -> int:
        return int(self._head[VERIFIED])

    def verified(self, start: int, stop: int) -> list[int]:
        found: list[int] = self._verified[start:stop].tolist()
        return found

    def append_verified(self, tokens: Sequence[int]) -> None:
        length = self.verified_length()
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

    def is_over(self) -> bool:
        return bool(self._head[OVER])

    def end(self) -> None:
        self._head[OVER] = 1
