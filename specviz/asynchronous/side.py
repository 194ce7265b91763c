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
from specviz.asynchronous.foresight import Plan, drafting
from specviz.asynchronous.machines import Branches, Chosen, Draft, Likeliest, RolledBack, Wait, after, shared
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
        self._rows: dict[tuple[int, ...], int] = {}
        """continuation that was read beside the text → its row"""

    @torch.inference_mode()
    def logits(self, text: Sequence[int], tail: Sequence[int] = ()) -> Tensor:
        """What it believes follows `text` and each token of `tail`, from one pass: [len(tail) + 1, V]."""
        whole = [*text, *tail]
        known = min(shared(self._cache.tokens[: self._cache.base], whole), len(text) - 1)
        self._rows = {}
        if known < self._cache.length:
            self._cache.truncate(known)
        logits = self.model.forward(whole[known:], self._cache)[len(text) - 1 - known :, : self.model.info.vocab_size]
        self._cache.keep(range(known, len(whole)))
        return logits

    @torch.inference_mode()
    def branches(self, text: Sequence[int], paths: Sequence[Sequence[int]]) -> Tensor:
        """What it believes follows `text` and each of the paths, from one pass over their last tokens: [paths, V]. All
        before the last was read: in the text that `logits` was asked about before, or in the last call of this."""
        assert self._cache.tokens[: len(text)] == list(text), "the text before the branches was not read."
        spine, first = self._cache.tokens[len(text) : self._cache.base], self._cache.length
        parents = [
            len(text) + len(path) - 2 if list(path[:-1]) == spine[: len(path) - 1] else self._rows[tuple(path[:-1])]
            for path in paths
        ]
        logits = self.model.forward([path[-1] for path in paths], self._cache, parents)
        self._rows = {tuple(path): first + index for index, path in enumerate(paths)}
        return logits[:, : self.model.info.vocab_size]


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

    def go(self, draws: Draws, plan: Plan | None = None) -> None:
        """Draft from now on, while the clock runs; with a plan for verdicts to come."""
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


class Drawer:
    """The drafter's model at one text: what its machine wants of it, and what it believed there."""

    def __init__(self, reader: Reader, draws: Draws) -> None:
        self._reader, self._draws = reader, draws
        self._said: dict[int, Tensor] = {}
        """length of the text → what follows it [V], as far back as a draft goes"""
        self._behind: dict[tuple[int, ...], Tensor] = {}
        """branch with the text before it → the same"""

    def drawn(self, want: Draft | Branches) -> list[int]:
        """The tokens that are wanted, from one pass."""
        if isinstance(want, Draft):
            rows = self._reader.logits(want.text)
            self._said[len(want.text)] = rows[0]
            return self._draws.tokens(rows, len(want.text))
        rows, tokens = self._reader.branches(want.text, want.paths), list[int]()
        for path, row in zip(want.paths, rows, strict=True):
            self._behind[*want.text, *path] = row
            tokens += self._draws.tokens(row.unsqueeze(0), len(want.text) + len(path))
        return tokens

    def likeliest(self, want: Likeliest) -> list[int]:
        """See `Likeliest`; what was believed of other texts is forgotten."""
        start, found = len(want.text), list[int]()
        self._said = {length: row for length, row in self._said.items() if length >= start}
        self._behind = {}
        count = min(want.count, self._reader.model.info.vocab_size - 1)
        for index, drawn in enumerate(want.drawn):
            ranked = self._said[start + index].topk(count + 1).indices.tolist()
            found += [token for token in ranked if token != drawn][:count]
        return found

    def choose(self, want: Chosen) -> list[int]:
        """The lengths at which something is believed from now on: those of the branch."""
        lengths = range(len(want.text), len(want.text) + len(want.tokens))
        for length in lengths:
            self._said[length] = self._behind[*want.text, *want.tokens[: length - len(want.text)]]
        return list(lengths)

    def row(self, length: int) -> Row:
        """[V] after a text of this length."""
        numbers: Row = np.asarray(self._said[length].float().cpu())
        return numbers


class SameProcess:
    """Drafts in the target's process, when it is waited for and before each of the target's passes: the same protocol
    with nothing going on at the same time, and so the same candidates every time."""

    def __init__(self, model: LanguageModel, prompt: Sequence[int], per_pass: int) -> None:
        """Reads the prompt. `per_pass`: passes of the drafter for each of the target's, where the board allows so
        many."""
        self.board: Board = LocalBoard(prompt)
        self.clock = EngineClock([0, 0])
        self.is_drafting = True
        self._reader = Reader(model)
        self._per_pass = per_pass
        self._rows: dict[int, Row] = {}
        self._spans: list[Span] = []
        if len(prompt) > 1:
            self._reader.logits(prompt[:-1])

    def go(self, draws: Draws, plan: Plan | None = None) -> None:
        self._drawer = Drawer(self._reader, draws)
        self._machine = drafting(self.board, plan)
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
        """So many passes, or as many as the board allows."""
        if isinstance(self._want, Draft | Branches):  # of a text that may have changed since
            self._go_on(None)
        while count and self._want is not None:
            want, answer, start = self._want, None, self.clock.now()
            if isinstance(want, Draft | Branches):
                answer = self._drawer.drawn(want)
                if isinstance(want, Draft):
                    self._publish([len(want.text)])
                self._spans.append(Span(DRAFT, "draft", start, self.clock.now(), len(answer)))
                count -= 1
            elif isinstance(want, Likeliest):
                answer = self._drawer.likeliest(want)
            elif isinstance(want, Chosen):
                self._publish(self._drawer.choose(want))
            elif isinstance(want, RolledBack) and want.tokens:
                self._spans.append(Span(DRAFT, "roll back", start, start, want.tokens))
            self._go_on(answer)
            if isinstance(self._want, Wait) and isinstance(want, Wait):
                return

    def _publish(self, lengths: Sequence[int]) -> None:
        self._rows |= {length: self._drawer.row(length) for length in lengths}

    def _go_on(self, answer: list[int] | None) -> None:
        self._want = after(self._machine, answer)
