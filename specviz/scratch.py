"""One folder of this process for files that it needs for a while: gone with it, and where it was killed, swept by the
next page that starts.

A lock on a file in it says that its process lives: the system lets it go however that one ends, and a process's number
would be another's in another container with the same disk. Where there are no such locks nothing of others is touched.
"""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import IO

try:
    import fcntl
except ImportError:  # no such locks on this system
    fcntl = None  # type: ignore[assignment]

PREFIX = "specviz-scratch-"
LOCK = "in-use"


class _Scratch:
    """A folder that is this process's own as long as this object lives."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True)
        self.path = Path(self._folder.name)
        self._lock = (self.path / LOCK).open("w")
        _try_lock(self._lock)


@cache
def _of_this_process() -> _Scratch:
    return _Scratch()


def scratch() -> Path:
    """The folder; made when it is first asked for."""
    return _of_this_process().path


def sweep() -> list[Path]:
    """Remove the folders of processes that have ended without doing so; which they were."""
    found = []
    for folder in Path(gettempdir()).glob(f"{PREFIX}*"):
        if _is_left(folder):
            shutil.rmtree(folder, ignore_errors=True)
            found.append(folder)
    return found


def _is_left(folder: Path) -> bool:
    """Whether it has a lock that nobody holds: one without is just being made."""
    try:
        with (folder / LOCK).open("r+") as lock:
            return fcntl is not None and _try_lock(lock)
    except OSError:  # no lock, or another user's
        return False


def _try_lock(file: IO[str]) -> bool:
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
