"""A run in progress as its reader gets it, event by event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from specviz.trace.events import Finished, Round, VocabEntry
from specviz.trace.header import Started


@dataclass(frozen=True, slots=True)
class Step:
    """One event of a run in progress, with the vocabulary entries it is the first to use."""

    event: Started | Round | Finished
    vocab: Mapping[str, VocabEntry]
