"""The adjacency matrix of Token Recycling: for each token the K tokens that the target last put first after it.

Knows nothing about trees, models or rounds: rows go in, rows come out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specviz.errors import MemoryFileError

UNKNOWN = -1
"""stands in rows of tokens that were never seen; no token has this id"""


class Followers:
    """Rows of token ids [vocab_size, width] in int32, the most probable follower first (2408.08696, §3.1)."""

    def __init__(self, vocab_size: int, width: int) -> None:
        self.width = min(width, vocab_size)
        self._rows = np.full((vocab_size, self.width), UNKNOWN, dtype=np.int32)

    @property
    def size_bytes(self) -> int:
        """The whole matrix, known rows or not."""
        return self._rows.nbytes

    @property
    def known(self) -> int:
        """Tokens whose row was ever written."""
        return len(self._known_tokens())

    def after(self, token: int) -> list[int]:
        """The token's row; empty where nothing is known about it."""
        row = self._rows[token]
        return [] if row[0] == UNKNOWN else row.tolist()

    def write(self, tokens: Sequence[int], rows: np.ndarray) -> None:
        """Write rows [len(tokens), width]. Of several rows for one token the last stays."""
        last = {token: index for index, token in enumerate(tokens)}
        self._rows[list(last)] = rows[list(last.values())]

    def dump(self) -> bytes:
        """The known rows as little-endian int32: all their tokens, then row after row."""
        known = self._known_tokens()
        return bytes(known.astype("<i4").tobytes() + self._rows[known].astype("<i4").tobytes())

    def load(self, data: bytes) -> None:
        """Take over what `dump` gave. Raises MemoryFileError where it is no matrix of this width and vocabulary."""
        count, odd = divmod(len(data), 4 * (1 + self.width))
        numbers = np.frombuffer(data, dtype="<i4") if odd == 0 else np.empty(0, dtype="<i4")
        if odd or not all(0 <= end < len(self._rows) for end in (numbers.min(initial=0), numbers.max(initial=0))):
            raise MemoryFileError(
                f"the memory holds no rows of {self.width} followers each for a vocabulary of {len(self._rows)} "
                "tokens; begin anew with --memory reset."
            )
        self._rows[numbers[:count]] = numbers[count:].reshape(count, self.width)

    def _known_tokens(self) -> np.ndarray:
        return np.flatnonzero(self._rows[:, 0] != UNKNOWN)
