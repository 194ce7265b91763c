"""The drafter's side of an asynchronous run, as the target's side sees it, whichever process it drafts in.

begin(prompt) ─► go(draws) ─► the target's machine reads the board, waits, and looks at rows and spans ─► close

Both sides ask a model about one text after another, each mostly the text before: only what is new is read. The same
noise belongs to a position whoever asks: so a text is the target's own sample with this seed, token for token that of
plain decoding with the verifier `naive`, and a drafter that looks at that noise agrees as often as it can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from specviz.asynchronous.board import Board, EngineClock, LocalBoard, Row
from specviz.asynchronous.machines import Draft, RolledBack, Wait, after, drafter, shared
from specviz.core.randomness import RandomSource
from specviz.core.sampling import Sampling, transform
from specviz.lm.base import LanguageModel
from specviz.protocol.lanes import DRAFT, Span


@dataclass(frozen=True, slots=True)
class Draws:
    """How a token is drawn from what a model says."""

    sampling: Sampling
    randomness: RandomSource
    noise: str = "target"
    """purpose of the keys, as in `DraftContext.noise`"""

    def tokens(self, logits: Tensor, position: int) -> list[int]:
        """One for each row [n, V]; the first stands at `position` of the text, prompt included."""
        if self.sampling.greedy:
            best: list[int] = logits.argmax(-1).tolist()
            return best
        rows = enumerate(transform(logits, self.sampling), start=position)
        return [self.randomness.peek(row, (self.noise, place, 0)) for place, row in rows]


class Reader:
    """One model with one cache."""

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self._cache = model.new_cache()

    @torch.inference_mode()
    def logits(self, text: Sequence[int], tail: Sequence[int] = ()) -> Tensor:
        """What it believes follows `text` and each token of `tail`, from one pass: [len(tail) + 1, V]."""
        whole = [*text, *tail]
        known = min(shared(self._cache.tokens, whole), len(text) - 1)
        if known < self._cache.length:
            self._cache.truncate(known)
        logits = self.model.forward(whole[known:], self._cache)[len(text) - 1 - known :, : self.model.info.vocab_size]
        self._cache.keep(range(known, len(whole)))
        return logits


class Speaker:
    """A reader that also draws."""

    def __init__(self, model: LanguageModel, draws: Draws) -> None:
        self._reader = Reader(model)
        self._draws = draws

    def next_tokens(self, text: Sequence[int], count: int) -> list[int]:
        """The next `count` tokens after `text`, each read before the next."""
        grown = list(text)
        for _ in range(count):
            grown += self.answers(grown, [])
        return grown[len(text) :]

    def answers(self, text: Sequence[int], tail: Sequence[int]) -> list[int]:
        """What it says at the end of `text` and after each token of `tail`, from one pass: len(tail) + 1 tokens."""
        return self._draws.tokens(self._reader.logits(text, tail), len(text))


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
