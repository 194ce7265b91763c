"""Long work beside the page: its results so far, looked at several times a second.

The work runs in a thread of its own, so that neither drawing nor a slow network holds it up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from threading import Thread
from typing import Generic, TypeVar

T = TypeVar("T")


class Background(Generic[T]):
    """Collects `items` in a thread; `look` hands out all so far until they end."""

    def __init__(self, items: Iterator[T], stop: Callable[[], None]) -> None:
        """`stop` makes the items end early; it is called when nobody looks any more."""
        self._items = items
        self._stop = stop
        self._found: list[T] = []
        self._error: Exception | None = None
        self._thread = Thread(target=self._collect, name="specviz-background", daemon=True)

    def look(self, every_s: float) -> Iterator[Sequence[T]]:
        """Everything found so far, at least once, then each `every_s` until the work is over. Raises what it raised."""
        self._thread.start()
        working = True
        try:
            while working:
                self._thread.join(every_s)
                working = self._thread.is_alive()
                yield tuple(self._found)
        finally:
            self._stop()
        if self._error is not None:
            raise self._error

    def _collect(self) -> None:
        try:
            for item in self._items:
                self._found.append(item)
        except Exception as error:  # handed to whoever looks, in their thread
            self._error = error
