"""How the bytes of a trace's tokens become characters on a screen.

A token may end inside a UTF-8 character; every character belongs to the token that completes it. Pure functions of the
trace.
"""

from __future__ import annotations

import base64
import codecs
from collections.abc import Iterable
from functools import lru_cache

from specviz.trace.events import Trace


@lru_cache(maxsize=4096)
def _raw(encoded: str) -> bytes:
    return base64.b64decode(encoded)


def token_bytes(trace: Trace, token: int) -> bytes:
    """The token's exact bytes."""
    return _raw(trace.vocab[str(token)].bytes)


def decoded(data: bytes) -> str:
    """UTF-8 for display: each undecodable stretch becomes U+FFFD."""
    return data.decode("utf-8", errors="replace")


def _piece(error: UnicodeError) -> tuple[str, int]:
    """What bytes that are no character are shown as."""
    assert isinstance(error, UnicodeDecodeError), "nothing is encoded here."
    piece = error.object[error.start : error.end]
    return f"⟨{'·'.join(f'{byte:02X}' for byte in piece)}⟩", error.end


codecs.register_error("specviz-pieces", _piece)


def legible(token: bytes) -> str:
    """A token that stands alone: its characters, and the bytes of what is only a piece of one.

    >>> legible(b" \\xf0\\x9f")
    ' ⟨F0·9F⟩'
    """
    return token.decode("utf-8", errors="specviz-pieces").replace("⟩⟨", "·")


def token_alone(trace: Trace, token: int) -> str:
    """The same of a token of the trace."""
    return legible(token_bytes(trace, token))


def output_bytes(trace: Trace) -> bytes:
    """The output as bytes: all output ids but the tokenizer's special ones, which are not text."""
    special = set(trace.started.tokenizer.special_ids)
    return b"".join(token_bytes(trace, token) for token in trace.finished.output_ids if token not in special)


def display_pieces(parts: Iterable[bytes], final: bool = True) -> list[str]:
    """Bytes of successive tokens → the characters that each completes; undecodable bytes show as U+FFFD.

    With `final`, a character left unfinished by the last token shows as U+FFFD there; without, it waits for more.

    >>> display_pieces([b"a", b"\\xf0\\x9f", b"\\x9a\\x80!"])
    ['a', '', '🚀!']
    """
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    pieces = [decoder.decode(part) for part in parts]
    tail = decoder.decode(b"", final=True) if final else ""
    if pieces and tail:
        pieces[-1] += tail
    return pieces
