"""Small files for visitors to take away: written where Gradio serves from, the same content once, the oldest removed.

Place in the flow: tabs give a name and a content and hand the path to a download button. A redraw of the same chart, or
the same recorded numbers on another page, is the same file; all are gone when the server ends.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from gradio.utils import get_upload_folder

MOST_FILES = 2000
"""kept at a time: some tens of kilobytes each, and more than a page shows in days"""
MOST_BYTES = 256_000_000
"""of all together: a zip of many traces' tables takes megabytes"""


def served_folder() -> Path:
    """Gradio's own folder: a file in it is served as it lies, one from elsewhere is copied there and the copy stays."""
    folder = Path(get_upload_folder()).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Offered:
    """The files of one server."""

    def __init__(self, most: int = MOST_FILES, most_bytes: int = MOST_BYTES) -> None:
        self._folder = TemporaryDirectory(prefix="specviz-offered-", dir=served_folder(), ignore_cleanup_errors=True)
        self._most, self._most_bytes = most, most_bytes
        self._lock = Lock()
        self._kept: dict[Path, int] = {}
        """bytes of each; the one offered last at the end"""

    def file(self, name: str, content: str | bytes) -> str:
        """Where a file of that name with that content lies."""
        content = content.encode("utf-8") if isinstance(content, str) else content
        path = Path(self._folder.name) / hashlib.sha256(content).hexdigest()[:32] / name
        with self._lock:
            if path not in self._kept:
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(content)
            self._kept.pop(path, None)
            self._kept[path] = len(content)
            while len(self._kept) > self._most or self._too_large():
                oldest = next(iter(self._kept))
                del self._kept[oldest]
                oldest.unlink(missing_ok=True)
                if not os.listdir(oldest.parent):
                    oldest.parent.rmdir()
        return str(path)

    def _too_large(self) -> bool:
        """Whether something must go; the file offered last stays whatever its size."""
        return len(self._kept) > 1 and sum(self._kept.values()) > self._most_bytes


@cache
def _of_this_server() -> Offered:
    return Offered()


def offered(name: str, content: str | bytes) -> str:
    """A file of this server, to be handed to a download button."""
    return _of_this_server().file(name, content)
