"""Token by token to text: bytes from the vocabulary table, decoded as they come.

Place in the flow: `run` and `replay` print tokens through it.
"""

from __future__ import annotations

import base64
import codecs
from collections.abc import Mapping

from specviz.trace.events import VocabEntry


class TokenTexts:
    """Decodes a stream of token ids. A character split over tokens appears with the token that completes it."""

    def __init__(self, vocab: Mapping[str, VocabEntry]) -> None:
        """`vocab` may grow while the stream is read."""
        self.vocab = vocab
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def next(self, token: int) -> str:
        """The text this token completes; empty inside a character."""
        entry = self.vocab.get(str(token))
        return self._decoder.decode(base64.b64decode(entry.bytes)) if entry else f"<{token}>"

    def rest(self) -> str:
        """What an unfinished character at the end leaves: U+FFFD or nothing."""
        return self._decoder.decode(b"", final=True)


def label(vocab: Mapping[str, VocabEntry], token: int) -> str:
    """A single token for display, where it stands alone (a node, a bar)."""
    entry = vocab.get(str(token))
    return entry.text if entry else f"<{token}>"
