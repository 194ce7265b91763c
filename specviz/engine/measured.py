"""What only whole distributions can tell of a round: heads, entropies, how far target and draft agree, ranks.

    rows of logits or probabilities ─► one sweep over each ─► top-k and rest, bits, KL and overlap per node

By one call of compiled C where rows are float32 on the CPU and a compiler is at hand, for all rounds that are recorded
together; otherwise by torch, with the same numbers up to rounding. The recorder asks after a round's clock has stopped.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from math import inf, isfinite, log
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from specviz.core.compiled import library
from specviz.core.sampling import ON_CPU
from specviz.core.transfer import Fetch, brought
from specviz.core.tree import DraftTree
from specviz.frozen import frozen
from specviz.trace.events import Agreement, TopK

SOURCE = Path(__file__).with_name("measured.c")
LANES = 16
"""numbers in the widest vector that the compiled sweep uses: its room is made for whole ones"""
DIGITS = 6
"""Decimals of recorded probabilities; numbers that verdicts were based on keep all theirs."""
UNITS = 10.0**DIGITS
DECIMALS = 4
"""of a node's bits and overlap"""

NOTHING, HEAD, PROBABILITIES, LOGITS = range(4)
"""what is to be told of a row, as `measured.c` names it: ranks alone, the head of probabilities, or head and entropy as
what it holds"""
NUMBERS = 5
"""of a row: what its head leaves, bits, those of the draft's, divergence, overlap"""


@frozen
class Swept:
    """Of one round, per node."""

    targets: list[TopK]
    drafts: dict[int, TopK]
    """at the nodes that have a row of the drafter's"""
    agreements: Sequence[Agreement | None]
    beside: TopK | None = None
    """of the distribution that was asked about besides"""


Rows = tuple[Sequence[int], Tensor]
"""(nodes, the drafter's rows [len(nodes), V] there, or the row [V] of a single node)"""
Ranks = list[int | None]


class Sweep:
    """Of one run. What is asked is answered when somebody wants to see an answer: then all that was asked until then,
    of any number of rounds, by one compiled call."""

    def __init__(self, top: int) -> None:
        self._top = top
        self._compiled = library(SOURCE)
        self._waiting: _Waiting | None = None

    def __call__(self, targets: Tensor, drafts: Sequence[Rows], logits: bool = False) -> Swept:
        """targets [nodes, V] and the drafter's rows at some of the nodes: probabilities, or `logits` of such."""
        return self.ask(Fetch(), targets, drafts, logits)()

    def ask(
        self,
        fetch: Fetch,
        targets: Tensor,
        drafts: Sequence[Rows] = (),
        logits: bool = False,
        beside: Tensor | None = None,
        made_of: tuple[Tensor, float] | None = None,
    ) -> Callable[[], Swept]:
        """The same, not yet worked out, nor waited for where the rows lie on a device; until then nothing may write
        over them. Of `beside` [V] the head alone is measured. `made_of`: logits that were asked about before, and the
        temperature that made probabilities of them and cut nothing off, which saves logarithms and a second look for
        the same head."""
        asked = [node for nodes, _ in drafts for node in nodes]
        if self._compiled is not None:
            waiting, kind = self._rows_of(self._compiled, targets.shape[1]), LOGITS if logits else PROBABILITIES
            first = waiting.add([targets, *(rows for _, rows in drafts)], kind)
            extra = None if first is None or beside is None else waiting.add([beside], HEAD)
            if first is not None and (extra is not None or beside is None):
                waiting.compare(first, targets.shape[0], asked, made_of)
                return partial(waiting.swept, first, targets.shape[0], asked, extra)
        n, own = targets.shape[0], [targets] if beside is None else [targets, beside]
        rows = torch.vstack([*own, *(rows for _, rows in drafts)])
        if logits:
            rows = (rows if rows.dtype == torch.float64 else rows.float()).softmax(-1)
        best = rows.topk(min(self._top, rows.shape[-1]), dim=-1)
        named = dict(zip(asked, rows[n + len(own) - 1 :], strict=True))
        seen = fetch.leave(best.indices, best.values, *_columns(rows[:n], named))

        @cache
        def by_torch() -> Swept:
            ids, probs, *columns = seen()
            heads = _heads(ids, probs)
            extra = None if beside is None else heads.pop(n)
            return Swept(heads[:n], dict(zip(asked, heads[n:], strict=True)), _agreements(columns, asked), extra)

        return by_torch

    def head(self, probs: Tensor) -> TopK:
        """Of one distribution [V]."""
        return self(probs.unsqueeze(0), []).targets[0]

    def ask_ranks(self, fetch: Fetch, logits: Tensor, tree: DraftTree) -> Callable[[], Ranks]:
        """See `ranks`; not yet worked out, as above. Rows of which a sweep was asked are not read again."""
        parents, tokens = tree.parents[1:], tree.tokens[1:]
        if not tokens:
            return lambda: [None]
        if logits.device.type not in ON_CPU:
            seen = fetch.leave(_before_on_device(logits, parents, tokens))
            return lambda: [None, *(1 + int(before) for before in seen()[0].tolist())]
        if self._compiled is not None:
            waiting = self._rows_of(self._compiled, logits.shape[1])
            at = waiting.rank(logits, parents, tokens)
            if at is not None:
                return lambda: [None, *waiting.answers.ranks[at : at + len(tokens)]]
        counted: Ranks = [None, *(1 + before for before in _before_on_cpu(logits, parents, tokens))]
        return lambda: counted

    def _rows_of(self, compiled: ctypes.CDLL, vocab: int) -> _Waiting:
        """Where rows of so many numbers wait now."""
        waiting = self._waiting
        if waiting is None or waiting.seen or waiting.vocab != vocab:
            waiting = self._waiting = _Waiting(compiled, vocab, min(self._top, vocab))
        return waiting


class _Asked(ctypes.Structure):
    """As `measured.c` declares it."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("n", "vocab", "top", "count")),
        *((name, ctypes.c_void_p) for name in ("rows", "kinds", "drafts", "logits", "row_of", "tokens")),
        *((name, ctypes.c_void_p) for name in ("ids", "shown", "ranks", "scales", "probs", "numbers", "room")),
    )


@frozen
class _Answers:
    """Of n rows."""

    heads: list[TopK]
    numbers: list[float]
    """NUMBERS of each row"""
    ranks: list[int]
    """in the order in which they were asked for"""


class _Waiting:
    """Rows of one vocabulary that wait for the compiled sweep, held until then."""

    def __init__(self, compiled: ctypes.CDLL, vocab: int, top: int) -> None:
        self.vocab = vocab
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

    def swept(self, first: int, nodes: int, asked: Sequence[int], extra: int | None) -> Swept:
        """Of the rows from `first` on, the target's and then the drafter's, and of the `extra` one."""
        answers, end = self.answers, first + nodes
        heads, numbers = answers.heads, answers.numbers[NUMBERS * first : NUMBERS * end]
        agreements = [
            Agreement(bits) if row < 0 else Agreement(bits, draft_bits, kl_bits if kl_bits < inf else None, overlap)
            for row, bits, draft_bits, kl_bits, overlap in zip(
                self._drafts[first:end], *(numbers[number::NUMBERS] for number in range(1, NUMBERS)), strict=True
            )
        ]
        drafts = dict(zip(asked, heads[end : end + len(asked)], strict=True))
        return Swept(heads[first:end], drafts, agreements, None if extra is None else heads[extra])

    def _swept(self) -> _Answers:
        n, top, count = len(self._rows), self._top, len(self._tokens)
        lists = self._rows, self._kinds, self._drafts, self._logits, self._row_of, self._tokens
        given = [array("q", values) for values in lists]
        ids, shown, ranks = (array("q", bytes(8 * size)) for size in (n * top, n, count))
        probs, numbers = (array("d", bytes(8 * size)) for size in (n * top, n * NUMBERS))
        scales, room = array("d", self._scales), array("f", bytes(4 * 2 * (self.vocab + LANES)))
        buffers: list[array[Any]] = [*given, ids, shown, ranks, scales, probs, numbers, room]
        asked = _Asked(n, self.vocab, top, count, *(buffer.buffer_info()[0] for buffer in buffers))
        self._compiled.sweep(ctypes.byref(asked))
        tokens, values, told = ids.tolist(), probs.tolist(), numbers.tolist()
        heads = [
            TopK(tokens[at : at + many], values[at : at + many], rest)
            for at, many, rest in zip(range(0, n * top, top), shown, told[::NUMBERS], strict=True)
        ]
        return _Answers(heads, told, ranks.tolist())


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


def ranks(logits: Tensor, tree: DraftTree) -> Ranks:
    """logits [nodes, V] → per candidate 1 + how many tokens its parent's row puts before it, equal ones by id."""
    return Sweep(1).ask_ranks(Fetch(), logits, tree)()


def _before_on_device(logits: Tensor, parents: Sequence[int], tokens: Sequence[int]) -> Tensor:
    """The counts [candidates], on the device."""
    candidates = torch.tensor(tokens, device=logits.device).unsqueeze(1)
    rows = logits[parents]
    own, ids = rows.gather(1, candidates), torch.arange(rows.shape[1], device=rows.device)
    before = (rows > own) | ((rows == own) & (ids < candidates))
    return before.sum(-1)


def _before_on_cpu(logits: Tensor, parents: Sequence[int], tokens: Sequence[int]) -> list[int]:
    """The same with numpy, which counts several times as fast as torch adds up truth values."""
    rows = (logits if logits.dtype == torch.float64 else logits.float()).cpu().numpy()
    counts = []
    for parent, token in zip(parents, tokens, strict=True):
        row, value = rows[parent], rows[parent, token]
        counts.append(int(np.count_nonzero(row > value)) + int(np.count_nonzero(row[:token] == value)))
    return counts


def top_rows(probs: Tensor, top: int) -> list[TopK]:
    """probs [n, V] → the `top` most probable tokens of each row and the mass outside; zeros are left out."""
    best = probs.topk(min(top, probs.shape[-1]), dim=-1)
    return _heads(*brought(best.indices, best.values))


def _heads(ids: Tensor, probs: Tensor) -> list[TopK]:
    """Of ids and probabilities [n, top], both as they were brought."""
    rounded = (probs * UNITS).round_().div_(UNITS)
    return [_top_row(tokens, values) for tokens, values in zip(ids.long().tolist(), rounded.tolist(), strict=True)]


def _top_row(tokens: list[int], values: list[float]) -> TopK:
    while values and values[-1] <= 0.0:
        values.pop()
    return TopK(tokens[: len(values)], values, round(max(0.0, 1.0 - sum(values)), DIGITS))


def agreements(target: Tensor, drafts: Mapping[int, Tensor]) -> dict[int, Agreement]:
    """target [nodes, V] and the drafts' rows [V] at some of the nodes → the five numbers per node."""
    return dict(enumerate(_agreements(brought(*_columns(target, drafts)), list(drafts))))


def _columns(target: Tensor, drafts: Mapping[int, Tensor]) -> list[Tensor]:
    """Bits [nodes] of the target's rows, and where there are drafts their bits, the divergence and the overlap
    [drafts, 3]; on the device."""
    logs = _logarithms(target)
    bits = _entropy_bits(target, logs)
    if not drafts:
        return [bits]
    nodes, q = list(drafts), torch.stack(list(drafts.values())).to(target.dtype)
    at = slice(len(nodes)) if nodes == list(range(len(nodes))) else nodes  # a chain's rows need no copy
    p, log_p, log_q = target[at], logs[at], q.log()
    terms = p * (log_p - log_q)  # infinite where q excludes what p allows; no number where both are 0
    kl = terms.nansum(-1) / log(2)
    finite = log_q.clamp_min_(log(torch.finfo(q.dtype).tiny))
    return [bits, torch.stack([_entropy_bits(q, finite), kl, torch.minimum(p, q).sum(-1)], dim=-1)]


def _agreements(columns: Sequence[Tensor], nodes: Sequence[int]) -> list[Agreement]:
    """Of columns as they were brought, with drafts at these nodes."""
    rows = [Agreement(_rounded(bits)) for bits in columns[0].tolist()]
    if nodes:
        for node, (bits, divergence, overlap) in zip(nodes, columns[1].tolist(), strict=True):
            kl_bits = _rounded(divergence) if isfinite(divergence) else None
            rows[node] = Agreement(rows[node].target_bits, _rounded(bits), kl_bits, min(1.0, _rounded(overlap)))
    return rows


def _logarithms(probs: Tensor) -> Tensor:
    """Finite, also of 0: unlike `torch.special.entr` and `xlogy`, a plain logarithm is computed in vectors."""
    return probs.clamp_min(torch.finfo(probs.dtype).tiny).log()


def _entropy_bits(probs: Tensor, logs: Tensor) -> Tensor:
    bits: Tensor = -(probs * logs).sum(-1) / log(2)
    return bits


def _rounded(value: float) -> float:
    """None of the five numbers is negative but by rounding."""
    return round(max(0.0, value), DECIMALS)
