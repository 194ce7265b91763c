"""Rows of a draft in the target's own cache, made by some of the target's layers; gone when the draft is done.

The text's rows are the target's, so nothing is read twice and nothing has to catch up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from specviz.core.tree import ROOT, DraftTree
from specviz.lm.base import Blocks, Cache, SplitModel, Unfinished

Reader = Callable[[Tensor, Sequence[int]], Tensor]
"""(states [n, hidden] of new rows, the row of the draft that each continues, counted from the root's, which is 0 and
continues -1) → logits [n, V]; asked for every row once, in order"""


class BorrowedRows:
    """One draft's rows. Nodes with the same text share a row."""

    def __init__(self, target: SplitModel, cache: Cache, blocks: Blocks, reader: Reader | None = None) -> None:
        """`reader` says what follows rows; None: the target's own norm and head do."""
        self._target = target
        self._reader: Reader = reader or (lambda states, parents: target.read_out(states))
        self._cache = cache
        self._blocks = blocks
        self._first = cache.length
        self._row_of: dict[tuple[int, int], int] = {}
        """(row of the parent, token) → row"""
        self._row_of_node: dict[int, int] = {}
        self._states: list[Tensor] = []
        """per pass [rows, hidden]"""
        self._rows: list[int] = []
        """per node of the completed tree"""

    @property
    def length(self) -> int:
        """Rows in the cache, the text's included."""
        return self._cache.length

    def read(self, nodes: Sequence[tuple[int, int, int]]) -> Tensor:
        """Feed nodes given as (parent node, node, token), the root's parent being -1; logits [len(nodes), V]."""
        start = self._cache.length
        tokens, parents, rows = list[int](), list[int](), list[int]()
        for parent, node, token in nodes:
            key = (self._first - 1 if node == ROOT else self._row_of_node[parent], token)
            if key not in self._row_of:
                self._row_of[key] = start + len(tokens)
                tokens.append(token)
                parents.append(key[0])
            self._row_of_node[node] = self._row_of[key]
            rows.append(self._row_of[key] - start)
        states = self._target.partial(tokens, self._cache, parents, self._blocks)
        self._states.append(states)
        logits = self._reader(states, [parent - self._first for parent in parents])
        return logits if len(rows) == len(tokens) else logits[rows]

    def drop(self) -> None:
        """Leave the cache as it was."""
        self._cache.keep([])

    def complete(self, tree: DraftTree) -> int:
        """Feed the candidates of the finished tree below which nothing was asked; how many there were.

        The target's pass then need not run the first layers for any of them.
        """
        rows, fresh = [self._first], self._cache.length
        tokens, parents = list[int](), list[int]()
        for node in range(1, len(tree)):
            key = (rows[tree.parents[node]], tree.tokens[node])
            if key not in self._row_of:
                self._row_of[key] = fresh + len(tokens)
                tokens.append(key[1])
                parents.append(key[0])
            rows.append(self._row_of[key])
        if tokens:
            self._states.append(self._target.partial(tokens, self._cache, parents, self._blocks))
        self._rows = rows
        return len(tokens)

    def hand_over(self, layers: int) -> Unfinished:
        """The rows of the completed tree (`DraftTree.rows`) after the first `layers` layers; the cache is as it was."""
        rows = list(dict.fromkeys(self._rows))
        states = torch.cat(self._states)
        if rows != list(range(self._first, self._first + len(states))):
            states = states[[row - self._first for row in rows]]
        return self._target.set_aside(self._cache, rows, states, layers)
