"""Passes of fixed widths over keys and values that stay where they are: a CUDA device replays each as one launch.

    placements ─► tokens, positions, rows, mask at fixed addresses ─► replay ─► results at fixed addresses

A pass over n rows is padded to the next width. A padded row stands behind the new ones, is seen by none of them, and
whatever comes next is written over it. What a pass reads and writes lies at the same addresses every time, so that it
is recorded once for each width and storage, for chains and for trees; storages, with what was recorded over them, go
from one finished run to the next.

A storage has a lane for each sequence: one of a run alone, more of a batch (`batch`), whose pass has as many rows in
every lane, also in one that asks for nothing or has no sequence: these are all padded.

On any device the same code runs without being recorded (`direct`), which is how it is held against the plain path. The
engine chooses it on CUDA alone (`lm.load`); a CPU has nothing to gain.

Shapes: n new rows of a sequence, w rows of a lane with the padded ones, A lanes of a pass, L lanes and T rows in each
of a storage, H query heads, G key/value heads, D head size.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
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

WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""a longer prompt is read in parts of the widest: wider ones compute for longer than they read weights, and would pay
for every padded row"""
FEW = 64
"""rows whose logits are read out beside them; of a wider part of a prompt the last row's are, by themselves"""


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
    """additive [A, 1, w, T]"""
    kv: Tensor
    """[layers, 2 * G, L, T, D]"""
    rows: Tensor
    """[A * w], where the keys and values of each row go among the L * T of all lanes"""

    def attend(self, i: int, rows: Tensor) -> Tensor:
        """rows [H + 2 * G, A * w, D] → [A * w, H * D]."""
        kv, lanes = self.kv[i], self.mask.shape[0]
        heads = rows.shape[0] - kv.shape[0]
        kv.flatten(1, 2).index_copy_(1, self.rows, rows[heads:])
        keys, values = kv[:, :lanes].transpose(0, 1).chunk(2, 1)  # [A, G, T, D] each
        queries = rows[:heads].unflatten(1, (lanes, -1)).transpose(0, 1)  # [A, H, w, D]
        return attention(queries, keys, values, self.mask)


Body = Callable[[Tensor, FixedStep, Tensor | None], tuple[Tensor, ...]]
"""tokens [A * w], step, states [A * w, S] or None → results [A * w, …]"""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a pass is asked for."""

    placements: Mapping[int, Placement]
    """by lane"""
    starts: Sequence[int]
    """rows that each of the lanes holds already"""

    @property
    def most(self) -> int:
        """New rows of the sequence that has most."""
        return max(len(placement.tokens) for placement in self.placements.values())

    @property
    def is_tree(self) -> bool:
        return any(placement.visible is not None for placement in self.placements.values())


class FixedPass:
    """One body over one storage, for so many lanes and one width."""

    def __init__(self, lanes: int, width: int, kv: Tensor, turns: Turns, body: Body, states: int, tree: bool) -> None:
        """`states`: numbers per row that the body reads beside the tokens; 0: none. Without `tree` a row sees all that
        stands before it, which needs no mask from the processor."""
        self._lanes, self._width, self._kv, self._turns, self._body = lanes, width, kv, turns, body
        count, room, device = lanes * width, kv.shape[3], kv.device
        self._numbers = torch.zeros(3, count, dtype=torch.int64, device=device)  # tokens, positions, rows
        self._places = torch.arange(room, device=device)  # [T]
        self._firsts = torch.arange(lanes, device=device).repeat_interleave(width)[:, None] * room  # [A * w, 1]
        self._seen = torch.zeros(count, room, dtype=torch.bool, device=device) if tree else None  # [A * w, T]
        self._states = kv.new_zeros(count, states) if states else None  # [A * w, S]
        self._results: tuple[Tensor, ...] = ()
        self._replay: Replay | None = None

    def run(self, asked: Asked, states: Tensor | None, record: Record) -> dict[int, tuple[Tensor, ...]]:
        """Results [n, …] by lane: views, valid until the next pass. `states` are those of one lane alone."""
        self._fill(asked, states)
        if self._replay is None:
            self._replay = record(self._carry_out)
        self._replay()
        found: dict[int, tuple[Tensor, ...]] = {}
        for lane, placement in asked.placements.items():
            first = lane * self._width
            found[lane] = tuple(result[first : first + len(placement.tokens)] for result in self._results)
        return found

    def _fill(self, asked: Asked, states: Tensor | None) -> None:
        """Write the inputs where they are read; nothing here waits for the device."""
        width, room = self._width, self._kv.shape[3]
        numbers = np.zeros((3, self._lanes, width), dtype=np.int64)
        numbers[2] = np.arange(width) + np.array(asked.starts)[:, None]  # in its lane, for now
        seen = None if self._seen is None else np.zeros((self._lanes, width, room), dtype=np.bool_)
        for lane, placement in asked.placements.items():
            n = len(placement.tokens)
            numbers[0, lane, :n], numbers[1, lane, :n] = placement.tokens, placement.positions
            if seen is not None:
                seen[lane, :n, : placement.stop] = placement.mask()
        if self._seen is not None and seen is not None:
            padded = ~seen.any(-1)
            seen[padded, numbers[2][padded]] = True  # itself, for a row that sees nothing has no attention
            self._seen.copy_(torch.from_numpy(seen.reshape(self._lanes * width, room)), non_blocking=True)
        numbers[2] += np.arange(self._lanes)[:, None] * room
        self._numbers.copy_(torch.from_numpy(numbers.reshape(3, -1)), non_blocking=True)
        if self._states is not None and states is not None:
            self._states[: len(states)].copy_(states)

    def _carry_out(self) -> None:
        tokens, positions, rows = self._numbers.unbind(0)
        if self._seen is None:
            unseen = self._places > rows[:, None] - self._firsts  # [A * w, T]
        else:
            unseen = self._seen.logical_not()
        mask = torch.zeros(unseen.shape, dtype=self._kv.dtype, device=self._kv.device)
        mask.masked_fill_(unseen, torch.finfo(mask.dtype).min)
        mask = mask.unflatten(0, (self._lanes, 1, self._width))  # [A, 1, w, T]
        self._results = self._body(tokens, FixedStep(self._turns.at(positions), mask, self._kv, rows), self._states)


@dataclass(slots=True)
class Storage:
    """Keys and values that stay at one address, and the passes recorded over them."""

    kv: Tensor
    """[layers, 2 * G, L, T, D]"""
    passes: dict[Hashable, FixedPass] = field(default_factory=dict)


class ReplayedCache(LlamaCache):
    """A cache in a borrowed storage."""

    def __init__(self, replays: Replays) -> None:
        TreeCache.__init__(self)  # the storage is borrowed
        self._replays = replays
        self._borrowed = [replays.take(FIRST_ROWS)]
        self._kv = self.storage.kv[:, :, 0]
        self._chosen: set[bytes] = set()
        finalize(self, replays.give_back, self._borrowed)

    def again(self, chosen: bytes) -> bool:
        """Whether these layers alone were asked for over this text before: a search among choices asks for each once,
        and is not worth recording."""
        known = chosen in self._chosen
        self._chosen.add(chosen)
        return known

    @property
    def storage(self) -> Storage:
        return self._borrowed[0]

    def room(self, rows: int) -> Tensor:
        """The storage's keys and values; another storage where this one would not hold `rows` rows."""
        old = self.storage
        if rows > old.kv.shape[3]:
            self._borrowed[0] = self._replays.take(rows)
            self._kv = self.storage.kv[:, :, 0]
            self._kv[:, :, : self.length] = old.kv[:, :, 0, : self.length]
            self._replays.give_back([old])
        return self._kv


class Replays:
    """The fixed passes of one stack of blocks, over all its caches."""

    def __init__(self, blocks: LlamaRows, record: Record) -> None:
        self._blocks = blocks
        self.record = record
        self._free: dict[tuple[int, int], list[Storage]] = {}
        """by lanes and rows, what no cache has at present"""

    def new_cache(self) -> ReplayedCache:
        return ReplayedCache(self)

    @torch.inference_mode()
    def take(self, rows: int, lanes: int = 1) -> Storage:
        """A storage of so many lanes, with at least so many rows in each; one that was used before if there is one."""
        room = FIRST_ROWS
        while room < rows:
            room *= 2
        if self._free.get((lanes, room)):
            return self._free[lanes, room].pop()
        shape = self._blocks.shape
        # Zeros and not whatever was there: a masked row weighs nothing, but nothing times NaN is NaN.
        size = (shape.layers, 2 * shape.kv_heads, lanes, room, shape.head_size)
        return Storage(torch.zeros(size, device=self._blocks.device, dtype=self._blocks.dtype))

    def give_back(self, storages: list[Storage]) -> None:
        """Whoever had them is gone, or has larger ones."""
        for storage in storages:
            _, _, lanes, room, _ = storage.kv.shape
            self._free.setdefault((lanes, room), []).append(storage)

    def takes(self, n: int, cache: Cache) -> bool:
        """Whether a pass over n rows is one for it."""
        return n <= WIDTHS[-1] and isinstance(cache, ReplayedCache)

    def run(
        self, kind: Hashable, body: Body, placement: Placement, cache: Cache, states: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        """What `body` gives for these rows [n, …], views that the next pass writes over; their keys and values are then
        in the cache. Passes of the same `kind` have the same body."""
        assert isinstance(cache, ReplayedCache), "this cache belongs to another adapter."
        asked = Asked({0: placement}, [placement.start])
        cache.room(placement.start + width_for(asked.most))
        return self.run_lanes(kind, body, asked, cache.storage, states)[0]

    def run_lanes(
        self, kind: Hashable, body: Body, asked: Asked, storage: Storage, states: Tensor | None = None
    ) -> dict[int, tuple[Tensor, ...]]:
        """The same for the sequences of a storage, by lane. It has room for every lane's rows, the padded ones among
        them, and as many lanes as `asked` says, or more."""
        lanes, width, tree = len(asked.starts), width_for(asked.most), asked.is_tree
        key = kind, lanes, width, tree
        if key not in storage.passes:
            size = 0 if states is None else states.shape[1]
            storage.passes[key] = FixedPass(lanes, width, storage.kv, self._blocks.turns, body, size, tree)
        return storage.passes[key].run(asked, states, self.record)


def width_for(n: int) -> int:
    """Rows of the pass that n rows are padded to."""
    return next(width for width in WIDTHS if width >= n)
