"""A recorded batch as a chart, a table and a sentence can say it. Reads the shipped file; no model runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from specviz.app.parts.shipped_file import read_shipped
from specviz.resources import BATCHES
from specviz.studies.batches import result as batches
from specviz.studies.batches.result import BatchFile
from specviz.theory.batches import BatchRow, how, rows, sentence


@dataclass(frozen=True, slots=True)
class BatchView:
    rows: tuple[BatchRow, ...]
    sentence: str
    origin: str


def shipped(file: Path = BATCHES) -> BatchFile | None:
    """The shipped measurement; None where there is none. A damaged file is only logged: the page can do without."""
    return read_shipped(file, batches.read)


def batch_view(file: BatchFile) -> BatchView:
    found, machine = rows(file), file.machine
    origin = (
        f"Recorded {file.created} on {machine.processor}, {machine.cores} cores, {machine.threads} "
        f"thread{'s' * (machine.threads != 1)}, {machine.device}, {machine.dtype}; {file.target.name} and "
        f"{file.drafter.name}; {how(file)}."
    )
    return BatchView(tuple(found), sentence(found), origin)
