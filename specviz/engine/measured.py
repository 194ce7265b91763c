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
from math import isfinite, log
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from specviz.core.compiled import library
from specviz.core.draws import Room
from specviz.core.sampling import ON_CPU
from specviz.core.transfer import Fetch, brought
from specviz.core.tree import DraftTree
from specviz.engine.waiting import BELIEFS, HEAD, LOGITS, PROBABILITIES, Rows, Swept, Waiting
from specviz.trace.events import Agreement, TopK

SOURCE = Path(__file__).with_name("measured.c")
DIGITS = 6
"""Decimals of recorded probabilities; numbers that verdicts were based on keep all theirs."""
UNITS = 10.0**DIGITS
DECIMALS = 4
"""of a node's bits and overlap"""

Ranks = list[int | None]
Mark = tuple[int, int]
"""(rows that wait for the compiled call, questions that went elsewhere)"""


class Sweep:
    """Of one run. What is asked is answered when somebody wants to see an answer: then all that was asked until then,
    of any number of rounds, by one compiled call."""

    def __init__(self, top: int) -> None:
        self._top = top
        self._compiled = library(SOURCE)
        self._waiting: Waiting | None = None
        self._named: dict[int, array[int]] = {}
        """by the vocabulary's size, 1 for each token that a head has named"""
        self._elsewhere = 0
        """questions that do not wait where the one before does"""

    def __call__(self, targets: Tensor, drafts: Sequence[Rows], logits: bool = False) -> Swept:
        """targets [nodes, V] and the drafter's rows at some of the nodes: probabilities, or `logits` of such."""
        return self.ask(Fetch(), targets, drafts, logits)()

    def ask(
        self,
        fetch: Fetch,
        targets: Tensor,
        drafts: Sequence[Rows] = (),
        logits: bool = False,
        shown: bool = True,
        made_of: Sequence[Tensor] = (),
        temperature: float = 1.0,
    ) -> Callable[[], Swept]:
        """The same, not yet worked out, nor waited for where the rows lie on a device; until then nothing may write
        over them. `shown`: whether a trace holds the heads. `made_of`: logits that were asked about before, of the
        target's rows and of each of the drafter's, as far as `temperature` made probabilities of them and cut nothing
        off, which saves logarithms and a second look for the same head."""
        if self._compiled is not None:
            kind = PROBABILITIES if not logits else LOGITS if shown else BELIEFS
            n, vocab = targets.shape
            waiting = self._rows_of(self._compiled, vocab)
            first = waiting.add(targets, drafts, kind, made_of, temperature)
            if first is not None:
                return partial(waiting.swept, first, n)
        self._elsewhere += 1
        rows, n = torch.vstack([targets, *(rows for _, rows in drafts)]), targets.shape[0]
        if logits:
            rows = (rows if rows.dtype == torch.float64 else rows.float()).softmax(-1)
        best = rows.topk(min(self._top, rows.shape[-1]), dim=-1)
        asked = [node for nodes, _ in drafts for node in nodes]
        named = dict(zip(asked, rows[n:], strict=True))
        seen = fetch.leave(best.indices, best.values, *_columns(rows[:n], named))

        @cache
        def by_torch() -> Swept:
            ids, probs, *columns = seen()
            heads = _heads(ids, probs)
            of_drafts = dict(zip(asked, heads[n:], strict=True))
            return Swept(heads[:n], list(map(of_drafts.get, range(n))), [*_agreements(columns, asked)])

        return by_torch

    def ask_chain(
        self, logits: Tensor, drafted: Rows, p: Room, q: Room, temperature: float, rest: Tensor | None
    ) -> tuple[Callable[[], Swept], Callable[[], Swept], Callable[[], TopK] | None] | None:
        """Of a chain that one call drew and another judged its raw and its judged rows and the head of `rest`, what was
        left of p, as `ask` and `ask_head` tell them. None where there is no compiled sweep of them."""
        if self._compiled is None:
            return None
        n, vocab = logits.shape
        waiting = self._rows_of(self._compiled, vocab)
        first = waiting.add_chain(logits, drafted, p, q, temperature, rest)
        if first is None:
            return None
        judged = partial(waiting.swept, first + n + len(drafted[0]), n)
        return partial(waiting.swept, first, n), judged, None if rest is None else partial(waiting.head, first - 1)

    def head(self, probs: Tensor) -> TopK:
        """Of one distribution [V]."""
        return self.ask_head(Fetch(), probs)()

    def ask_head(self, fetch: Fetch, probs: Tensor) -> Callable[[], TopK]:
        """The same, not yet worked out, as above."""
        if self._compiled is not None:
            waiting = self._rows_of(self._compiled, probs.shape[0])
            at = waiting.add(probs, (), HEAD)
            if at is not None:
                return partial(waiting.head, at)
        swept = self.ask(fetch, probs.unsqueeze(0))
        return lambda: swept().targets[0]

    def mark(self) -> Mark:
        """For `since`."""
        waiting = self._waiting
        return (0 if waiting is None or waiting.seen else waiting.rows), self._elsewhere

    def since(self, mark: Mark) -> Callable[[], Sequence[int]] | None:
        """The tokens that heads name, asked for since then, and that none before did, in their order. None where not
        all of that waits for one compiled call: then the heads themselves say it."""
        first, elsewhere = mark
        if self._waiting is None or self._waiting.seen or elsewhere != self._elsewhere:
            return None
        return partial(self._waiting.fresh, first, self._waiting.rows)

    def settle(self) -> None:
        """Work out all that waits for the compiled call: what was asked about may be forgotten after that."""
        if self._waiting is not None:
            _ = self._waiting.answers

    def ask_ranks(self, fetch: Fetch, logits: Tensor, tree: DraftTree) -> Callable[[], Ranks]:
        """See `ranks`; not yet worked out, as above. Rows of which a sweep was asked are not read again."""
        parents, tokens = tree.parents[1:], tree.tokens[1:]
        if not tokens:
            return lambda: [None]
        if self._compiled is not None:
            waiting = self._rows_of(self._compiled, logits.shape[1])
            at = waiting.rank(logits, parents, tokens)
            if at is not None:
                return partial(waiting.ranks, at, at + len(tokens))
        if logits.device.type not in ON_CPU:
            seen = fetch.leave(_before_on_device(logits, parents, tokens))
            return lambda: [None, *(1 + int(before) for before in seen()[0].tolist())]
        counted: Ranks = [None, *(1 + before for before in _before_on_cpu(logits, parents, tokens))]
        return lambda: counted

    def _rows_of(self, compiled: ctypes.CDLL, vocab: int) -> Waiting:
        """Where rows of so many numbers wait now."""
        waiting = self._waiting
        if waiting is None or waiting.seen or waiting.vocab != vocab:
            self._elsewhere += waiting is not None and not waiting.seen
            named = self._named.setdefault(vocab, array("b", bytes(vocab)))
            waiting = self._waiting = Waiting(compiled, vocab, min(self._top, vocab), named)
        return waiting


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
