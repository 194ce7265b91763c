"""Files of traces, races and trainings: how large they may be; read with that bound, written whole or not at all.

A trace comes from strangers (an upload, a download, a link), so every count that a reader loops over has a ceiling here
and nowhere else: the guard asks for it before parsing, the structure rules after it. Whatever goes wrong becomes one
sentence that begins with the file's name.
"""

from __future__ import annotations

import gzip
import io
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from specviz.errors import SpecVizError, TraceError
from specviz.options import LARGEST_INTEGER

MAX_INTEGER = LARGEST_INTEGER
"""largest integer that every JSON reader, JavaScript's included, holds exactly"""


@dataclass(frozen=True, slots=True)
class Limits:
    """Ceilings, all inclusive. The defaults suit a file on one's own disk."""

    what: str = "a trace"
    """what the file is meant to be, for the guard's sentences"""
    stored_bytes: int = 64 * 2**20
    """as it lies on disk, compressed or not"""
    text_bytes: int = 256 * 2**20
    """after decompression"""
    nesting: int = 16
    """JSON containers inside one another; the format itself needs 9"""
    containers: int = 8_000_000
    """JSON objects and arrays in the whole file"""
    string_chars: int = 4_000_000
    """one string, as written in the file"""
    number_chars: int = 40
    """one number, as written in the file"""
    rounds: int = 5_000
    nodes_per_round: int = 1_024
    """the root is one of them"""
    nodes: int = 500_000
    """in the whole trace"""
    top: int = 1_024
    """entries of one distribution's head"""
    vocab: int = 300_000
    prompt_ids: int = 1_000_000


STANDARD = Limits()

UPLOAD = Limits(
    stored_bytes=8 * 2**20,
    text_bytes=24 * 2**20,
    containers=1_500_000,
    string_chars=500_000,
    rounds=2_000,
    nodes_per_round=513,  # as many candidates as a tree policy drafts at most, and the root
    nodes=60_000,
    top=256,
    vocab=60_000,
    prompt_ids=100_000,
)
"""For a file that a visitor hands to a shared server."""


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
