"""Finds the datastore that a run retrieves from, and builds it where there is none yet.

    tokenizer ─► file in the user's cache ─► mapped; on first use built from a sample of the training text

Training text of both halves alone enters, the standard library's files and plain English, so that prompts of the
bundled set, which are held out, are not looked up in their own source.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from specviz.corpus.plain_english import generator
from specviz.corpus.plain_english.generator import HELD_OUT_CHARACTERS
from specviz.corpus.standard_library import Document, collect, sample
from specviz.datastore.store import ENDING, Datastore, Encoder, build, read, write
from specviz.errors import DatastoreError
from specviz.lm.place import bundled_models
from specviz.resources import cache_folder

log = logging.getLogger(__name__)

SAMPLE_BYTES = 1_500_000
"""of Python in a datastore built on first use: seconds, where the whole library takes half a minute or more"""
ENGLISH_CHARACTERS = 500_000
"""of plain English in it; more would only say the same again"""
ENGLISH_SEED = 1
"""of the training documents, as the bundled target read them"""
LARGEST_BYTES = 2_000_000
"""of one file of a corpus"""

Status = Callable[[str], None]


class Datastores:
    """Datastores of a process, one per file."""

    def __init__(self) -> None:
        self._open: dict[Path, Datastore] = {}
        self._lock = Lock()

    def get(self, codec: Encoder, target: str, file: str, status: Status) -> Datastore:
        """That of `file`; without one that of the tokenizer, which is built if it is not there.

        Raises DatastoreError where it cannot be read, or holds ids of another tokenizer.
        """
        path = Path(file) if file else place_of(codec)
        with self._lock:
            if path not in self._open:
                self._open[path] = read(path) if file else _own(path, target, codec, status)
        store = self._open[path]
        if store.tokenizer_sha256 != codec.sha256:
            raise DatastoreError(
                f"the datastore '{path.name}' was built with another tokenizer than that of {target}; build one with "
                f"`specviz datastore build --tokenizer {target}`."
            )
        return store


def _own(path: Path, target: str, codec: Encoder, status: Status) -> Datastore:
    """The tokenizer's own, built where it is not there; built anew where it is damaged: it is only a cache."""
    if path.is_file():
        try:
            return read(path)
        except DatastoreError as error:
            log.warning("%s It is built anew.", error)
    documents = library(target, SAMPLE_BYTES)
    write(build("a sample of the training text", documents, codec, _as_status(status)), path)
    return read(path)


def place_of(codec: Encoder) -> Path:
    """Where the datastore of a tokenizer is kept: in `SPECVIZ_CACHE`, or the user's cache."""
    return cache_folder() / f"{codec.sha256[:16]}{ENDING}"


def library(target: str, most_bytes: int | None = None) -> list[tuple[str, str]]:
    """(name, text) of training text, held-out text left out: the standard library's files, all or a fixed sample, then
    plain English."""
    split = _split_of(target)
    seed = int(split.get("seed", 0))
    documents: list[Document] = list(collect(seed).train) if most_bytes is None else sample(seed, most_bytes)
    held_out = {row["path"] for row in split.get("held_out", ())}
    return [
        *((document.path, document.text) for document in documents if document.path not in held_out),
        *plain_english(),
    ]


def plain_english(characters: int = ENGLISH_CHARACTERS) -> list[tuple[str, str]]:
    """(name, text) of training documents in plain English, one of each text; none that is also a held-out one."""
    held_out = {one.text for one in generator.documents(0, HELD_OUT_CHARACTERS, held_out=True)}
    found = dict.fromkeys(one.text for one in generator.documents(ENGLISH_SEED, characters, held_out=False))
    return [(f"plain English {number}", text) for number, text in enumerate(found) if text not in held_out]


def folder_texts(folder: Path) -> list[tuple[str, str]]:
    """(path, text) of every UTF-8 file below a folder, hidden ones and those above 2 MB left out."""
    found = []
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in relative.parts)
        if hidden or not path.is_file() or path.stat().st_size > LARGEST_BYTES:
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if text and "\0" not in text:
            found.append((relative.as_posix(), text))
    return found


def _split_of(target: str) -> Mapping[str, Any]:
    """What a bundled target was trained on and what not; empty for others."""
    folder = bundled_models().get(target)
    path = folder / "split.json" if folder is not None else None
    if path is None or not path.is_file():
        return {}
    split: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return split


def _as_status(status: Status) -> Callable[[str, int, int], None]:
    return lambda what, done, total: status(f"building the datastore, once: {what} {done} of {total}…")
