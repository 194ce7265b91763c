"""The datastores that were built on this machine, and where they lie."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from specviz.datastore.store import read
from specviz.errors import DatastoreError
from specviz.protocol.runs import DatastoreDescription

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
