"""The tokens that a run is the first to mention, event by event, with how they show.

    tokens of an event ─► those that none before named ─► entries of the trace's vocabulary, at the first look

An entry touches five objects that lie anywhere in memory, so a run that is only timed or counted forms none.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Protocol
from weakref import WeakKeyDictionary

from specviz.trace.events import VocabEntry


class TokenTexts(Protocol):
    """What it needs of a tokenizer."""

    def token_bytes(self, token: int) -> bytes: ...


Entries = dict[int, tuple[str, VocabEntry]]
"""of one tokenizer the tokens that somebody has looked at: id in decimal and entry"""
ENTRIES: WeakKeyDictionary[TokenTexts, Entries] = WeakKeyDictionary()


@lru_cache(maxsize=65_536)
def vocab_entry(data: bytes) -> VocabEntry:
    """A token's exact bytes, and how they show."""
    return VocabEntry(base64.b64encode(data).decode("ascii"), data.decode("utf-8", errors="replace"))


class Vocabulary:
    """Of one run."""

    def __init__(self, texts: TokenTexts) -> None:
        self._texts = texts
        self._entries = ENTRIES.setdefault(texts, {})
        self._known: set[int] = set()

    def new(self, tokens: Iterable[int]) -> Mapping[str, VocabEntry]:
        """Those of them that were not asked about before, in their order: id in decimal → entry."""
        known = self._known
        new = [token for token in dict.fromkeys(tokens) if token not in known]
        known.update(new)
        return NewEntries(new, self._entries, self._texts)


class NewEntries(Mapping[str, VocabEntry]):
    """Of different tokens, formed when somebody first looks at one."""

    __slots__ = ("_entries", "_formed", "_texts", "_tokens")

    def __init__(self, tokens: list[int], entries: Entries, texts: TokenTexts) -> None:
        self._tokens, self._entries, self._texts = tokens, entries, texts
        self._formed: dict[str, VocabEntry] | None = None

    def _all(self) -> dict[str, VocabEntry]:
        if self._formed is None:
            entries = self._entries
            for token in self._tokens:
                if token not in entries:
                    entries[token] = str(token), vocab_entry(self._texts.token_bytes(token))
            self._formed = dict(map(entries.__getitem__, self._tokens))
        return self._formed

    def __getitem__(self, token: str) -> VocabEntry:
        return self._all()[token]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._tokens)
