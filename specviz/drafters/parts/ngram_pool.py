"""A pool of n-grams by their first token: a few continuations per token; the one not seen for longest gives way.

Knows nothing about where n-grams come from or how they are drafted.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from specviz.errors import MemoryFileError

Ngram = tuple[int, ...]


class NgramPool:
    """First token → the `size` continuations of `length` - 1 tokens that were seen last."""

    def __init__(self, length: int, size: int) -> None:
        self._length = length
        self._size = size
        self._after: dict[int, dict[Ngram, None]] = {}

    def __len__(self) -> int:
        """N-grams held."""
        return sum(map(len, self._after.values()))

    def add(self, ngram: Sequence[int]) -> bool:
        """Take in an n-gram, or make a known one the newest; whether it is new."""
        first, rest = ngram[0], tuple(ngram[1:])
        known = self._after.setdefault(first, {})
        is_new = rest not in known
        known.pop(rest, None)
        known[rest] = None
        if len(known) > self._size:
            del known[next(iter(known))]
        return is_new

    def read(self, tokens: Sequence[int], start: int = 0) -> None:
        """Take in every n-gram of a text that begins at `start` or later."""
        for position in range(max(0, start), len(tokens) - self._length + 1):
            self.add(tokens[position : position + self._length])

    def after(self, token: int) -> list[Ngram]:
        """What followed the token, newest first."""
        return list(reversed(self._after.get(token, {})))

    def to_bytes(self) -> bytes:
        """Everything, the oldest first."""
        return json.dumps([[first, *rest] for first, known in self._after.items() for rest in known]).encode()

    def from_bytes(self, data: bytes) -> None:
        """Take in what `to_bytes` gave. Raises MemoryFileError where it is no list of n-grams of this length."""
        try:
            ngrams = json.loads(data)
            fits = isinstance(ngrams, list) and all(self._is_ngram(one) for one in ngrams)
        except ValueError:
            fits = False
        if not fits:
            raise MemoryFileError(
                f"the memory holds something else than n-grams of {self._length} tokens; begin anew with memory "
                "'reset'."
            )
        for ngram in ngrams:
            self.add(ngram)

    def _is_ngram(self, one: object) -> bool:
        return isinstance(one, list) and len(one) == self._length and all(type(token) is int for token in one)
