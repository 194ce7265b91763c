"""The rows of `cross_kv` as it runs: of the text, as few as its shape needs, and of the draft under way.

    text's rows ─ no mask ─┐
                           ├ merge (log-sum-exp) ─► own attention
    draft's rows ─ a tree ─┘

Registers nothing.

Shapes: A heads, L rows, n new ones, D components, H hidden size.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from specviz.drafters.parts.cross_network import Across, CrossLayer
from specviz.drafters.parts.merged_attention import attend, merge

FIRST_ROWS = 64
"""rows there is room for at first; it doubles when full"""


class TextRows:
    """Keys and values [2, A, L, D] of the last tokens of the text: at most `most` of them, or all."""

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._rows: Tensor | None = None
        self.length = 0

    def append(self, keys: Tensor, values: Tensor) -> None:
        """Rows [A, n, D] of the next n tokens."""
        new = torch.stack([keys, values])
        if self._most is not None:
            old = self._rows[:, :, : self.length] if self._rows is not None else new[:, :, :0]
            self._rows = torch.cat([old, new], 2)[:, :, -self._most :] if self._most else new[:, :, :0]
            self.length = self._rows.shape[2]
            return
        stop = self.length + new.shape[2]
        if self._rows is None or stop > self._rows.shape[2]:
            room = FIRST_ROWS
            while room < stop:
                room *= 2
            grown = new.new_empty(*new.shape[:2], room, new.shape[3])
            if self._rows is not None:
                grown[:, :, : self.length] = self._rows[:, :, : self.length]
            self._rows = grown
        self._rows[:, :, self.length : stop] = new
        self.length = stop

    @property
    def kept(self) -> tuple[Tensor, Tensor] | None:
        """Keys and values [A, L, D]; None where there are none."""
        if self._rows is None or not self.length:
            return None
        return self._rows[0, :, : self.length], self._rows[1, :, : self.length]

    @property
    def bytes(self) -> int:
        """Of the rows it holds."""
        return 0 if (kept := self.kept) is None else sum(one.numel() * one.element_size() for one in kept)


class DraftRows:
    """Rows of one draft through all layers: the root's is 0, every other one continues an earlier one."""

    def __init__(self, layers: Sequence[CrossLayer], text: Sequence[TextRows], position: int) -> None:
        """`position` is that of the root in the text."""
        self._layers, self._text, self._position = layers, text, position
        self._rows: list[tuple[Tensor, Tensor]] = []
        """per layer, keys and values [A, L, D]"""
        self._lines: list[list[int]] = []
        """per row: its ancestors and itself"""

    @property
    def length(self) -> int:
        """Rows so far."""
        return len(self._lines)

    def place(self, parents: Sequence[int]) -> tuple[Tensor, Tensor | None]:
        """Of new rows that continue these (-1: the text): positions [n], and which rows of the draft each sees
        [n, L + n]; None: all of them."""
        before = len(self._lines)
        for parent in parents:
            line = self._lines[parent] if parent >= 0 else []
            self._lines.append([*line, len(self._lines)])
        new = self._lines[before:]
        positions = torch.tensor([self._position + len(line) - 1 for line in new])
        if all(len(line) == len(self._lines) for line in new):
            return positions, None
        seen = torch.zeros(len(new), len(self._lines), dtype=torch.bool)
        for row, line in enumerate(new):
            seen[row, line] = True
        return positions, seen

    def run(self, x: Tensor, positions: Tensor, seen: Tensor | None, across: Across | None) -> Tensor:
        """x [n, H] of the rows just placed through all layers [n, H]."""
        turns = self._layers[0].turns(positions)
        for number, layer in enumerate(self._layers):

            def own(queries: Tensor, keys: Tensor, values: Tensor, number: int = number) -> Tensor:
                keys, values = self._keep(number, keys, values)
                tree = attend(queries, keys, values, seen)
                text = self._text[number].kept
                return tree.found if text is None else merge(attend(queries, *text), tree)

            x = layer(x, turns, own, across)
        return x

    def _keep(self, number: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        if number == len(self._rows):
            self._rows.append((keys, values))
        else:
            old = self._rows[number]
            self._rows[number] = torch.cat([old[0], keys], 1), torch.cat([old[1], values], 1)
        return self._rows[number]
