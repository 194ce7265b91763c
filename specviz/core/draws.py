"""Distributions and draws by one compiled call each, and the choice of tokens that a compiled loop can make by itself.

    logits ─ warp ─► probabilities ─ pick ─► token          p, q ─ rest ─► what a rejection leaves of p
    logits, a chain, what it was drawn from ─ walk ─► how far it passes, and the token behind that

For rows of float32 on the CPU where a compiler is at hand; everywhere else `sampling` and `randomness` do the same with
torch and numpy, as they cut tokens off everywhere. A `Chooser` takes tokens as a draft by steps does: by the same code.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from struct import Struct
from typing import Any, NamedTuple

import torch
from torch import Tensor

from specviz.core.compiled import library
from specviz.errors import ModelError
from specviz.trace.uniform_draws import stream

SOURCE = Path(__file__).with_name("draws.c")

_pointer, _whole = ctypes.c_void_p, ctypes.c_int64


def _compiled(*rows: Tensor) -> ctypes.CDLL | None:
    """None where there is no compiler, or these rows [..., V] do not lie as its code reads them."""
    for row in rows:
        if row.dtype is not torch.float32 or not row.is_cpu or not row.is_contiguous() or row.requires_grad:
            return None
    return _library()


@cache
def _library() -> ctypes.CDLL | None:
    compiled = library(SOURCE)
    if compiled is not None:
        compiled.pick.restype = compiled.keyed_walk.restype = _whole
        compiled.rest.restype = compiled.without.restype = ctypes.c_double
    return compiled


NO_NUMBERS = (
    "a model's logits are no numbers (NaN), or infinite, so that they make no distribution; its weights are damaged or "
    "too large for its dtype: choose float32, or load the checkpoint again."
)


def some_token(token: int) -> int:
    """One that was looked for in a row. Raises ModelError for -1, where the row holds none."""
    if token < 0:
        raise ModelError(NO_NUMBERS)
    return token


def warp(logits: Tensor, temperature: float) -> Tensor:
    """logits [..., V] → softmax(logits / temperature) [..., V]."""
    compiled = _compiled(logits)
    if compiled is None:
        return (logits if temperature == 1.0 else logits / temperature).softmax(-1)
    probs, vocab = torch.empty_like(logits), logits.shape[-1]
    rows = logits.numel() // max(1, vocab)
    at, to = _pointer(logits.data_ptr()), _pointer(probs.data_ptr())
    compiled.warp(at, _whole(rows), _whole(vocab), ctypes.c_float(temperature), to)
    return probs


def most_probable(logits: Tensor) -> list[int] | None:
    """See `sampling.most_probable`; None where there is no compiled sweep for these rows [n, V]."""
    compiled = _compiled(logits)
    if compiled is None:
        return None
    n, vocab = logits.shape
    tokens = array("q", bytes(8 * n))
    compiled.all_most_probable(_pointer(logits.data_ptr()), _whole(n), _whole(vocab), _pointer(_at(tokens)))
    return list(map(some_token, tokens))


def picked(probs: Tensor, u: float) -> int | None:
    """See `randomness.pick`; None where there is no compiled draw for this row [V]."""
    compiled = _compiled(probs)
    if compiled is None:
        return None
    token: int = compiled.pick(_pointer(probs.data_ptr()), _whole(probs.shape[0]), ctypes.c_double(u))
    return token


def rest(target: Tensor, draft: Tensor) -> tuple[Tensor, float] | None:
    """See `sampling.residual`; None where there is no compiled sweep for these rows [V]."""
    compiled = _compiled(target, draft)
    if compiled is None:
        return None
    left = torch.empty_like(target)
    rows = (_pointer(row.data_ptr()) for row in (target, draft))
    mass: float = compiled.rest(*rows, _whole(target.shape[0]), _pointer(left.data_ptr()))
    return (left, mass) if mass > 0.0 else (target, 0.0)


def taken_out(target: Tensor, token: int) -> tuple[Tensor, float] | None:
    """See `sampling.without`, of one token; None where there is no compiled sweep for this row [V]."""
    compiled = _compiled(target)
    if compiled is None:
        return None
    left = torch.empty_like(target)
    at, to = _pointer(target.data_ptr()), _pointer(left.data_ptr())
    mass: float = compiled.without(at, _whole(token), _whole(target.shape[0]), to)
    return left, mass


class Noise(NamedTuple):
    """Uniform numbers of the keys (purpose, `position`, `first` + step), worked out where they are used."""

    stream: int
    """of seed and purpose: see `uniform_draws.stream`"""
    position: int
    first: int


class Room(NamedTuple):
    """For rows that compiled code writes."""

    whole: Tensor
    """[rows, V] float32, on the CPU"""
    rows: Sequence[Tensor]
    """the same, rows times [V]"""
    at: int


SPARE_BYTES = 1 << 20
"""of such rows taken at a time: behind a pass torch's code is cold, and takes 0.02 ms for any of this"""
_spare: dict[tuple[int, int], list[Room]] = {}
"""(rows, V) → what nobody has yet"""


def room_of(rows: int, vocab: int) -> Room:
    """One that nobody else has, with any numbers in it."""
    try:
        return _spare[rows, vocab].pop()
    except LookupError:
        with torch.inference_mode():
            wholes = torch.empty(max(1, SPARE_BYTES // (4 * rows * vocab)), rows, vocab).unbind()
            spare = [Room(whole, whole.unbind(), whole.data_ptr()) for whole in wholes]
        _spare[rows, vocab] = spare[1:]
        return spare[0]


_WALK = Struct("qqdQQq5P")
"""`Walk` of draws.c; behind a pass a struct of ctypes takes 0.01 ms"""


class Walk(NamedTuple):
    """What a walk down a chain of n candidates came to."""

    room: Room
    """[n + 2, V]: p at the root and at every candidate; last, what the first candidate that did not pass left of it"""
    u: list[float]
    """of each candidate's trial"""
    p: list[float]
    q: list[float]
    thresholds: list[float]
    """of each candidate, also of those that were not reached"""
    passed: int
    """how many of them did"""
    mass: float
    """of what was left, before it was made whole; where it is 0, the last token is one of p itself"""
    token: int
    """the last one"""
    u_of_token: float


def walk(
    logits: Tensor, temperature: float, tokens: Sequence[int], drawn: Room | None, seed: int, position: int
) -> Walk | None:
    """Speculative sampling down a chain: each candidate passes with min(1, p/q), q of what it was drawn from, or 1.

    logits [n + 1, V] of the root and the candidates, `tokens` theirs; `drawn` [n, V], None where they were not drawn;
    `position` of the first candidate in the text. The numbers are those of the keys ("accept", position, node) and
    ("target", position + depth, 0). None where there is no compiled walk for these rows. Leviathan et al. (2211.17192,
    algorithm 1).
    """
    compiled = _compiled(logits)
    if compiled is None:
        return None
    n, vocab = len(tokens) - 1, logits.shape[1]
    room, ids, numbers = room_of(n + 2, vocab), array("q", tokens), array("d", bytes(8 * (5 * n + 3)))
    keys = stream(seed, "accept"), stream(seed, "target"), position
    at = logits.data_ptr(), 0 if drawn is None else drawn.at, _at(ids), room.at, _at(numbers)
    token: int = compiled.keyed_walk(_WALK.pack(n, vocab, temperature, *keys, *at))
    some_token(token)
    *known, passed, mass = numbers.tolist()
    u, p, q, thresholds = known[:n], known[2 * n + 1 : 3 * n + 1], known[3 * n + 1 : 4 * n + 1], known[4 * n + 1 :]
    return Walk(room, u, p, q, thresholds, int(passed), mass, token, known[n + int(passed)])


SILENCE = Noise(0, 0, 0)
_CHOICE = Struct("dQqqPP")
"""`Choice` of draws.c"""
_MOST_PROBABLE = _CHOICE.pack(0.0, *SILENCE, 0, 0)


class Chooser:
    """Takes the tokens of chains from their logits, step by step, where a compiled loop asks for them; one chain after
    the other."""

    def __init__(self, compiled: ctypes.CDLL, steps: int, temperature: float, noise: Noise) -> None:
        self.function = _choose(compiled)
        """int64 (const float *logits, int64 V, int64 step, const void *how)"""
        self.steps = steps
        self.room: Room | None = None
        """what each token was drawn from; None: the most probable were taken"""
        self._temperature, self._noise = temperature, noise
        self._prob = array("f", bytes(4 * steps))
        self._prob_at = _at(self._prob)

    @classmethod
    def of(cls, steps: int, temperature: float = 0.0, noise: Noise = SILENCE) -> Chooser | None:
        """At temperature 0 the most probable token, lowest id on a tie; else a draw by inverse CDF. None where there is
        no compiler."""
        compiled = _library()
        return None if compiled is None else cls(compiled, steps, temperature, noise)

    def again(self, steps: int, position: int, first: int) -> Chooser:
        """The same for another chain, no longer than the one it was made for, with other numbers of its noise."""
        assert steps <= len(self._prob), f"a chain of {len(self._prob)} steps at most was asked for."
        self.steps, self._noise = steps, Noise(self._noise.stream, position, first)
        return self

    def how(self, vocab: int) -> bytes:
        """The function's last argument, for rows of so many numbers."""
        if not self._temperature:
            return _MOST_PROBABLE
        self.room = room = room_of(self.steps, vocab)
        return _CHOICE.pack(self._temperature, *self._noise, room.at, self._prob_at)

    def probs(self) -> list[float]:
        """Of each token in what it was drawn from; empty where the most probable were taken. Raises ModelError where
        one was drawn from what is no distribution."""
        if not self._temperature:
            return []
        probs = self._prob[: self.steps].tolist()
        if not all(probs):
            raise ModelError(NO_NUMBERS)
        return probs


@cache
def _choose(compiled: ctypes.CDLL) -> ctypes.c_void_p:
    return ctypes.cast(compiled.choose, _pointer)


def _at(numbers: array[Any]) -> int:
    return numbers.buffer_info()[0]
