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
from struct import Struct
from typing import Any

import torch
from torch import Tensor

from specviz.core.draws import Room
from specviz.frozen import frozen
from specviz.trace.events import Agreement, TopK

LANES = 16
"""numbers in the widest vector that the compiled sweep uses: its room is made for whole ones"""
NOTHING, HEAD, PROBABILITIES, LOGITS, BELIEFS = range(5)
"""what is to be told of a row, as `measured.c` names it: ranks alone, the head of probabilities, head and entropy as
what it holds, or those of logits whose head nobody is shown"""
NUMBERS = 5
"""of a row: what its head leaves, bits, those of the draft's, divergence, overlap"""


Rows = tuple[Sequence[int], Tensor]
"""(nodes, the drafter's rows [len(nodes), V] there, or the row [V] of a single node)"""


@frozen
class Swept:
    """Of one round, per node."""

    targets: list[TopK]
    drafts: list[TopK | None]
    """None where there is no row of the drafter's"""
    agreements: list[Agreement | None]


_ASKED = Struct("5q17P")
"""`Asked` of measured.c; behind a pass a struct of ctypes takes 0.01 ms"""


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
    drafts: array[int]
    """the row that each is compared with, or -1"""
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
        self.rows = 0
        """how many wait"""
        self._named = named
        self._compiled, self._top = compiled, top
        self._held: list[Tensor | Room] = []
        self._firsts: dict[int, int] = {}
        """by the ids of what is held: which row each tensor's first is"""
        self._blocks: list[int] = []
        self._nodes: list[int] = []
        self._row_of: list[int] = []
        self._tokens: list[int] = []
        self._scales: list[float] = []
        self._answers: _Answers | None = None

    @property
    def seen(self) -> bool:
        """Whether it is over: whoever asks now waits elsewhere."""
        return self._answers is not None

    def add(
        self,
        targets: Tensor,
        drafts: Sequence[Rows],
        kind: int,
        made_of: Sequence[Tensor] = (),
        temperature: float = 1.0,
    ) -> int | None:
        """The number of the first row of `targets`, behind which those of `drafts` stand in their order; None where not
        all of them lie as the compiled sweep reads them. `made_of` see `Sweep.ask`."""
        blocks = [targets, *[rows for _, rows in drafts]]
        plain = [lie for block in blocks if (lie := _lie(block))]
        if len(plain) < len(blocks):
            return None
        first, firsts, compared_with = self.rows, self._firsts, -1
        known = [firsts.get(id(logits), -1) for logits in made_of]
        known += [-1] * (len(blocks) - len(known))
        for block, (at, apart, n), logits in zip(blocks, plain, known, strict=True):
            self._blocks += at, apart, n, kind, compared_with, logits
            firsts[id(block)] = self.rows
            self.rows += n
            compared_with = first
        self._held += blocks
        self._scales += [1 / temperature] * len(blocks)
        for nodes, _ in drafts:
            self._nodes += nodes
        return first

    def add_chain(
        self, logits: Tensor, drafted: Rows, p: Room, q: Room, temperature: float, rest: Tensor | None
    ) -> int | None:
        """Of a chain that one call drew and another judged the number of the first row of logits; the draft's follow,
        then p and q, which `temperature` made of both. `rest`, what was left of p, stands in the row before. None as
        above. All this is `add` three times, with half the Python for each round."""
        (nodes, of_draft), vocab, scale = drafted, self.vocab, 1 / temperature
        lie, of_draft_lie = _lie(logits), _lie(of_draft)
        if lie is None or of_draft_lie is None or (rest is not None and self.add(rest, (), HEAD) is None):
            return None
        (at, apart, n), (draft_at, draft_apart, steps), first = lie, of_draft_lie, self.rows
        judged = first + n + steps
        self._blocks += (
            *(at, apart, n, LOGITS, -1, -1),
            *(draft_at, draft_apart, steps, LOGITS, first, -1),
            *(p.at, vocab, n, PROBABILITIES, -1, first),
            *(q.at, vocab, steps, PROBABILITIES, judged, first + n),
        )
        self._scales += 1.0, 1.0, scale, scale
        self._nodes += nodes
        self._nodes += nodes
        self._held += logits, of_draft, p, q
        self._firsts[id(logits)] = first
        self.rows = judged + n + steps
        return first

    def rank(self, logits: Tensor, parents: Sequence[int], tokens: Sequence[int]) -> int | None:
        """The number of the first rank; None where the rows do not lie as the compiled sweep reads them."""
        first, at = self._firsts.get(id(logits)), len(self._tokens)
        if first is None and (first := self.add(logits, (), NOTHING)) is None:
            return None
        self._row_of += [first + parent for parent in parents]
        self._tokens += tokens
        return at

    def ranks(self, first: int, end: int) -> list[int | None]:
        """None for the root, and these ranks."""
        return [None, *self.answers.ranks[first:end]]

    @property
    def answers(self) -> _Answers:
        """All, at the first question."""
        if self._answers is None:
            self._answers = self._swept()
            self._held.clear()
            self._firsts.clear()
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

    def swept(self, first: int, nodes: int) -> Swept:
        """Of so many of the target's rows from `first` on."""
        answers, end = self.answers, first + nodes
        heads, drafts, numbers = answers.heads, answers.drafts[first:end], answers.numbers
        agreements: list[Agreement | None] = [
            Agreement(bits) if row < 0 else Agreement(bits, draft_bits, kl_bits if kl_bits < inf else None, overlap)
            for row, bits, draft_bits, kl_bits, overlap in zip(
                drafts,
                *(numbers[NUMBERS * first + at : NUMBERS * end : NUMBERS] for at in range(1, NUMBERS)),
                strict=True,
            )
        ]
        return Swept(heads[first:end], [heads[row] if row >= 0 else None for row in drafts], agreements)

    def _swept(self) -> _Answers:
        n, top, count = self.rows, self._top, len(self._tokens)
        lines, drafts, order, ids, shown, ranks = (_zeros("q", size) for size in (6 * n, n, n, n * top, n, count))
        probs, numbers, room = _zeros("d", n * top), _zeros("d", n * NUMBERS), _zeros("f", 2 * (self.vocab + LANES))
        fresh, until = _zeros("q", min(n * top, self.vocab)), _zeros("q", n)
        whole = [self._blocks, self._nodes, self._row_of, self._tokens]
        blocks, nodes, row_of, tokens = (array("q", numbers) for numbers in whole)
        given: list[array[Any]] = [blocks, nodes, array("d", self._scales), row_of, tokens]
        made: list[array[Any]] = [
            lines,
            drafts,
            order,
            ids,
            shown,
            ranks,
            probs,
            numbers,
            room,
            self._named,
            fresh,
            until,
        ]
        sizes = n, self.vocab, top, count, len(self._scales)
        self._compiled.sweep(_ASKED.pack(*sizes, *[buffer.buffer_info()[0] for buffer in (*given, *made)]))
        return _Answers(top, ids, shown, probs, numbers, ranks.tolist(), drafts, fresh, until)


def _zeros(kind: str, size: int) -> array[Any]:
    return array(kind, (0,)) * size


def _lie(rows: Tensor) -> tuple[int, int, int] | None:
    """Where the rows of a [n, V] or [V] lie: address of the first, numbers from one to the next, how many they are.
    None where they do not lie as the compiled functions read them."""
    if rows.dtype is not torch.float32 or not rows.is_cpu:
        return None
    steps = rows.stride()
    if steps[-1] != 1:
        return None
    # a tensor's `len` is a call of Python, and takes as long as all else here
    return (rows.data_ptr(), 0, 1) if len(steps) == 1 else (rows.data_ptr(), steps[0], rows.shape[0])
