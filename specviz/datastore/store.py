"""A datastore: a text's ids, its suffix array, and where its documents begin; in memory, or mapped from one file.

The file is one line of JSON that says what it is, then the ids and the suffix array, each at a multiple of `ALIGNED`
bytes. Looking up costs a few dozen comparisons, whatever the size.

The suffixes are ordered by prefix doubling in numpy, O(n log n) per doubling, five doublings: by their first `COMPARED`
tokens, which is more than anyone looks up. Those that agree so far stand in the order of the text.

`build` makes one from documents, wherever they come from, with an end after each.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from specviz.errors import DatastoreError
from specviz.protocol.runs import DatastoreDescription
from specviz.trace.header import DatastoreCard

COMPARED = 32
"""tokens by which suffixes are told apart: the longest lookup and what is read after it fit in"""

Ids = npt.NDArray[np.integer]
Report = Callable[[str, int, int], None]
"""(what is being done, how much of it is done, of how much)"""


def order(tokens: Ids, report: Report) -> npt.NDArray[np.uint32]:
    """Start of every suffix of `tokens` [n], in order [n]; where a text ends it stands before all that go on.

    Prefix doubling (Manber and Myers 1993): ranks by 2k tokens from pairs of ranks by k.
    """
    rank = tokens.astype(np.int64)
    size, compared = len(rank), 1
    while True:
        pairs = rank * (int(rank.max(initial=0)) + 2)
        pairs[: size - compared] += rank[compared:] + 1
        found = np.argsort(pairs, kind="stable")
        ordered = pairs[found]
        compared *= 2
        report("sorting", compared, COMPARED)
        rank[found] = np.concatenate(([0], np.cumsum(ordered[1:] != ordered[:-1])))[:size]
        if compared >= COMPARED or compared >= size:
            return found.astype(np.uint32)


FORMAT = "specviz-datastore 1"
ALIGNED = 64
CHECKED_BYTES = 1 << 28
"""up to this size every byte of a file is looked at as it is opened"""
LONGEST_HEAD = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Match:
    """Places of the text that begin with the last `length` tokens of what was looked up."""

    length: int
    first: int
    stop: int
    """they are entries `first` to `stop` of the suffix array"""

    @property
    def count(self) -> int:
        return self.stop - self.first


@dataclass(frozen=True, slots=True)
class Datastore:
    """The text. An id equal to `vocab_size` ends each document and is no token."""

    card: DatastoreCard
    tokenizer_sha256: str
    vocab_size: int
    ids: Ids
    suffixes: npt.NDArray[np.uint32]
    names: Sequence[str]
    """of the documents, in order"""
    begins: Sequence[int]
    """index of the first id of each document"""

    def places(self, tokens: Sequence[int]) -> Match:
        """All places that begin with `tokens`, at most `COMPARED` of them."""
        wanted = list(tokens)
        assert 0 < len(wanted) <= COMPARED, f"{len(wanted)} tokens cannot be looked up."
        ids, suffixes, length = self.ids, self.suffixes, len(wanted)

        def beginning(start: np.uint32) -> list[int]:
            return ids[int(start) : int(start) + length].tolist()  # type: ignore[no-any-return]

        first = bisect_left(suffixes, wanted, key=beginning)
        return Match(length, first, bisect_right(suffixes, wanted, lo=first, key=beginning))

    def longest(self, tokens: Sequence[int], shortest: int, longest: int) -> Match | None:
        """The longest suffix of `tokens`, of `shortest` to `longest` tokens, that occurs; None where none does.

        What occurs, its own suffixes do too, so the length is found by bisection.
        """
        best = None
        low, high = shortest, min(longest, len(tokens))
        while low <= high:
            middle = (low + high) // 2
            match = self.places(tokens[len(tokens) - middle :])
            if match.count:
                best, low = match, middle + 1
            else:
                high = middle - 1
        return best

    def continuations(self, match: Match, depth: int, most: int) -> tuple[Ids, npt.NDArray[np.int64]]:
        """What follows at the places of a match: ids [m, depth] in order, and where each begins [m].

        Of more than `most` places every k-th is taken, so that shares stay what they are.
        """
        assert match.length + depth <= COMPARED, "beyond this, places are not in order."
        chosen = np.unique(np.linspace(match.first, match.stop - 1, min(most, match.count)).round().astype(np.int64))
        starts = self.suffixes[chosen].astype(np.int64) + match.length
        # The last id ends a document, so what would be read beyond it is an end as well.
        places = np.minimum(starts[:, None] + np.arange(depth), len(self.ids) - 1)
        return self.ids[places], starts

    def document(self, place: int) -> str:
        """Name of the document that an index into the ids lies in."""
        return self.names[bisect_right(self.begins, place) - 1]


def write(store: Datastore, path: Path) -> None:
    """Raises DatastoreError where the file cannot be written."""
    head = {
        "format": FORMAT,
        "name": store.card.name,
        "tokenizer": store.tokenizer_sha256,
        "vocab_size": store.vocab_size,
        "ids": len(store.ids),
        "id_bytes": store.ids.dtype.itemsize,
        "sha256": store.card.sha256,
        "order": hashlib.sha256(store.suffixes.tobytes()).hexdigest(),
        "names": list(store.names),
        "begins": [int(begin) for begin in store.begins],
    }
    partial = path.with_name(path.name + ".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            for part in (json.dumps(head).encode() + b"\n", store.ids.tobytes(), store.suffixes.tobytes()):
                file.write(part + b"\0" * (-len(part) % ALIGNED))
        partial.replace(path)
    except OSError as error:
        raise DatastoreError(
            f"cannot write the datastore '{path.name}' ({error.strerror}); choose another place with --out, or another "
            "folder for all with the environment variable SPECVIZ_CACHE."
        ) from None


def read(path: Path) -> Datastore:
    """Map a file. Raises DatastoreError where it is missing, no datastore, or cut short."""
    try:
        with path.open("rb") as file:
            line = file.readline(LONGEST_HEAD)
        head = json.loads(line)
        if head["format"] != FORMAT:
            raise ValueError
        return _mapped(path, head, len(line))
    except FileNotFoundError:
        raise DatastoreError(
            f"there is no datastore '{path.name}'; build it with `specviz datastore build --out {path.name}`."
        ) from None
    except OSError as error:
        raise DatastoreError(f"cannot read the datastore '{path.name}' ({error.strerror}); check the path.") from None
    except (ValueError, KeyError, TypeError):
        raise DatastoreError(
            f"'{path.name}' is no datastore of this release, or damaged; build it anew with `specviz datastore build`."
        ) from None


def _mapped(path: Path, head: dict[str, Any], head_bytes: int) -> Datastore:
    count, begin = int(head["ids"]), head_bytes + -head_bytes % ALIGNED
    id_type = {2: np.uint16, 4: np.uint32}[head["id_bytes"]]
    ids = _part(path, id_type, begin, count)
    begin += ids.nbytes + -ids.nbytes % ALIGNED
    suffixes = _part(path, np.uint32, begin, count)
    names, begins = [str(name) for name in head["names"]], [int(place) for place in head["begins"]]
    size = path.stat().st_size
    if len(names) != len(begins) or not names or size != begin + suffixes.nbytes + -suffixes.nbytes % ALIGNED:
        raise ValueError
    if size <= CHECKED_BYTES and not _is_as_written(head, ids, suffixes):
        raise ValueError
    card = DatastoreCard(str(head["name"]), count, len(names), size, str(head["sha256"]))
    return Datastore(card, str(head["tokenizer"]), int(head["vocab_size"]), ids, suffixes, names, begins)


def _is_as_written(head: dict[str, Any], ids: Ids, suffixes: npt.NDArray[np.uint32]) -> bool:
    """By its hashes; files of earlier releases have none of the order."""
    order = hashlib.sha256(suffixes.tobytes()).hexdigest()
    return bool(hashlib.sha256(ids.tobytes()).hexdigest() == head["sha256"] and head.get("order", order) == order)


def _part(path: Path, kind: Any, begin: int, count: int) -> Any:
    """A plain view of the map: numpy's own subclass is slow to index."""
    return np.asarray(np.memmap(path, kind, "r", begin, (count,)))


ENDING = ".datastore"


def built(folder: Path) -> tuple[DatastoreDescription, ...]:
    """The datastores in a folder, the newest first. Files that are none of this release are left out."""
    found = []
    for path in folder.glob(f"*{ENDING}"):
        try:
            card, changed = read(path).card, path.stat().st_mtime
        except (DatastoreError, OSError):
            continue
        day = datetime.fromtimestamp(changed, UTC).date().isoformat()
        found.append((changed, DatastoreDescription(str(path), card.name, card.tokens, card.size_bytes, day)))
    return tuple(one for _, one in sorted(found, key=lambda pair: (-pair[0], pair[1].file)))


MOST_IDS = 2**31
"""pairs of ranks must fit in 64 bits"""


class Encoder(Protocol):
    """What a build needs of a tokenizer."""

    sha256: str

    @property
    def size(self) -> int: ...

    def encode(self, text: str) -> list[int]: ...


def build(name: str, documents: Sequence[tuple[str, str]], codec: Encoder, report: Report) -> Datastore:
    """A datastore in memory, of (name, text) per document. Raises DatastoreError where there is nothing to store."""
    encoded = []
    for number, (_, text) in enumerate(documents):
        encoded.append(codec.encode(text))
        report("encoding", number + 1, len(documents))
    return from_ids(
        name,
        [(title, ids) for (title, _), ids in zip(documents, encoded, strict=True)],
        codec.sha256,
        codec.size,
        report,
    )


def from_ids(
    name: str,
    documents: Sequence[tuple[str, Sequence[int]]],
    tokenizer_sha256: str,
    vocab_size: int,
    report: Report = lambda what, done, total: None,
) -> Datastore:
    """The same from token ids."""
    filled = [(title, ids) for title, ids in documents if len(ids)]
    if not filled:
        raise DatastoreError("there is no text to build a datastore from; choose a folder that holds some.")
    kind = np.uint16 if vocab_size < 2**16 else np.uint32
    parts = [np.array([*ids, vocab_size], kind) for _, ids in filled]
    ids = np.concatenate(parts)
    if len(ids) > MOST_IDS:
        raise DatastoreError(f"the text has {len(ids)} tokens, but a datastore holds {MOST_IDS}; choose fewer files.")
    begins = np.cumsum([0, *map(len, parts[:-1])]).tolist()
    suffixes = order(ids, report)
    card = DatastoreCard(
        name, len(ids), len(parts), ids.nbytes + suffixes.nbytes, hashlib.sha256(ids.tobytes()).hexdigest()
    )
    return Datastore(card, tokenizer_sha256, vocab_size, ids, suffixes, [title for title, _ in filled], begins)
