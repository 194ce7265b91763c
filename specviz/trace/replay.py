"""A trace, folded: the text as it stood after any round, and how bytes become characters on a screen.

A token may end inside a UTF-8 character; every character belongs to the token that completes it. Pure functions of the
trace.
"""

from __future__ import annotations

import base64
import codecs
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from specviz.trace.events import CommittedToken, Origin, Trace


@dataclass(frozen=True, slots=True)
class Piece:
    """One committed token as it shows: the characters it completes (none, if a later token does)."""

    token: int
    text: str
    origin: Origin | None
    """None: a prompt token"""
    round: int | None
    node: int | None


@dataclass(frozen=True, slots=True)
class TextState:
    """The text after some rounds."""

    rounds: int
    """rounds folded in"""
    ids: tuple[int, ...]
    """prompt and committed tokens"""
    pieces: tuple[Piece, ...]
    """one per token, prompt first"""

    @property
    def text(self) -> str:
        """What the pieces spell; an unfinished character at the end is not shown yet."""
        return "".join(piece.text for piece in self.pieces)


@lru_cache(maxsize=4096)
def _raw(encoded: str) -> bytes:
    return base64.b64decode(encoded)


def token_bytes(trace: Trace, token: int) -> bytes:
    """The token's exact bytes."""
    return _raw(trace.vocab[str(token)].bytes)


def decoded(data: bytes) -> str:
    """UTF-8 for display: each undecodable stretch becomes U+FFFD."""
    return data.decode("utf-8", errors="replace")


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


def state_after(trace: Trace, rounds: int) -> TextState:
    """The text when `rounds` rounds are over: 0 is the prompt alone, `len(trace.rounds)` the whole run."""
    if not 0 <= rounds <= len(trace.rounds):
        raise IndexError(
            f"rounds is {rounds}, but this trace has {len(trace.rounds)}; choose 0 to {len(trace.rounds)}."
        )
    made: list[tuple[CommittedToken, int]] = [
        (token, this.index) for this in trace.rounds[:rounds] for token in this.committed.tokens
    ]
    prompt = trace.started.prompt_ids
    ids = (*prompt, *(token.token for token, _ in made))
    shown = display_pieces((token_bytes(trace, id_) for id_ in ids), final=rounds == len(trace.rounds))
    pieces = [Piece(id_, text, None, None, None) for id_, text in zip(prompt, shown, strict=False)]
    pieces += [
        Piece(token.token, text, token.origin, index, token.node)
        for (token, index), text in zip(made, shown[len(prompt) :], strict=True)
    ]
    return TextState(rounds, ids, tuple(pieces))
