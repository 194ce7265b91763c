"""Passes of fixed widths over keys and values that stay where they are: a CUDA device replays each as one launch.

    placement ─► tokens, positions, rows, mask at fixed addresses ─► replay ─► results at fixed addresses

A pass over n rows is padded to the next width. A padded row stands behind the new ones, is seen by none of them, and
whatever comes next is written over it. What a pass reads and writes lies at the same addresses every time, so that it
is recorded once for each width and storage, for chains and for trees; storages, with what was recorded over them, go
from one finished run to the next.

On any device the same code runs without being recorded (`direct`), which is how it is held against the plain path. The
engine chooses it on CUDA alone (`lm.load`); a CPU has nothing to gain.

Shapes: n new rows, w rows with the padded ones, T rows of a storage, H query heads, G key/value heads, D head size.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol
from weakref import finalize

import numpy as np
import torch
from torch import Tensor

from specviz.lm.base import Cache
from specviz.lm.llama.rows import FIRST_ROWS, LlamaCache, attention
from specviz.lm.rotary import Turns
from specviz.lm.rows import Placement, TreeCache

if TYPE_CHECKING:
    from specviz.lm.llama.rows import LlamaRows

WIDTHS = (1, 2, 4, 8, 16, 32, 64)
"""a wider pass, such as a prompt's, keeps a device busy without being replayed"""


class Replay(Protocol):
    """Carries out once more what was recorded, on what stands at the same addresses by now."""

    def __call__(self) -> None: ...


Record = Callable[[Callable[[], None]], Replay]
"""how a pass becomes a `Replay`: `bare.Graphs.capture` on a CUDA device, `direct` on any other"""


def direct(run: Callable[[], None]) -> Replay:
    """Nothing is recorded: every replay is the pass itself."""
    return run


@dataclass(frozen=True, slots=True)
class FixedStep:
    """What all layers of such a pass share (see `rows.Attends`)."""

    turns: Turns
    mask: Tensor
    """additive [w, T]"""
    kv: Tensor
    """[layers, 2 * G, T, D]"""
    rows: Tensor
    """[w], where the keys and values of each row go"""

    def attend(self, i: int, rows: Tensor) -> Tensor:
        """rows [H + 2 * G, w, D] → [w, H * D]."""
        kv = self.kv[i]
        heads = rows.shape[0] - kv.shape[0]
        kv.index_copy_(1, self.rows, rows[heads:])
        keys, values = kv.unsqueeze(0).chunk(2, 1)  # [1, G, T, D] each
        return attention(rows[:heads].unsqueeze(0), keys, values, self.mask)


Body = Callable[[Tensor, FixedStep, Tensor | None], tuple[Tensor, ...]]
"""tokens [w], step, states [w, S] or None → results [w, …]"""


class FixedPass:
    """One body over one storage, for one width."""

    def __init__(self, width: int, kv: Tensor, turns: Turns, body: Body, states: int, tree: bool) -> None:
        """`states`: numbers per row that the body reads beside the tokens; 0: none. Without `tree` a row sees all that
        stands before it, which needs no mask from the processor."""
        self._width, self._kv, self._turns, self._body = width, kv, turns, body
        self._numbers = torch.zeros(3, width, dtype=torch.int64, device=kv.device)  # tokens, positions, rows
        self._places = torch.arange(kv.shape[2], device=kv.device)  # [T]
        self._seen = torch.zeros(width, kv.shape[2], dtype=torch.bool, device=kv.device) if tree else None  # [w, T]
        self._states = kv.new_zeros(width, states) if states else None  # [w, S]
        self._results: tuple[Tensor, ...] = ()
        self._replay: Replay | None = None

    def run(self, placement: Placement, states: Tensor | None, record: Record) -> tuple[Tensor, ...]:
        """Results [n, …]: views, valid until the next pass."""
        self._fill(placement, states)
        if self._replay is None:
            self._replay = record(self._carry_out)
        self._replay()
        return tuple(result[: len(placement.tokens)] for result in self._results)

    def _fill(self, placement: Placement, states: Tensor | None) -> None:
        """Write the inputs where they are read; nothing here waits for the device."""
        n, start, stop = len(placement.tokens), placement.start, placement.stop
        numbers = np.zeros((3, self._width), dtype=np.int64)
        numbers[0, :n], numbers[1, :n] = placement.tokens, placement.positions
        numbers[2] = np.arange(start, start + self._width)
        self._numbers.copy_(torch.from_numpy(numbers), non_blocking=True)
        if self._seen is not None:
            seen = np.zeros(tuple(self._seen.shape), dtype=np.bool_)
            seen[:n, :stop] = placement.visible
            padded = np.arange(n, self._width)
            seen[padded, start + padded] = True
            self._seen.copy_(torch.from_numpy(seen), non_blocking=True)
        if self._states is not None and states is not None:
            self._states[:n].copy_(states)

    def _carry_out(self) -> None:
        tokens, positions, rows = self._numbers.unbind(0)
        unseen = self._places > rows[:, None] if self._seen is None else self._seen.logical_not()  # [w, T]
        mask = torch.zeros(unseen.shape, dtype=self._kv.dtype, device=self._kv.device)
        mask.masked_fill_(unseen, torch.finfo(mask.dtype).min)
        self._results = self._body(tokens, FixedStep(self._turns.at(positions), mask, self._kv, rows), self._states)


@dataclass(slots=True)
class Storage:
    """Keys and values that stay at one address, and the passes recorded over them."""

    kv: Tensor
    """[layers, 2 * G, T, D]"""
    passes: dict[Hashable, FixedPass] = field(default_factory=dict)


class ReplayedCache(LlamaCache):
    """A cache in a borrowed storage."""

    def __init__(self, replays: Replays) -> None:
        TreeCache.__init__(self)  # the storage is borrowed
        self._replays = replays
        self._borrowed = [replays.take(FIRST_ROWS)]
        self._kv = self.storage.kv
        finalize(self, replays.give_back, self._borrowed)

    @property
    def storage(self) -> Storage:
        return self._borrowed[0]

    def room(self, rows: int) -> Tensor:
        """The storage's keys and values; another storage where this one would not hold `rows` rows."""
        old = self.storage
        if rows > old.kv.shape[2]:
            self._borrowed[0] = self._replays.take(rows)
            self._kv = self.storage.kv
            self._kv[:, :, : self.length] = old.kv[:, :, : self.length]
            self._replays.give_back([old])
        return self._kv


class Replays:
    """The fixed passes of one stack of blocks, over all its caches."""

    def __init__(self, blocks: LlamaRows, record: Record) -> None:
        self._blocks = blocks
        self.record = record
        self._free: dict[int, list[Storage]] = {}
        """by rows, what no cache has at present"""

    def new_cache(self) -> ReplayedCache:
        return ReplayedCache(self)

    @torch.inference_mode()
    def take(self, rows: int) -> Storage:
        """A storage of at least so many rows, one that was used before if there is one."""
        room = FIRST_ROWS
        while room < rows:
            room *= 2
        if self._free.get(room):
            return self._free[room].pop()
        shape = self._blocks.shape
        # Zeros and not whatever was there: a masked row weighs nothing, but nothing times NaN is NaN.
        size = (shape.layers, 2 * shape.kv_heads, room, shape.head_size)
        return Storage(torch.zeros(size, device=self._blocks.device, dtype=self._blocks.dtype))

    def give_back(self, storages: list[Storage]) -> None:
        """The cache that had them is gone, or has a larger one."""
        for storage in storages:
            self._free.setdefault(storage.kv.shape[2], []).append(storage)

    def takes(self, n: int, cache: Cache) -> bool:
        """Whether a pass over n rows is one for it."""
        return n <= WIDTHS[-1] and isinstance(cache, ReplayedCache)

    def run(
        self, kind: Hashable, body: Body, placement: Placement, cache: Cache, states: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        """What `body` gives for these rows [n, …], views that the next pass writes over; their keys and values are then
        in the cache. Passes of the same `kind` have the same body."""
        assert isinstance(cache, ReplayedCache), "this cache belongs to another adapter."
        width = next(width for width in WIDTHS if width >= len(placement.tokens))
        kv, passes = cache.room(placement.start + width), cache.storage.passes
        key = kind, width, placement.visible is not None
        if key not in passes:
            size = 0 if states is None else states.shape[1]
            passes[key] = FixedPass(width, kv, self._blocks.turns, body, size, placement.visible is not None)
        return passes[key].run(placement, states, self.record)
