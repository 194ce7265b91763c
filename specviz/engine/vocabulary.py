"""The tokens that a run is the first to mention, event by event, with how they show.

    tokens of an event ─► those that none before named ─► entries of the trace's vocabulary, at the first look

An entry touches five objects that lie anywhere in memory, so a run that is only timed or counted forms none.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import Protocol
from weakref import WeakKeyDictionary, proxy

from specviz.trace.events import VocabEntry


class TokenTexts(Protocol):
    """What it needs of a tokenizer."""

    def token_bytes(self, token: int) -> bytes: ...


class Entries(dict[int, VocabEntry]):
    """Of one tokenizer, by id: the tokens that somebody has looked at, as any other is once it is looked up."""

    def __init__(self, texts: TokenTexts) -> None:
        self._texts = proxy(texts)  # which these live no longer than

    def __missing__(self, token: int) -> VocabEntry:
        entry = self[token] = vocab_entry(self._texts.token_bytes(token))
        return entry


ENTRIES: WeakKeyDictionary[TokenTexts, Entries] = WeakKeyDictionary()


@lru_cache(maxsize=65_536)
def vocab_entry(data: bytes) -> VocabEntry:
    """A token's exact bytes, and how they show."""
    return VocabEntry(base64.b64encode(data).decode("ascii"), data.decode("utf-8", errors="replace"))


class Vocabulary:
    """Of one run."""

    def __init__(self, texts: TokenTexts) -> None:
        self._texts = texts
        self._entries = ENTRIES.setdefault(texts, Entries(texts))
        self._known: dict[int, None] = {}
        self._new: list[list[int]] = []
        """of each event the tokens that it was the first to name"""

    def event(self, tokens: Iterable[int]) -> int:
        """One more that names these tokens; its number."""
        known, before = self._known, len(self._known)
        known.update(dict.fromkeys(tokens))
        latest_first = list(islice(reversed(known), len(known) - before))
        self._new.append(latest_first[::-1])
        return len(self._new) - 1

    def entries(self, event: int) -> dict[str, VocabEntry]:
        """Of the tokens that this event was the first to name, in their order: id in decimal → entry."""
        tokens = self._new[event]
        return dict(zip(map(str, tokens), map(self._entries.__getitem__, tokens), strict=True))
