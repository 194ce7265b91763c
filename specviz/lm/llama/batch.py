"""Several sequences in one pass of the lean forward: rows side by side, keys and values padded to the longest.

    shares ─► rows of all, one after the other ─► projections once for all ─► attention in one call, masked ─► logits

No sequence sees another: each has a lane of the storage, and its mask ends where its own rows do. A lane is freed by
the last lane moving into it, so that the lanes in use always stand together.

Shapes: N new rows of all shares, A lanes in use, n rows of the longest share, T rows of the longest sequence, H query
heads, G key/value heads, D head size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from specviz.lm.base import Cache, GivesFeatures, Share, SplitModel
from specviz.lm.llama.rows import FIRST_ROWS, Attends, LlamaCache, attention
from specviz.lm.llama.shape import LlamaShape
from specviz.lm.rotary import Turns
from specviz.lm.rows import Placement, TreeCache

ALONE = 32
"""A share of more rows, such as a prompt, fills the processor by itself and is computed alone, without padding."""


class RunsRows(GivesFeatures, SplitModel, Protocol):
    """A whole model whose blocks run over rows that others have laid out: `LlamaModel`."""

    shape: LlamaShape
    turns: Turns

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
        self._kv = self._batch.storage[:, lane]

    def room(self, rows: int) -> Tensor:
        self._batch.make_room(rows)
        return self._kv


class LlamaBatch:
    """See `lm.base.Batch`. One storage [layers, lanes, 2 * G, rows, D], laid out in each lane as in `LlamaCache`."""

    def __init__(self, model: RunsRows) -> None:
        self._model = model
        self._caches: list[LaneCache] = []
        """by lane"""
        shape = model.shape
        size = (shape.layers, 1, 2 * shape.kv_heads, FIRST_ROWS, shape.head_size)
        # Zeros and not whatever was there: a masked row weighs nothing, but nothing times NaN is NaN.
        self.storage = torch.zeros(size, device=model.device, dtype=model.embedding().dtype)

    def new_cache(self) -> LaneCache:
        """Only between passes."""
        lane = len(self._caches)
        if lane == self.storage.shape[1]:
            self._grow(2 * lane, self.storage.shape[3])
        self._caches.append(LaneCache(self, lane))
        return self._caches[-1]

    def make_room(self, rows: int) -> None:
        """Have every lane hold at least `rows` rows."""
        room = self.storage.shape[3]
        while room < rows:
            room *= 2
        if room > self.storage.shape[3]:
            self._grow(self.storage.shape[1], room)

    @torch.inference_mode()
    def _grow(self, lanes: int, rows: int) -> None:
        old = self.storage
        self.storage = old.new_zeros(old.shape[0], lanes, old.shape[2], rows, old.shape[4])
        self.storage[:, : old.shape[1], :, : old.shape[3]] = old
        for cache in self._caches:
            cache.sit(cache.lane)

    @torch.inference_mode()
    def leave(self, cache: Cache) -> None:
        """See `Batch.leave`."""
        own, last = self._own(cache), self._caches.pop()
        if last is not own:
            self.storage[:, own.lane, :, : last.length] = self.storage[:, last.lane, :, : last.length]
            self._caches[own.lane] = last
            last.sit(own.lane)

    @torch.inference_mode()
    def forward(self, shares: Sequence[Share]) -> list[Tensor]:
        """See `Batch.forward`."""
        together = [index for index, share in enumerate(shares) if len(share.tokens) <= ALONE]
        if len(together) < 2:
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
        assert len({cache.lane for cache in caches}) == len(shares), "two shares of a pass are of one sequence."
        context = model.info.context_length
        placements = [
            cache.place(share.tokens, share.parents, context) for share, cache in zip(shares, caches, strict=True)
        ]
        self.make_room(max(one.stop for one in placements))
        step = self._step([cache.lane for cache in caches], placements)
        tokens = [token for one in placements for token in one.tokens]
        x = functional.embedding(torch.tensor(tokens, device=model.device), model.embedding())
        x = model.layers(x, 0, model.shape.layers, step)
        wanted, counts, end = list[int](), list[int](), 0
        for share, cache, placement in zip(shares, caches, placements, strict=True):
            cache.add(placement)
            end += (rows := len(placement.tokens))
            counts.append(1 if share.last_only else rows)
            wanted += range(end - counts[-1], end)
        return list(model.read_out(x if len(wanted) == end else x[wanted]).split(counts))

    def _step(self, lanes: Sequence[int], placements: Sequence[Placement]) -> BatchStep:
        most, longest = (
            max(len(placement.tokens) for placement in placements),
            max(placement.stop for placement in placements),
        )
        visible = np.zeros((len(self._caches), 1, most, longest), dtype=np.bool_)
        at, columns, padded = list[int](), list[int](), list[int]()
        for lane, placement in zip(lanes, placements, strict=True):
            rows = placement.stop - placement.start
            seen = (
                np.tri(rows, placement.stop, placement.start, dtype=np.bool_)
                if placement.visible is None
                else placement.visible
            )
            visible[lane, 0, :rows, : placement.stop] = seen
            at += [lane] * rows
            columns += range(placement.start, placement.stop)
            padded += range(lane * most, lane * most + rows)
        positions = [position for placement in placements for position in placement.positions]
        where = torch.tensor([at, columns, padded, positions], device=self.storage.device)
        hidden = torch.from_numpy(~visible).to(self.storage.device)
        mask = torch.zeros(hidden.shape, device=self.storage.device, dtype=self.storage.dtype)
        mask.masked_fill_(hidden, torch.finfo(mask.dtype).min)
        kv = self.storage[:, : len(self._caches)]
        return BatchStep(self._model.turns.at(where[3]), mask, kv, where[0], where[1], where[2])

    def _own(self, cache: Cache) -> LaneCache:
        assert isinstance(cache, LaneCache), "this cache belongs to another adapter."
        assert self._caches[cache.lane : cache.lane + 1] == [cache], "this cache has left the batch."
        return cache


@dataclass(frozen=True, slots=True)
class BatchStep:
    """What all layers of one pass over several sequences share (see `rows.Attends`)."""

    turns: Turns
    mask: Tensor
    """additive [A, 1, n, T]"""
    kv: Tensor
    """[layers, A, 2 * G, rows, D]"""
    lanes: Tensor
    """of each row [N]"""
    columns: Tensor
    """where its keys and values go in its lane [N]"""
    padded: Tensor
    """its place among A * n rows, in which every lane has n"""

    def attend(self, i: int, rows: Tensor) -> Tensor:
        """rows [H + 2 * G, N, D] → [N, H * D]."""
        kv = self.kv[i]
        groups, heads = kv.shape[1] // 2, rows.shape[0] - kv.shape[1]
        kv[self.lanes, :, self.columns] = rows[heads:].transpose(0, 1)
        lanes, _, n, longest = self.mask.shape
        queries = rows.new_zeros(lanes * n, heads, rows.shape[2])  # padded: [A · n, H, D]
        queries[self.padded] = rows[:heads].transpose(0, 1)
        keys, values = kv[:, :, :longest].split(groups, 1)  # [A, G, T, D] each
        return attention(queries.view(lanes, n, heads, -1).transpose(1, 2), keys, values, self.mask)[self.padded]
