"""What drafters learnt in earlier runs, kept for later ones: in the process, and in a file where one is asked for.

A memory belongs to a drafter, the options it depends on and a tokenizer; for others it would not fit. The file is one
line of JSON that says what it is, then the drafter's own bytes.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from specviz.drafters.base import Drafter
from specviz.drafters.capabilities import Remembers
from specviz.errors import MemoryFileError
from specviz.options import Options
from specviz.trace.header import MemoryCard

FORMAT = "specviz-memory 1"


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose memory it is."""

    drafter: str
    options: str
    """those that the memory depends on, as JSON"""
    tokenizer: str
    """sha256"""


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of a drafter, and how they came about."""

    owner: Owner
    data: bytes
    runs: int
    origin: str = "earlier runs"

    @property
    def card(self) -> MemoryCard:
        return MemoryCard(self.origin, self.runs, len(self.data), hashlib.sha256(self.data).hexdigest())


class Memories:
    """All memories of a process."""

    def __init__(self) -> None:
        self._known: dict[Owner, Memory] = {}

    def recall(self, drafter: Drafter[Options], tokenizer_sha256: str, file: str = "") -> MemoryCard | None:
        """Hand the drafter what is known for it, from `file` if that exists; None where nothing is known.

        Raises MemoryFileError where the file is no memory, or one of another drafter, tokenizer or set of options.
        """
        assert isinstance(drafter, Remembers), f"'{drafter.name}' remembers nothing."
        owner = _owner(drafter.name, drafter, tokenizer_sha256)
        memory = _read(Path(file)) if file and Path(file).is_file() else self._known.get(owner)
        if memory is None:
            return None
        if memory.owner != owner:
            raise MemoryFileError(
                f"'{file}' is the memory of the drafter '{memory.owner.drafter}' with the options "
                f"{memory.owner.options}, but this run drafts with '{owner.drafter}' and {owner.options}, or has "
                "another tokenizer; give it a file of its own."
            )
        drafter.recall(memory.data)
        self._known[owner] = memory
        return memory.card

    def keep(self, drafter: Drafter[Options], tokenizer_sha256: str, is_new: bool, file: str = "") -> None:
        """Take over what the drafter knows after one more run (its first, if `is_new`), and write it to `file`."""
        assert isinstance(drafter, Remembers), f"'{drafter.name}' remembers nothing."
        owner = _owner(drafter.name, drafter, tokenizer_sha256)
        before = None if is_new else self._known.get(owner)
        memory = Memory(owner, drafter.memory(), 1 + (before.runs if before is not None else 0))
        self._known[owner] = memory
        if file:
            _write(memory, Path(file))


def _owner(name: str, drafter: Remembers, tokenizer_sha256: str) -> Owner:
    return Owner(name, json.dumps(drafter.remembered_for(), sort_keys=True), tokenizer_sha256)


def _read(path: Path) -> Memory:
    try:
        line, _, data = path.read_bytes().partition(b"\n")
    except OSError as error:
        raise MemoryFileError(f"cannot read '{path}' ({error.strerror}); check the path.") from None
    try:
        head = json.loads(line)
        owner = Owner(head["drafter"], head["options"], head["tokenizer"])
        memory = Memory(owner, data, int(head["runs"]), path.name)
        is_whole = head["format"] == FORMAT and head["sha256"] == memory.card.sha256
    except (ValueError, KeyError, TypeError):
        raise MemoryFileError(
            f"'{path}' is not what a drafter remembers; let `specviz run --memory warm` write a new file."
        ) from None
    if not is_whole:
        raise MemoryFileError(f"'{path}' is damaged or was written by another release; let a run write a new file.")
    return memory


def _write(memory: Memory, path: Path) -> None:
    owner = memory.owner
    head = {
        "format": FORMAT,
        "drafter": owner.drafter,
        "options": owner.options,
        "tokenizer": owner.tokenizer,
        "runs": memory.runs,
        "sha256": memory.card.sha256,
    }
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_bytes(json.dumps(head).encode() + b"\n" + memory.data)
        partial.replace(path)
    except OSError as error:
        raise MemoryFileError(
            f"cannot write the memory to '{path}' ({error.strerror}); choose another place."
        ) from None
