"""Files of traces, races and trainings: read with a bound, written whole or not at all.

Whatever goes wrong becomes one sentence that begins with the file's name.
"""

from __future__ import annotations

import gzip
import io
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from specviz.errors import SpecVizError, TraceError
from specviz.trace.limits import Limits

T = TypeVar("T")

SUFFIXES = (".json", ".json.gz")


def read_file(path: Path, loads: Callable[[bytes], T], limits: Limits, error: type[SpecVizError] = TraceError) -> T:
    """What `loads`, which raises `error`, makes of the stored bytes. Raises `error` too."""
    try:
        with path.open("rb") as file:
            content = file.read(limits.stored_bytes + 1)
    except OSError as problem:
        raise error(f"{path.name}: cannot be read ({problem.strerror}); check the path.") from None
    try:
        return loads(content)
    except error as problem:
        raise error(f"{path.name}: {problem}") from None


def check_place(path: Path, what: str) -> None:
    """Raises TraceError where `write_file` could not write: to be asked before something is computed, too."""
    if not path.name.endswith(SUFFIXES):
        raise TraceError(f"{path.name}: {what} is written to a name ending in .json or .json.gz; choose one of them.")
    if not path.parent.is_dir():
        raise TraceError(f"{path.name}: there is no folder '{path.parent}' to write it to; make it first.")


def write_file(path: Path, content: str, what: str) -> None:
    """Write `.json` or `.json.gz`, by the suffix; the same content always gives the same bytes. content: ASCII; what:
    what it is, with its article. Raises TraceError, and then leaves what was there."""
    check_place(path, what)
    raw = content.encode("ascii")
    try:
        replace_whole(path, compressed(raw) if path.name.endswith(".gz") else raw + b"\n")
    except OSError as error:
        raise TraceError(f"{path.name}: cannot be written ({error.strerror}); choose another place.") from None


def replace_whole(path: Path, content: bytes) -> None:
    """The file as a whole or not at all: a stop in the middle leaves the one before. Raises OSError."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).chmod(0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def compressed(content: bytes) -> bytes:
    """gzip without name and time, so that equal content gives equal bytes."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=buffer, mtime=0) as file:
        file.write(content)
    return buffer.getvalue()
