"""Ctrl-C for commands that should keep what is done.

Place in the flow: `run` and `bench` hold it around their loops.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


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
