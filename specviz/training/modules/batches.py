"""Batches of text that modules learn from: windows of the corpus, and what the target itself goes on to write.

Place in the flow: between the corpus and the loop. On the target's own text acceptance is what counts, so two of three
batches hold it; a batch is a pure function of the step, so that a resumed run goes on exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from specviz.errors import TrainingError
from specviz.training.generation import TEMPERATURES, Beginnings, continue_batch
from specviz.training.mixture import DocumentWindows, Mixture
from specviz.training.modules.teacher import Teacher
from specviz.training.modules.texts import Domain
from specviz.training.windows import TokenStream

WRITTEN_OF_THREE = 2
"""of three batches hold what the target wrote"""


@dataclass(frozen=True)
class TextOptions:
    """Shape of the batches, and how much the target writes."""

    length: int = 192
    rows: int = 4
    english: float = 0.5
    seed: int = 0
    block_rows: int = 48
    """rows that the target writes together"""
    write_every: int = 32
    """steps from one such block to the next; before the first, all text is the corpus'"""
    most_written: int = 32


def beginnings(
    domains: Sequence[Domain], english: float, rows: int, seed: int, end: int, held_out: bool
) -> list[Beginnings]:
    """One for each of `rows`, English in its share, spread over the rows."""
    found = []
    for row in range(rows):
        domain = domains[0] if int((row + 1) * english) > int(row * english) else domains[1]
        found.append(Beginnings(domain.held_out if held_out else domain.train, 1000 * seed + row, end))
    return found


def written(teacher: Teacher, given: Sequence[Beginnings], length: int, temperature: float, seed: int) -> TokenStream:
    """Text of the target, uint16 [rows, length]: it goes on from each beginning, and begins anew behind its end."""
    generator = torch.Generator(device=teacher.model.device).manual_seed(seed)
    was = teacher.model.config._attn_implementation
    try:
        return continue_batch(teacher.model, given, length - 1, temperature, generator).ids
    finally:
        teacher.model.set_attn_implementation(was)


class Texts:
    """Batches of training text, tokens [B, T], by step."""

    def __init__(self, teacher: Teacher, domains: Sequence[Domain], options: TextOptions, folder: Path | None) -> None:
        """What the target writes is kept in `folder`, so that a resumed run need not write it again."""
        self.teacher, self.domains, self.options, self.folder = teacher, domains, options, folder
        self._pool: list[TokenStream] = []
        self._taught: TokenStream | None = None
        length, seed, share = options.length - 1, options.seed, options.english
        windows = [DocumentWindows(domain.train, length, seed) for domain in domains]
        self._corpus = Mixture(windows[0], windows[1], share, options.rows) if 0 < share < 1 else None
        self._one_kind = windows[0] if share == 1 else windows[1]

    def use_taught(self, ids: TokenStream) -> None:
        """Take rows [n, ≥ T] that the target wrote in an earlier stage, instead of letting it write."""
        if ids.shape[1] < self.options.length:
            raise TrainingError(
                f"The taught rows hold {ids.shape[1]} tokens each, and windows of {self.options.length} are asked for: "
                "ask for shorter ones."
            )
        self._taught = ids[:, : self.options.length]

    @property
    def written_tokens(self) -> int:
        """Tokens of target text at hand."""
        return sum(block.size for block in self._pool) if self._taught is None else int(self._taught.size)

    def batch(self, step: int) -> Tensor:
        """int64 [B, T]; a pure function of the step."""
        if step % 3 >= WRITTEN_OF_THREE:
            return self._windows(step // 3)
        return self._written(step) if self.holds_written(step) else self._windows(self.options.write_every + step)

    def holds_written(self, step: int) -> bool:
        """Whether this batch holds beginnings from the corpus and what the target wrote behind them, or else windows of
        the corpus."""
        begun = self._taught is not None or self._blocks_at(step) > 0
        return begun and step % 3 < WRITTEN_OF_THREE

    def written_share(self, steps: int) -> float:
        """Of the first so many batches, or at most one: those that hold what the target wrote."""
        return sum(self.holds_written(step) for step in range(steps)) / max(1, steps)

    def _blocks_at(self, step: int) -> int:
        """That the target has written by then."""
        return min(self.options.most_written, step // self.options.write_every)

    def _windows(self, index: int) -> Tensor:
        if self._corpus is not None:
            return self._corpus.batch(index).ids
        first = index * self.options.rows
        rows = [self._one_kind.window(first + row) for row in range(self.options.rows)]
        return torch.from_numpy(np.stack(rows).astype(np.int64))

    def _written(self, step: int) -> Tensor:
        """Rows drawn from what the target has written up to this step."""
        if self._taught is not None:
            pool = self._taught
        else:
            wanted = self._blocks_at(step)
            while len(self._pool) < wanted:
                self._pool.append(self._block(len(self._pool)))
            pool = np.concatenate(self._pool[:wanted])
        chosen = np.random.default_rng((self.options.seed, 2, step)).integers(len(pool), size=self.options.rows)
        return torch.from_numpy(pool[np.sort(chosen)].astype(np.int64))

    def _block(self, number: int) -> TokenStream:
        """The numbered block of target text, uint16 [rows, T], from disk where it is there."""
        path = self.folder / f"written_{number:03d}.npy" if self.folder else None
        if path is not None and path.is_file():
            kept: TokenStream = np.load(path)
            return kept
        options, own_seed = self.options, 7919 * self.options.seed + number
        given = beginnings(
            self.domains, options.english, options.block_rows, own_seed, self.teacher.end, held_out=False
        )
        block = written(self.teacher, given, options.length, TEMPERATURES[number % len(TEMPERATURES)], own_seed)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, block)
        return block
