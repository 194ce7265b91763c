"""Rows that wait for the compiled sweep (`measured.c`), and what it says of them.

    rows of several rounds ─► one call ─► ids, probabilities and numbers, as arrays ─► heads, once somebody reads them

Place in the flow: `measured` asks and hands the answers on.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import torch
from torch import Tensor

from specviz.frozen import frozen
from specviz.trace.events import Agreement, TopK

LANES = 16
"""numbers in the widest vector that the compiled sweep uses: its room is made for whole ones"""
NOTHING, HEAD, PROBABILITIES, LOGITS, BELIEFS = range(5)
"""what is to be told of a row, as `measured.c` names it: ranks alone, the head of probabilities, head and entropy as
what it holds, or those of logits whose head nobody is shown"""
NUMBERS = 5
"""of a row: what its head leaves, bits, those of the draft's, divergence, overlap"""


@frozen
class Swept:
    """Of one round, per node."""

    targets: list[TopK]
    drafts: dict[int, TopK]
    """at the nodes that have a row of the drafter's"""
    agreements: Sequence[Agreement | None]


class _Asked(ctypes.Structure):
    """As `measured.c` declares it."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("n", "vocab", "top", "count")),
        *((name, ctypes.c_void_p) for name in ("rows", "kinds", "drafts", "logits", "row_of", "tokens")),
        *((name, ctypes.c_void_p) for name in ("ids", "shown", "ranks", "scales", "probs", "numbers", "room")),
        *((name, ctypes.c_void_p) for name in ("named", "fresh", "fresh_until")),
    )


@dataclass(slots=True)
class _Answers:
    """Of n rows, as the compiled sweep leaves them; their heads are formed by whoever asks for them first."""

    top: int
    ids: array[int]
    shown: array[int]
    probs: array[float]
    numbers: array[float]
    """NUMBERS of each row"""
    ranks: list[int]
    """in the order in which they were asked for"""
    fresh: array[int]
    fresh_until: array[int]
    _heads: list[TopK] | None = None

    @property
    def heads(self) -> list[TopK]:
        """Of all rows."""
        if self._heads is None:
            tokens, probs, rests = self.ids.tolist(), self.probs.tolist(), self.numbers[::NUMBERS]
            starts = range(0, len(tokens), self.top)
            self._heads = [
                TopK(tokens[at : at + many], probs[at : at + many], rest)
                for at, many, rest in zip(starts, self.shown, rests, strict=True)
            ]
        return self._heads


class Waiting:
    """Rows of one vocabulary that wait for the compiled sweep, held until then."""

    def __init__(self, compiled: ctypes.CDLL, vocab: int, top: int, named: array[int]) -> None:
        self.vocab = vocab
        self._named = named
        self._compiled, self._top = compiled, top
        self._blocks: dict[int, tuple[Tensor, int]] = {}
        """by their ids: each tensor, and which row its first is"""
        self._rows: list[int] = []
        self._kinds: list[int] = []
        self._drafts: list[int] = []
        self._logits: list[int] = []
        self._scales: list[float] = []
        self._row_of: list[int] = []
        self._tokens: list[int] = []
        self._answers: _Answers | None = None

    @property
    def seen(self) -> bool:
        """Whether it is over: whoever asks now waits elsewhere."""
        return self._answers is not None

    @property
    def rows(self) -> int:
        """How many wait."""
        return len(self._rows)

    def add(self, blocks: Sequence[Tensor], kind: int) -> int | None:
        """The number of their first row; None where not all of them lie as the compiled sweep reads them."""
        plain = [addresses for addresses in map(_addresses, blocks) if addresses is not None]
        if len(plain) < len(blocks):
            return None
        first = at = len(self._rows)
        for block, addresses in zip(blocks, plain, strict=True):
            self._blocks[id(block)] = block, at
            self._rows += addresses
            at += len(addresses)
        unknown = [-1] * (at - first)
        self._kinds += [kind] * (at - first)
        self._drafts += unknown
        self._logits += unknown
        self._scales += [1.0] * (at - first)
        return first

    def compare(self, first: int, nodes: int, asked: Sequence[int], made_of: tuple[Tensor, float] | None) -> None:
        """The target's rows from `first` on with the drafter's behind them, in the order of `asked`; `made_of` see
        `Sweep.ask`."""
        for row, node in enumerate(asked, start=first + nodes):
            self._drafts[first + node] = row
        known = None if made_of is None else self._blocks.get(id(made_of[0]))
        if made_of is not None and known is not None:
            self._logits[first : first + nodes] = range(known[1], known[1] + nodes)
            self._scales[first : first + nodes] = [1 / made_of[1]] * nodes

    def rank(self, logits: Tensor, parents: Sequence[int], tokens: Sequence[int]) -> int | None:
        """The number of the first rank; None where the rows do not lie as the compiled sweep reads them."""
        known, at = self._blocks.get(id(logits)), len(self._tokens)
        first = self.add([logits], NOTHING) if known is None else known[1]
        if first is None:
            return None
        self._row_of += [first + parent for parent in parents]
        self._tokens += tokens
        return at

    @property
    def answers(self) -> _Answers:
        """All, at the first question."""
        if self._answers is None:
            self._answers = self._swept()
            self._blocks.clear()
        return self._answers

    def head(self, row: int) -> TopK:
        """Of this row alone."""
        answers = self.answers
        start, end = row * answers.top, row * answers.top + answers.shown[row]
        return TopK(answers.ids[start:end].tolist(), answers.probs[start:end].tolist(), answers.numbers[row * NUMBERS])

    def fresh(self, first: int, end: int) -> Sequence[int]:
        """Tokens that the heads of these rows name first."""
        answers = self.answers
        return answers.fresh[
            answers.fresh_until[first - 1] if first else 0 : answers.fresh_until[end - 1] if end else 0
        ]

    def swept(self, first: int, nodes: int, asked: Sequence[int]) -> Swept:
        """Of the rows from `first` on, the target's and then the drafter's."""
        answers, end = self.answers, first + nodes
        heads, numbers = answers.heads, answers.numbers[NUMBERS * first : NUMBERS * end]
        agreements = [
            Agreement(bits) if row < 0 else Agreement(bits, draft_bits, kl_bits if kl_bits < inf else None, overlap)
            for row, bits, draft_bits, kl_bits, overlap in zip(
                self._drafts[first:end], *(numbers[number::NUMBERS] for number in range(1, NUMBERS)), strict=True
            )
        ]
        return Swept(heads[first:end], dict(zip(asked, heads[end : end + len(asked)], strict=True)), agreements)

    def _swept(self) -> _Answers:
        n, top, count = len(self._rows), self._top, len(self._tokens)
        lists = self._rows, self._kinds, self._drafts, self._logits, self._row_of, self._tokens
        given = [array("q", values) for values in lists]
        ids, shown, ranks = (array("q", bytes(8 * size)) for size in (n * top, n, count))
        probs, numbers = (array("d", bytes(8 * size)) for size in (n * top, n * NUMBERS))
        fresh, until = (array("q", bytes(8 * size)) for size in (min(n * top, self.vocab), n))
        scales, room = array("d", self._scales), array("f", bytes(4 * 2 * (self.vocab + LANES)))
        made: list[array[Any]] = [ids, shown, ranks, scales, probs, numbers, room, self._named, fresh, until]
        asked = _Asked(n, self.vocab, top, count, *(buffer.buffer_info()[0] for buffer in (*given, *made)))
        self._compiled.sweep(ctypes.byref(asked))
        return _Answers(top, ids, shown, probs, numbers, ranks.tolist(), fresh, until)


def _addresses(rows: Tensor) -> Sequence[int] | None:
    """Of each row of a [n, V] or [V]; None where they do not lie as the compiled functions read them."""
    if rows.dtype is not torch.float32 or not rows.is_cpu:
        return None
    *steps, step = rows.stride()
    if step != 1:
        return None
    first = rows.data_ptr()
    if not steps:
        return (first,)
    n, apart = rows.shape[0], steps[0] * 4
    return range(first, first + n * apart, apart) if apart else [first] * n
