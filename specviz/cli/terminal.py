"""Writing to a terminal: colours when there is one, progress bars, Ctrl-C, and model text that cannot command it.

Place in the flow: every command prints through here.

Model, prompt and trace text is hostile: an escape sequence in a token could move the cursor, retitle the window or
hide what was printed. So each such text goes through `printable` first, whether or not a terminal listens.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TextIO, TypeVar

RESET = "\x1b[0m"
STYLES: Mapping[str, str] = {
    "accepted": "\x1b[32m",
    "rejected": "\x1b[9;31m",
    "unreached": "\x1b[2m",
    "correction": "\x1b[33m",
    "bonus": "\x1b[36m",
    "target": "",
    "forced": "\x1b[35m",
    "root": "\x1b[1m",
    "dim": "\x1b[2m",
    "bold": "\x1b[1m",
    "error": "\x1b[31m",
}
"""fate, origin or tone → SGR sequence; every colour comes with a word, so none is the only sign"""

MARKS: Mapping[str, str] = {"root": "■", "accepted": "●", "rejected": "✗", "unreached": "○"}


def printable(text: str, keep: str = "\n\t") -> str:
    """`text` with every character that is not plainly visible written as a Python escape, `keep` excepted.

    Control characters (C0, C1, DEL), direction overrides, zero-width and unassigned characters, lone
    surrogates: none reaches the terminal as itself.
    """
    return "".join(one if one.isprintable() or one in keep or one == "\u3000" else _escape(one) for one in text)


def visible(text: str) -> str:
    """`printable` on one line, with spaces and newlines shown as marks."""
    return printable(text.replace(" ", "␣").replace("\n", "⏎").replace("\t", "⇥"), keep="")


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


@dataclass(frozen=True, slots=True)
class Terminal:
    """A stream and whether it takes colours."""

    stream: TextIO
    colour: bool

    def paint(self, text: str, style: str) -> str:
        """`text`, already printable, in the style's colour where colours are on."""
        code = STYLES[style] if self.colour else ""
        return f"{code}{text}{RESET}" if code and text else text

    def write(self, text: str) -> None:
        """Write and flush, so that a stream of tokens is seen as it comes."""
        self.stream.write(text)
        self.stream.flush()

    def line(self, text: str = "") -> None:
        self.write(text + "\n")

    def row(self, values: Mapping[str, object]) -> None:
        """Named values on one line: what a training or a measurement says of itself meanwhile."""
        self.line("  ".join(f"{name} {value}" for name, value in values.items()))


def has_colour(stream: TextIO) -> bool:
    """A terminal, and neither NO_COLOR (no-color.org: set and not empty) nor TERM=dumb asks for plain text."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def out() -> Terminal:
    """Standard output as it is now."""
    return Terminal(sys.stdout, has_colour(sys.stdout))


def err() -> Terminal:
    """Standard error as it is now: progress and error sentences."""
    return Terminal(sys.stderr, has_colour(sys.stderr))


T = TypeVar("T")


def bar(total: int, label: str, shown: bool = True) -> Any:
    """A tqdm bar to `update` and `close`; silent when not `shown` or when standard error is no terminal."""
    from tqdm import tqdm

    return tqdm(desc=label, total=total, file=sys.stderr, disable=not (shown and sys.stderr.isatty()), leave=False)


def progress(items: Iterable[T], label: str, total: int) -> Iterator[T]:
    """`items`, with a bar while they are consumed."""
    with bar(total, label) as shown:
        for item in items:
            yield item
            shown.update()


@contextmanager
def stop_on_interrupt(begun: threading.Event, stopped: threading.Event) -> Iterator[None]:
    """Once the work has begun, Ctrl-C sets `stopped`, and the work ends at once with what it has. Before that
    (models loading), and the second time, it leaves."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(_signal: int, _frame: object) -> None:
        if stopped.is_set() or not begun.is_set():
            raise KeyboardInterrupt
        stopped.set()

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
