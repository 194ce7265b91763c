"""Bookkeeping of a cache that is a tree of rows; every adapter's cache is one of these plus its own storage.

Says for each new row where it stands in the text and which cached rows it may see, and turns "keep this path" into row
moves.

Most rows form one chain, the *spine*: row i continues row i-1. A row of the spine sees every row up to itself, so it
needs no mask. Only rows beside the spine are described one by one: the mask of the largest tree is built once and cut
to size, for a tree that begins like a larger one has the top-left block of its mask ("Improving Multi-candidate
Speculative Decoding", 2409.10644, §3.2).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from operator import eq

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from specviz.errors import ModelError, OptionError
from specviz.frozen import frozen

Mask = npt.NDArray[np.bool_]
SHAPES = 4
"""masks kept at a time: a drafter's tree hangs from one or two new rows of text, a target's from one"""


class AncestorMasks:
    """Masks of the tree shapes of one run, the last used ones first."""

    def __init__(self) -> None:
        self._kept: list[tuple[tuple[int, ...], Mask]] = []
        self.built = 0
        """how many masks were not cut from another"""

    @property
    def largest(self) -> int:
        """Side of the largest mask that is kept."""
        return max((len(parents) for parents, _ in self._kept), default=0)

    def of(self, parents: Sequence[int]) -> Mask:
        """The mask [n, n] of a tree of n rows: True where row i sees row j, an ancestor or itself.

        `parents[i]` < i is a row of the tree; negative: the text above it. The answer is a view: not to be written to.
        """
        wanted, n = tuple(parents), len(parents)
        for index, (known, mask) in enumerate(self._kept):
            if known[:n] == wanted:
                self._kept.insert(0, self._kept.pop(index))
                return mask[:n, :n]
        begun = next((one for one in self._kept if wanted[: len(one[0])] == one[0]), None)
        mask = build(wanted)
        self.built += 1
        self._kept = [(wanted, mask), *(one for one in self._kept if one is not begun)][:SHAPES]
        return mask


def build(parents: Sequence[int]) -> Mask:
    """The mask from scratch: each row sees what its parent sees, and itself."""
    n = len(parents)
    mask = np.eye(n, dtype=np.bool_)
    for row, parent in enumerate(parents):
        if parent >= 0:
            mask[row] |= mask[parent]
    return mask


@frozen
class Placement:
    """Where the n rows of one forward call stand."""

    start: int
    """rows cached before the call"""
    tokens: list[int]
    parents: list[int]
    """absolute row of each new row's parent; -1 continues the empty text"""
    positions: list[int]
    visible: Mask | None
    """[n, start + n], True where row i may attend; None: a chain on the spine, row i sees all rows up to start + i"""
    on_spine: int
    """how many leading rows lengthen the spine"""
    beside: list[tuple[int, tuple[int, ...]]]
    """per remaining row: how many spine rows it sees, and the rows beside the spine it sees (itself last)"""

    @property
    def stop(self) -> int:
        return self.start + len(self.tokens)

    def mask(self) -> Mask:
        """`visible` [n, start + n], of a chain too."""
        if self.visible is not None:
            return self.visible
        return np.tri(len(self.tokens), self.stop, self.start, dtype=np.bool_)


class TreeCache(ABC):
    """Rows of one sequence: the first `base` are the text, the others a tree on top of it.

    `base` moves only in `keep` and `truncate`; a forward call always adds tree rows.
    """

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.base = 0
        self._spine = 0
        self._parents: list[int] = []
        self._positions: list[int] = []
        self._beside: list[tuple[int, tuple[int, ...]]] = []
        self.masks = AncestorMasks()
        self.watched: tuple[int, ...] = ()
        """depths at which passes are read on the way (see `GivesFeatures.watch`)"""
        self._seen: Tensor | None = None

    def watch(self, depths: Sequence[int], layers: int) -> None:
        """See `GivesFeatures.watch`, for a model of so many layers."""
        wrong = [depth for depth in depths if not 0 <= depth <= layers]
        if wrong:
            raise OptionError(
                f"the states after {wrong[0]} layers are asked for, but the model has {layers}; ask for 0 to {layers}."
            )
        self.watched, self._seen = tuple(depths), None

    @property
    def seen(self) -> Tensor:
        """See `GivesFeatures.seen`."""
        assert self._seen is not None, "no pass was read since `watch`."
        return self._seen

    def see(self, states: Mapping[int, Tensor]) -> None:
        """Hold what a pass left: depth → [n, H]."""
        if self.watched:
            self.see_all(torch.stack([states[depth] for depth in self.watched], 1))

    def see_all(self, states: Tensor) -> None:
        """The same of states [n, K, H] in the order in which they were asked for."""
        self._seen = states

    @property
    def length(self) -> int:
        """Rows held, linear and tree."""
        return len(self.tokens)

    def place(self, tokens: Sequence[int], parents: Sequence[int] | None, context_length: int) -> Placement:
        """Work out positions and visibility of new rows, changing nothing yet.

        Raises ModelError where a position would lie outside the context.
        """
        start, n = self.length, len(tokens)
        assert n > 0, "a forward call needs at least one token."
        chain = range(start - 1, start + n - 1)
        if parents is None:
            parents = chain
        assert len(parents) == n, f"{n} tokens came with {len(parents)} parents."
        if start == self._spine and start + n <= context_length and all(map(eq, parents, chain)):
            return Placement(start, list(tokens), list(chain), list(range(start, start + n)), None, n, [])
        on_spine = 0
        if start == self._spine:
            while on_spine < n and parents[on_spine] == start + on_spine - 1:
                on_spine += 1
        positions = list(range(start, start + on_spine))
        spine = self._spine + on_spine
        known = self._beside.copy()
        for i in range(on_spine, n):
            parent, row = parents[i], start + i
            assert -1 <= parent < row, f"row {row} names parent {parent}, which does not exist (yet)."
            limit, seen = (parent + 1, ()) if parent < spine else known[parent - spine]
            known.append((limit, (*seen, row)))
            positions.append(limit + len(seen))
        beside = known[len(self._beside) :]
        deepest = max(positions) + 1
        if deepest > context_length:
            raise ModelError(
                f"the text would reach {deepest} tokens, but the model's context holds {context_length}; "
                "shorten the prompt or ask for fewer new tokens."
            )
        visible = None if on_spine == n else self._visible(parents, on_spine, beside)
        return Placement(start, list(tokens), list(parents), positions, visible, on_spine, beside)

    def _visible(self, parents: Sequence[int], on_spine: int, beside: list[tuple[int, tuple[int, ...]]]) -> Mask:
        """The mask [n, start + n] of a call that leaves the spine: all of the text, then rows of the tree's own mask.

        Where the tree does not hang from the end of the text, row by row.
        """
        start, base, n = self.length, self.base, len(parents)
        tree = [*self._parents[base:], *parents]
        if min(tree) < base - 1:
            return self._visible_row_by_row(start, n, on_spine, beside)
        visible = np.ones((n, start + n), dtype=np.bool_)
        visible[:, base:] = self.masks.of([parent - base for parent in tree])[-n:]
        return visible

    @staticmethod
    def _visible_row_by_row(start: int, n: int, on_spine: int, beside: list[tuple[int, tuple[int, ...]]]) -> Mask:
        visible = np.zeros((n, start + n), dtype=np.bool_)
        for i in range(on_spine):
            visible[i, : start + i + 1] = True
        for i, (limit, seen) in enumerate(beside, start=on_spine):
            line = visible[i]
            line[:limit] = True
            line[list(seen)] = True
        return visible

    def add(self, placement: Placement) -> None:
        """Record rows whose keys and values have been written."""
        assert placement.start == self.length, "the cache changed between placing rows and adding them."
        self.tokens += placement.tokens
        self._parents += placement.parents
        self._positions += placement.positions
        self._spine += placement.on_spine
        self._beside += placement.beside

    def go_on(self, tokens: Sequence[int]) -> None:
        """Record the rows of a chain behind the spine, as `place` and `add` would."""
        start = self._spine
        stop = self._spine = start + len(tokens)
        assert start == len(self.tokens), "a chain goes on behind the spine."
        self.tokens += tokens
        self._parents += range(start - 1, stop - 1)
        self._positions += range(start, stop)

    def keep(self, rows: Sequence[int]) -> None:
        """Make the path `rows` the continuation of the text and drop every other tree row (see `Cache.keep`)."""
        base, stop = self.base, self.base + len(rows)
        if stop <= self._spine and rows == range(base, stop):  # the chain that goes on with the text stands there
            self._cut(stop, [])
            return
        previous, settled = base - 1, 0
        for row in rows:
            assert base <= row < self.length, f"row {row} is not a tree row (rows {base} to {self.length - 1} are)."
            assert self._parents[row] == previous, f"row {row} continues row {self._parents[row]}, not row {previous}."
            settled += row == base + settled
            previous = row
        kept = [self.tokens[row] for row in rows]
        if settled < len(rows):
            self._move_rows(list(rows[settled:]), base + settled)
        self._cut(base, kept)

    def truncate(self, length: int) -> None:
        """Forget everything from linear row `length` on."""
        assert 0 <= length <= self.base, f"row {length} is not on the text, which ends at row {self.base}."
        self._cut(length, [])

    def _cut(self, start: int, kept: list[int]) -> None:
        """End the text with `kept` from row `start` on; nothing else stays."""
        stop = start + len(kept)
        self.tokens[start:] = kept
        self._parents[start:] = range(start - 1, stop - 1)
        self._positions[start:] = range(start, stop)
        self._beside.clear()
        self.base = self._spine = stop
        self._drop_rows(stop)

    @abstractmethod
    def _move_rows(self, rows: list[int], start: int) -> None:
        """Copy the ascending `rows` to `start`, `start` + 1, …; every row is at or above its destination."""

    @abstractmethod
    def _drop_rows(self, length: int) -> None:
        """Rows from `length` on will not be read again."""
