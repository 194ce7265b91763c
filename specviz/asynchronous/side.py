"""The drafter's side of an asynchronous run, as the target's side sees it, whichever process it drafts in.

begin(prompt) ─► go(draws) ─► the target's machine reads the board, waits, and looks at rows and spans ─► close
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from specviz.asynchronous.board import Board, EngineClock, LocalBoard, Row
from specviz.asynchronous.machines import Draft, RolledBack, Wait, after, drafter
from specviz.asynchronous.reader import Draws, Reader
from specviz.lm.base import LanguageModel
from specviz.protocol.lanes import DRAFT, Span


class DraftingSide(Protocol):
    """One text."""

    @property
    def board(self) -> Board: ...

    @property
    def clock(self) -> EngineClock: ...

    @property
    def is_drafting(self) -> bool:
        """Whether a draft can still be waited for."""
        ...

    def go(self, draws: Draws) -> None:
        """Draft from now on, while the clock runs."""
        ...

    def wait(self) -> None:
        """For something new on the board, or for a moment."""
        ...

    def tell(self) -> None:
        """The board or the clock has changed."""
        ...

    def overlap(self) -> None:
        """The target's pass begins."""
        ...

    def row(self, length: int) -> Row:
        """What the model said [V] after a text of this length, from which the draft's token there was drawn."""
        ...

    def spans(self) -> list[Span]:
        """What ended since this was last asked."""
        ...

    def close(self) -> None:
        """The text is over."""
        ...


class SameProcess:
    """Drafts in the target's process, when it is waited for and before each of the target's passes: the same protocol
    with nothing going on at the same time, and so the same candidates every time."""

    def __init__(self, model: LanguageModel, prompt: Sequence[int], per_pass: int) -> None:
        """Reads the prompt. `per_pass`: tokens drafted for each pass of the target, where the board allows so many."""
        self.board: Board = LocalBoard(prompt)
        self.clock = EngineClock([0, 0])
        self.is_drafting = True
        self._reader = Reader(model)
        self._per_pass = per_pass
        self._rows: dict[int, Row] = {}
        self._spans: list[Span] = []
        if len(prompt) > 1:
            self._reader.logits(prompt[:-1])

    def go(self, draws: Draws) -> None:
        self._draws = draws
        self._machine = drafter(self.board)
        self._go_on(None)

    def wait(self) -> None:
        """Draft one token, which is what is waited for."""
        self._draft(1)

    def tell(self) -> None:
        pass

    def overlap(self) -> None:
        self._draft(self._per_pass)

    def row(self, length: int) -> Row:
        return self._rows[length]

    def spans(self) -> list[Span]:
        found, self._spans = self._spans, []
        return found

    def close(self) -> None:
        self.board.end()

    def _draft(self, count: int) -> None:
        """So many tokens, or as many as the board allows."""
        if isinstance(self._want, Draft):  # of a text that may have changed since
            self._go_on(None)
        while count and self._want is not None:
            answer, start = None, self.clock.now()
            if isinstance(self._want, Draft):
                row = self._reader.logits(self._want.text)
                answer = self._draws.tokens(row, len(self._want.text))
                self._rows[len(self._want.text)] = np.asarray(row[0].float().cpu())
                self._spans.append(Span(DRAFT, "draft", start, self.clock.now(), 1))
                count -= 1
            elif isinstance(self._want, RolledBack) and self._want.tokens:
                self._spans.append(Span(DRAFT, "roll back", start, start, self._want.tokens))
            self._go_on(answer)
            if isinstance(self._want, Wait) and answer is None:
                return

    def _go_on(self, answer: list[int] | None) -> None:
        self._want = after(self._machine, answer)
