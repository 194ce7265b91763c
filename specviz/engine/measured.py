"""What only whole distributions can tell of a round: heads, entropies, how far target and draft agree, ranks.

    rows of logits or probabilities ─► one sweep over each ─► top-k and rest, bits, KL and overlap per node

By one call of compiled C where rows are float32 on the CPU and a compiler is at hand, otherwise by torch, with the same
numbers up to rounding. The recorder asks once per round, after the clock has stopped.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
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
from specviz.trace.events import Agreement, TopK

SOURCE = Path(__file__).with_name("measured.c")
LANES = 16
"""numbers in the widest vector that the compiled sweep uses: its room is made for whole ones"""
DIGITS = 6
"""Decimals of recorded probabilities; numbers that verdicts were based on keep all theirs."""
UNITS = 10.0**DIGITS
DECIMALS = 4
"""of a node's bits and overlap"""

_pointer, _whole = ctypes.c_void_p, ctypes.c_int64


@dataclass(frozen=True, slots=True)
class Swept:
    """Of one round, per node."""

    targets: list[TopK]
    drafts: dict[int, TopK]
    """at the nodes that have a row of the drafter's"""
    agreements: dict[int, Agreement]
    """at every node"""


Rows = tuple[Sequence[int], Tensor]
"""(nodes, the drafter's rows [len(nodes), V] there)"""


class Sweep:
    """Of one run, whose rounds share its room."""

    def __init__(self, top: int) -> None:
        self._top = top
        self._compiled = library(SOURCE)
        self._room: _Room | None = None

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
    ) -> Callable[[], Swept]:
        """The same, not yet waited for where the rows lie on a device. `beside` [V] is measured as one more node."""
        asked = [node for nodes, _ in drafts for node in nodes]
        own = [targets] if beside is None else [targets, beside.unsqueeze(0)]
        blocks, n = [*own, *(rows for _, rows in drafts)], sum(block.shape[0] for block in own)
        if self._compiled is not None and all(map(_plain, blocks)):
            swept = self._swept(self._compiled, blocks, n, asked, logits)
            return lambda: swept
        rows = torch.cat(blocks)
        if logits:
            rows = (rows if rows.dtype == torch.float64 else rows.float()).softmax(-1)
        best = rows.topk(min(self._top, rows.shape[-1]), dim=-1)
        named = dict(zip(asked, rows[n:], strict=True))
        seen = fetch.leave(best.indices, best.values, *_columns(rows[:n], named))

        @cache
        def by_torch() -> Swept:
            ids, probs, *columns = seen()
            heads = _heads(ids, probs)
            return Swept(heads[:n], dict(zip(asked, heads[n:], strict=True)), _agreements(columns, asked))

        return by_torch

    def head(self, probs: Tensor) -> TopK:
        """Of one distribution [V]."""
        return self(probs.unsqueeze(0), []).targets[0]

    def _swept(
        self, compiled: ctypes.CDLL, blocks: Sequence[Tensor], nodes: int, asked: Sequence[int], logits: bool
    ) -> Swept:
        """The first `nodes` rows are the target's, the others stand in the order of `asked`."""
        vocab = blocks[0].shape[1]
        addresses = [address for block in blocks for address in _addresses(block)]
        n, top = len(addresses), min(self._top, vocab)
        if self._room is None or not self._room.holds(n, vocab, top):
            self._room = _Room(n, vocab, top)
        room, compared = self._room, [-1] * n
        for row, node in enumerate(asked, start=nodes):
            compared[node] = row
        compiled.sweep(
            _array(_pointer, n)(*addresses),
            _whole(n),
            _whole(vocab),
            _whole(logits),
            _array(_whole, n)(*compared),
            _whole(top),
            *room.addresses,
        )
        heads, numbers = room.heads(n)
        agreed = {}
        for node, row in enumerate(compared[:nodes]):
            _, bits, divergence, overlap = numbers[node]
            agreed[node] = (
                Agreement(bits)
                if row < 0
                else Agreement(bits, numbers[row][1], divergence if divergence < inf else None, overlap)
            )
        return Swept(heads[:nodes], dict(zip(asked, heads[nodes:], strict=True)), agreed)


class _Room:
    """Where the compiled sweep computes and leaves its numbers, for up to n rows."""

    def __init__(self, n: int, vocab: int, top: int) -> None:
        self._sizes = n, vocab, top
        self.work = np.empty((n, vocab + LANES), np.float32)
        self.ids = np.empty((n, top), np.int64)
        self.probs = np.empty((n, top), np.float64)
        self.shown = np.empty(n, np.int64)
        self.numbers = np.empty((n, 4), np.float64)
        arrays = self.work, self.ids, self.probs, self.shown, self.numbers
        self.addresses = [ctypes.c_void_p(array.ctypes.data) for array in arrays]

    def holds(self, n: int, vocab: int, top: int) -> bool:
        return n <= self._sizes[0] and (vocab, top) == self._sizes[1:]

    def heads(self, n: int) -> tuple[list[TopK], list[list[float]]]:
        """Of the first n rows, and their numbers."""
        ids, probs, numbers = (array[:n].tolist() for array in (self.ids, self.probs, self.numbers))
        top = self._sizes[2]
        for row, shown in enumerate(self.shown[:n].tolist()):
            if shown < top:
                ids[row], probs[row] = ids[row][:shown], probs[row][:shown]
        rests = [row[0] for row in numbers]
        return list(map(TopK, ids, probs, rests)), numbers


def _plain(rows: Tensor) -> bool:
    """Whether rows [n, V] lie as the compiled functions read them."""
    return rows.dtype is torch.float32 and rows.is_cpu and rows.stride(-1) == 1


def _addresses(rows: Tensor) -> list[int]:
    """Of each row of a [n, V] in float32."""
    first, n = rows.data_ptr(), rows.shape[0]
    if n == 1:
        return [first]
    step = rows.stride(0) * 4
    return list(range(first, first + n * step, step)) if step else [first] * n


@lru_cache(maxsize=256)
def _array(kind: type[Any], n: int) -> Callable[..., ctypes.Array[Any]]:
    """The type of n such numbers, held: to ask ctypes for it again takes longer than to fill it."""
    array: type[ctypes.Array[Any]] = kind * n
    return array


Ranks = list[int | None]


def ranks(logits: Tensor, tree: DraftTree) -> Ranks:
    """logits [nodes, V] → per candidate 1 + how many tokens its parent's row puts before it, equal ones by id."""
    return ask_ranks(Fetch(), logits, tree)()


def ask_ranks(fetch: Fetch, logits: Tensor, tree: DraftTree) -> Callable[[], Ranks]:
    """The same, not yet waited for where the rows lie on a device."""
    parents, tokens = tree.parents[1:], tree.tokens[1:]
    if not tokens:
        return lambda: [None]
    if logits.device.type not in ON_CPU:
        seen = fetch.leave(_before_on_device(logits, parents, tokens))
        return lambda: [None, *(1 + int(before) for before in seen()[0].tolist())]
    count = _before_compiled if _plain(logits) and library(SOURCE) else _before_on_cpu
    counted: Ranks = [None, *(1 + before for before in count(logits, parents, tokens))]
    return lambda: counted


def _before_compiled(logits: Tensor, parents: Sequence[int], tokens: Sequence[int]) -> list[int]:
    """logits float32 [nodes, V] on the CPU, where there is a compiler."""
    compiled, rows, n = library(SOURCE), _addresses(logits), len(tokens)
    assert compiled is not None, "there is no compiler."
    of_tokens = _array(_whole, n)
    before = of_tokens()
    compiled.ranked(
        _array(_pointer, len(rows))(*rows),
        _whole(logits.shape[1]),
        of_tokens(*parents),
        of_tokens(*tokens),
        _whole(n),
        before,
    )
    return list(before)


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
    return _agreements(brought(*_columns(target, drafts)), list(drafts))


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


def _agreements(columns: Sequence[Tensor], nodes: Sequence[int]) -> dict[int, Agreement]:
    """Of columns as they were brought, with drafts at these nodes."""
    rows = {node: Agreement(_rounded(bits)) for node, bits in enumerate(columns[0].tolist())}
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
