"""The texts a drafter is aligned on, with the target's state beside every token: read from a corpus, written by the
target, or written by the drafter itself.

Place in the flow: before the training loop. Corpus and target-written texts are made once and kept in the work folder;
drafter-written ones follow the drafter as it learns (`on_policy`).
"""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import ceil
from pathlib import Path

import numpy as np
import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from specviz.corpus.plain_english.generator import documents
from specviz.corpus.standard_library import training_sample
from specviz.errors import TrainingError
from specviz.training.drafter_stages import GENERATED_LENGTH, GENERATED_ROWS, joined, load_rows, save_rows
from specviz.training.generation import Beginnings, TaughtRows, continue_batch, corpus_rows
from specviz.training.mixture import DocumentWindows, Starts, code_blocks, load_packed, pack_with_starts, save_packed
from specviz.training.windows import Batch, TokenStream

DOMAINS = ("english", "python")
ENGLISH_SEED = 7
"""another one than the bundled models' text, so that the documents are new to both"""
CHARACTERS = 3_000_000
"""of each domain's training text"""

Packed = tuple[TokenStream, Starts]


@dataclass(frozen=True)
class Source:
    """Where texts come from: the target that judges them, training streams by domain, the folder that keeps them."""

    target: LlamaForCausalLM
    streams: dict[str, Packed]
    folder: Path
    end: int
    seed: int

    def corpus(self, domain: str, rows: int) -> TaughtRows:
        """At least `rows` windows of training text with the target's states; read once, then from disk."""
        folder = self.folder / f"corpus-{domain}"
        if _holds(folder, rows):
            return load_rows(folder)
        windows = _Rows(DocumentWindows(self.streams[domain], GENERATED_LENGTH, self.seed))
        reading = corpus_rows(self.target, windows, float("inf"))
        return _kept(folder, islice(reading, ceil(rows / GENERATED_ROWS)))

    def written(self, domain: str, temperature: float, rows: int) -> TaughtRows:
        """At least `rows` rows that the target wrote at a temperature; written once, then from disk."""
        folder = self.folder / f"target-{domain}-{temperature:g}"
        if _holds(folder, rows):
            return load_rows(folder)
        generator = torch.Generator().manual_seed(self.seed)
        given = self.beginnings(domain, self.seed)
        batches = (
            continue_batch(self.target, given, GENERATED_LENGTH, temperature, generator)
            for _ in range(ceil(rows / GENERATED_ROWS))
        )
        return _kept(folder, batches)

    def beginnings(self, domain: str, seed: int) -> list[Beginnings]:
        """One for each row of a batch; beginnings of training documents."""
        return [Beginnings(self.streams[domain], 1000 * seed + row, self.end) for row in range(GENERATED_ROWS)]


class _Rows:
    """Windows in batches of the size in which a target reads them."""

    def __init__(self, windows: DocumentWindows) -> None:
        self.windows = windows

    def batch(self, step: int) -> Batch:
        rows = [self.windows.window(step * GENERATED_ROWS + row) for row in range(GENERATED_ROWS)]
        return Batch(torch.from_numpy(np.stack(rows).astype(np.int64)))


def training_streams(
    folder: Path, tokenizer: PreTrainedTokenizerFast, characters: int = CHARACTERS
) -> dict[str, Packed]:
    """Domain → packed training text, written once: generated plain English, and modules of the standard library's
    training side. No held-out document is in it."""
    for domain in DOMAINS:
        if not (folder / f"{domain}.starts.npy").is_file():
            save_packed(folder / f"{domain}.npy", pack_with_starts(_training_text(domain, characters), tokenizer))
    return {domain: load_packed(folder / f"{domain}.npy") for domain in DOMAINS}


def _training_text(domain: str, characters: int) -> Iterator[list[str]]:
    """Documents, each as its blocks."""
    if domain == "python":
        yield from (code_blocks(document.text) for document in training_sample(0, characters))
    else:
        yield from ([one.text] for one in documents(ENGLISH_SEED, characters, held_out=False))


def joined_rows(parts: Sequence[TaughtRows], counts: Sequence[int]) -> TaughtRows:
    """The first counts[i] rows of every part as one block in memory. Raises TrainingError where a part has fewer."""
    for part, count in zip(parts, counts, strict=True):
        if len(part.ids) < count:
            raise TrainingError(f"{count} rows of text are wanted and {len(part.ids)} are there: lower --align-tokens.")
    chosen = (
        TaughtRows(taught_rows.ids[:count], taught_rows.states[:count])
        for taught_rows, count in zip(parts, counts, strict=True)
    )
    return joined(chosen)


def _holds(folder: Path, rows: int) -> bool:
    return (folder / "states.npy").is_file() and len(load_rows(folder).ids) >= rows


def _kept(folder: Path, batches: Iterable[TaughtRows]) -> TaughtRows:
    """Writes the batches whole or not at all: a run that is killed meanwhile leaves nothing that looks finished."""
    partial = folder.with_name(f"{folder.name}.partial")
    save_rows(partial, joined(batches))
    if folder.exists():
        shutil.rmtree(folder)
    partial.rename(folder)
    return load_rows(folder)
