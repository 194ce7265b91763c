"""The two-dimensional window of lookahead decoding: Jacobi trajectories, one column per position ahead.

    level 0   root  g₁   g₂   …     column i begins i tokens after the root
    level 1    ·    ·    ·    …     a column's next token, guessed one iteration later
    new        ·    ·    ·    …     the target's answers at the ends of the columns

Knows nothing about trees, pools and models.
"""

from __future__ import annotations

from collections.abc import Sequence


class Window:
    """`width` columns of up to `height` levels. Token (level l, column i) stands i + l tokens after the root."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self.levels: list[list[int]] = []
        """as they were before the root's own token took the place of level 0, column 0"""
        self._read = 0

    @property
    def is_full(self) -> bool:
        """It gives n-grams."""
        return len(self.levels) == self.height

    def begin(self, tokens: Sequence[int]) -> None:
        """Level 0 begins with tokens of the text, read in a circle: any guess will do, and this one needs no chance."""
        self.levels = [self._fresh(tokens, self.width)]

    def column(self, index: int) -> list[int]:
        """Tokens from level 0 down."""
        return [level[index] for level in self.levels]

    def advance(self, answers: Sequence[int], committed: int, tokens: Sequence[int]) -> None:
        """One iteration: `answers` (of the first columns, at least one) become the last level, `committed` tokens went
        into the text. A full window gives up its first level, which is one position; columns now behind the root
        leave at the left, and tokens of the text fill up the right."""
        answered = [*answers, *self._fresh(tokens, self.width - len(answers))]
        moved = committed - 1 if self.is_full else committed
        levels = [*self.levels, answered][-self.height :]
        kept = [level[moved:] for level in levels]
        self.levels = [[*level, *self._fresh(tokens, self.width - len(level))] for level in kept]

    def _fresh(self, tokens: Sequence[int], count: int) -> list[int]:
        found = [tokens[(self._read + index) % len(tokens)] for index in range(count)]
        self._read += count
        return found


def columns_that_fit(window: Window, max_depth: int) -> int:
    """Columns whose last token is no deeper than `max_depth` below the root."""
    return max(0, min(window.width, max_depth - len(window.levels) + 2))
