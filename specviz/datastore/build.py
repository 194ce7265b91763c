"""From documents to a datastore: token ids, an end after each document, and the order of all suffixes.

Knows nothing about where documents come from or what is retrieved later.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from specviz.datastore.store import Datastore, Report, order
from specviz.errors import DatastoreError
from specviz.trace.exhibits import DatastoreCard

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
