"""Several sequences in one pass of the lean forward: rows side by side, keys and values in lanes.

    shares ─► rows of all, one after the other ─┬─► one compiled call: each row reads the keys of its own lane
                                                └─► without a compiler: attention in one call over padded lanes, masked

No sequence sees another: each has a lane of the storage, and what its rows see ends where its own text does. A lane is
freed by the last lane moving into it, so that the lanes in use stand together where a pass goes over all of them; a
compiled call does not, and so nothing moves before another pass or another sequence comes. A pass over more rows than a
compiled call takes is several of them, of whole shares: every row then has the numbers that it has alone, bit for bit.
Where the model replays its passes, those of a batch are replayed over as many lanes as are in use, rounded up like the
rows of each (`replay`).

Shapes: N new rows of all shares, A lanes in use, n rows of the longest share, T rows of the longest sequence, H query
heads, G key/value heads, D head size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from weakref import finalize

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from specviz.lm.base import Cache, GivesFeatures, Share, SplitModel
from specviz.lm.llama.few_rows import TextRows
from specviz.lm.llama.replay import Asked, FixedStep, Replays, Storage, width_for
from specviz.lm.llama.rows import FIRST_ROWS, Attends, LlamaCache, attention
from specviz.lm.llama.shape import LlamaShape
from specviz.lm.rotary import Turns
from specviz.lm.rows import Placement, TreeCache

ALONE = 32
"""A share of more rows, such as a prompt, fills the processor by itself and is computed alone, without padding."""
MOST = 256
"""rows of all lanes, padded ones among them, up to which a pass is replayed"""


class RunsRows(GivesFeatures, SplitModel, Protocol):
    """A whole model whose blocks run over rows that others have laid out: `LlamaModel`."""

    shape: LlamaShape
    turns: Turns
    replays: Replays | None

    @property
    def dtype(self) -> torch.dtype: ...

    @property
    def at_once(self) -> int:
        """See `LlamaModel.at_once`."""
        ...

    def in_one_call(self, texts: Sequence[TextRows]) -> Tensor:
        """See `LlamaModel.in_one_call`."""
        ...

    def layers(self, x: Tensor, first: int, last: int, step: Attends) -> Tensor:
        """See `LlamaRows.layers`."""
        ...


class LaneCache(LlamaCache):
    """One sequence's lane of a batch's storage."""

    def __init__(self, batch: LlamaBatch, lane: int) -> None:
        TreeCache.__init__(self)  # the storage is the batch's
        self._batch = batch
        self.sit(lane)

    def sit(self, lane: int) -> None:
        """Look at this lane from now on, where the storage is now."""
        self.lane = lane
        self._kv = self._batch.storage[:, :, lane]

    def room(self, rows: int) -> Tensor:
        self._batch.make_room(rows)
        return self._kv


class LlamaBatch:
    """See `lm.base.Batch`. One storage [layers, 2 * G, lanes, rows, D], laid out in each lane as in `LlamaCache`."""

    def __init__(self, model: RunsRows) -> None:
        self._model = model
        self._caches: list[LaneCache] = []
        """by lane"""
        self._left: list[LaneCache] = []
        """those of them whose sequence is over"""
        self._held = [self._room_for(1, FIRST_ROWS)]
        if model.replays is not None:
            finalize(self, model.replays.give_back, self._held)

    @property
    def storage(self) -> Tensor:
        return self._held[0].kv

    def _room_for(self, lanes: int, rows: int) -> Storage:
        shape, replays = self._model.shape, self._model.replays
        if replays is not None:
            return replays.take(rows, lanes)
        size = (shape.layers, 2 * shape.kv_heads, lanes, rows, shape.head_size)
        # Zeros and not whatever was there: a masked row weighs nothing, but nothing times NaN is NaN.
        return Storage(torch.zeros(size, device=self._model.device, dtype=self._model.dtype))

    def new_cache(self) -> LaneCache:
        """Only between passes."""
        self._close_up()
        lane = len(self._caches)
        if lane == self.storage.shape[2]:
            self._grow(2 * lane, self.storage.shape[3])
        self._caches.append(LaneCache(self, lane))
        return self._caches[-1]

    def make_room(self, rows: int) -> None:
        """Have every lane hold at least `rows` rows."""
        room = self.storage.shape[3]
        while room < rows:
            room *= 2
        if room > self.storage.shape[3]:
            self._grow(self.storage.shape[2], room)

    @torch.inference_mode()
    def _grow(self, lanes: int, rows: int) -> None:
        old = self._held[0]
        self._held[0] = self._room_for(lanes, rows)
        self.storage[:, :, : old.kv.shape[2], : old.kv.shape[3]] = old.kv
        if self._model.replays is not None:
            self._model.replays.give_back([old])
        for cache in self._caches:
            cache.sit(cache.lane)

    def leave(self, cache: Cache) -> None:
        """See `Batch.leave`."""
        self._left.append(self._own(cache))
        if len(self._left) == len(self._caches):  # or batch and caches would hold each other
            self._caches.clear()
            self._left.clear()

    def _close_up(self) -> None:
        """Have the lanes in use stand together."""
        while self._left:
            self._free(self._left.pop())

    @torch.inference_mode()
    def _free(self, own: LaneCache) -> None:
        last = self._caches.pop()
        if last is not own:
            self.storage[:, :, own.lane, : last.length] = self.storage[:, :, last.lane, : last.length]
            self._caches[own.lane] = last
            last.sit(own.lane)

    def forward(self, shares: Sequence[Share]) -> list[Tensor]:
        """See `Batch.forward`."""
        if torch.is_inference_mode_enabled():  # as in `LlamaModel.forward`
            return self._forward(shares)
        with torch.inference_mode():
            return self._forward(shares)

    def _forward(self, shares: Sequence[Share]) -> list[Tensor]:
        widest = min(ALONE, self._model.at_once or ALONE)
        together = [index for index, share in enumerate(shares) if len(share.tokens) <= widest]
        if len(together) < 2 and self._model.replays is None:
            together = []
        found: dict[int, Tensor] = {}
        for index, share in enumerate(shares):
            if index not in together:
                found[index] = self._model.forward(share.tokens, share.cache, share.parents, share.last_only)
        if together:
            found |= zip(together, self._pass([shares[place] for place in together]), strict=True)
        return [found[index] for index in range(len(shares))]

    def _pass(self, shares: Sequence[Share]) -> list[Tensor]:
        model, caches = self._model, [self._own(share.cache) for share in shares]
        if model.replays is not None or not model.at_once:
            self._close_up()
        assert len({cache.lane for cache in caches}) == len(shares), "two shares of a pass are of one sequence."
        context = model.info.context_length
        placements = [
            cache.place(share.tokens, share.parents, context) for share, cache in zip(shares, caches, strict=True)
        ]
        asked = {cache.lane: placement for cache, placement in zip(caches, placements, strict=True)}
        counts = [1 if share.last_only else len(share.tokens) for share in shares]
        logits = None if model.replays is None else self._replayed(model.replays, asked)
        if logits is None:
            self.make_room(max(placement.stop for placement in placements))
            logits = self._called(asked, counts) if model.at_once else self._launched(asked, counts)
        for cache, placement in zip(caches, placements, strict=True):
            cache.add(placement)
        return [logits[cache.lane][-count:] for cache, count in zip(caches, counts, strict=True)]

    def _called(self, asked: Mapping[int, Placement], counts: Sequence[int]) -> dict[int, Tensor]:
        """By lane the logits of its last so many rows, by as few compiled calls as their rows need."""
        calls, rows = list[list[int]](), self._model.at_once
        for lane, placement in asked.items():
            rows += len(placement.tokens)
            if rows > self._model.at_once:
                calls.append([])
                rows = len(placement.tokens)
            calls[-1].append(lane)
        wanted, found = dict(zip(asked, counts, strict=True)), dict[int, Tensor]()
        for lanes in calls:
            texts = [TextRows(self._caches[lane].seat(0), asked[lane], wanted[lane]) for lane in lanes]
            logits = self._model.in_one_call(texts)
            found |= zip(lanes, logits.split([text.wanted for text in texts]), strict=True)
        return found

    def _launched(self, asked: Mapping[int, Placement], counts: Sequence[int]) -> dict[int, Tensor]:
        """By lane the logits of its last so many rows, every kernel launched by itself."""
        model = self._model
        step = self._step(list(asked), list(asked.values()))
        tokens = [token for placement in asked.values() for token in placement.tokens]
        x = functional.embedding(torch.tensor(tokens, device=model.device), model.embedding())
        x = model.layers(x, 0, model.shape.layers, step)
        wanted, end = list[int](), 0
        for placement, count in zip(asked.values(), counts, strict=True):
            end += len(placement.tokens)
            wanted += range(end - count, end)
        logits = model.read_out(x if len(wanted) == end else x[wanted])
        return dict(zip(asked, logits.split([*counts]), strict=True))

    def _replayed(self, replays: Replays, asked: Mapping[int, Placement]) -> dict[int, Tensor] | None:
        """By lane the logits of its rows, from one replay over all lanes; None where that would be too many rows."""
        model, lanes = self._model, 1 << (len(self._caches) - 1).bit_length()
        free = [0] * (lanes - len(self._caches))
        fixed = Asked(asked, [*(cache.length for cache in self._caches), *free])
        width = width_for(fixed.most)
        if lanes * width > MOST:
            return None
        self.make_room(max(fixed.starts) + width)

        def body(ids: Tensor, step: FixedStep, states: Tensor | None) -> tuple[Tensor]:
            x = functional.embedding(ids, model.embedding())
            return (model.read_out(model.layers(x, 0, model.shape.layers, step)),)

        found = replays.run_lanes((id(model), "batch"), body, fixed, self._held[0])
        return {lane: logits.clone() for lane, (logits,) in found.items()}

    def _step(self, lanes: Sequence[int], placements: Sequence[Placement]) -> BatchStep:
        most, longest = (
            max(len(placement.tokens) for placement in placements),
            max(placement.stop for placement in placements),
        )
        visible = np.zeros((len(self._caches), 1, most, longest), dtype=np.bool_)
        at, columns, padded = list[int](), list[int](), list[int]()
        for lane, placement in zip(lanes, placements, strict=True):
            rows = placement.stop - placement.start
            visible[lane, 0, :rows, : placement.stop] = placement.mask()
            at += [lane] * rows
            columns += range(placement.start, placement.stop)
            padded += range(lane * most, lane * most + rows)
        positions = [position for placement in placements for position in placement.positions]
        where = torch.tensor([at, columns, padded, positions], device=self.storage.device)
        hidden = torch.from_numpy(~visible).to(self.storage.device)
        mask = torch.zeros(hidden.shape, device=self.storage.device, dtype=self.storage.dtype)
        mask.masked_fill_(hidden, torch.finfo(mask.dtype).min)
        kv = self.storage[:, :, : len(self._caches)]
        return BatchStep(self._model.turns.at(where[3]), mask, kv, where[0], where[1], where[2])

    def _own(self, cache: Cache) -> LaneCache:
        assert isinstance(cache, LaneCache), "this cache belongs to another adapter."
        assert self._caches[cache.lane : cache.lane + 1] == [cache], "this cache has left the batch."
        assert cache not in self._left, "this cache has left the batch."
        return cache


@dataclass(frozen=True, slots=True)
class BatchStep:
    """What all layers of one pass over several sequences share (see `rows.Attends`)."""

    turns: Turns
    mask: Tensor
    """additive [A, 1, n, T]"""
    kv: Tensor
    """[layers, 2 * G, A, rows, D]"""
    lanes: Tensor
    """of each row [N]"""
    columns: Tensor
    """where its keys and values go in its lane [N]"""
    padded: Tensor
    """its place among A * n rows, in which every lane has n"""

    def attend(self, i: int, rows: Tensor) -> Tensor:
        """rows [H + 2 * G, N, D] → [N, H * D]."""
        kv = self.kv[i]
        heads = rows.shape[0] - kv.shape[0]
        kv[:, self.lanes, self.columns] = rows[heads:]
        lanes, _, n, longest = self.mask.shape
        queries = rows.new_zeros(lanes * n, heads, rows.shape[2])  # padded: [A · n, H, D]
        queries[self.padded] = rows[:heads].transpose(0, 1)
        keys, values = kv[:, :, :longest].transpose(0, 1).chunk(2, 1)  # [A, G, T, D] each
        return attention(queries.view(lanes, n, heads, -1).transpose(1, 2), keys, values, self.mask)[self.padded]
