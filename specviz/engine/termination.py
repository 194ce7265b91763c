"""When a text ends: an end-of-text token, a stop string, or a length; decided token by token as they are committed.

Stop strings are found in the exact bytes, so they may lie across tokens and inside characters' bytes alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specviz.errors import OptionError
from specviz.trace.events import EndReason


@dataclass(frozen=True, slots=True)
class Limits:
    """What ends a run."""

    max_new_tokens: int
    eos_ids: frozenset[int] = frozenset()
    stop: tuple[str, ...] = ()
    unsaid: frozenset[int] = frozenset()
    """special tokens that end no text"""

    def __post_init__(self) -> None:
        if self.max_new_tokens < 1:
            raise OptionError(f"max_new_tokens is {self.max_new_tokens}, but must be at least 1.")
        if "" in self.stop:
            raise OptionError("a stop string is empty, which every text contains; leave it out.")


class Ending:
    """Follows one output. `token_bytes` gives the bytes a token adds to the text (none for special tokens)."""

    def __init__(self, limits: Limits, token_bytes: Callable[[int], bytes]) -> None:
        self._limits = limits
        self._token_bytes = token_bytes
        self._stops = tuple(stop.encode() for stop in limits.stop)
        self._memory = max(map(len, self._stops), default=1) - 1
        self._tail = b""
        self.tokens = 0
        self.reason: EndReason | None = None
        self.surplus_bytes = 0
        """bytes of the last token beyond the end of the stop string"""

    @property
    def ends(self) -> frozenset[int]:
        """Tokens that end the text."""
        return self._limits.eos_ids

    @property
    def unsaid(self) -> frozenset[int]:
        """Special tokens that do not."""
        return self._limits.unsaid

    @property
    def left(self) -> int:
        """Tokens that may still be committed."""
        return self._limits.max_new_tokens - self.tokens

    def commit(self, token: int) -> EndReason | None:
        """Count one more token; why the text ends with it, or None."""
        self.tokens += 1
        if token in self._limits.eos_ids:
            self.reason = "eos"
        elif self._stops and self._stopped(token):
            self.reason = "stop"
        elif self.left <= 0:
            self.reason = "length"
        return self.reason

    def _stopped(self, token: int) -> bool:
        window = self._tail + self._token_bytes(token)
        ends = [at + len(stop) for stop in self._stops if (at := window.find(stop)) >= 0]
        if ends:
            self.surplus_bytes = len(window) - min(ends)
            return True
        self._tail = window[len(window) - min(self._memory, len(window)) :]
        return False

    def text(self, tokens: Sequence[int]) -> str:
        """The output as text, cut after the stop string; undecodable bytes become U+FFFD."""
        data = b"".join(map(self._token_bytes, tokens))
        return data[: len(data) - self.surplus_bytes].decode("utf-8", errors="replace")
