"""The texts a drafter is aligned on, with the target's state beside every token: read from a `corpus`, written by the
`target`, or written by the `drafter` itself; or several of them in turn, joined by a plus.

Place in the flow: before the training loop. Corpus and target-written texts are made once and kept in the work folder,
and their batches are a pure function of the step; drafter-written ones follow the drafter as it learns (`OnPolicy`).
"""

import copy
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import ceil
from pathlib import Path

import numpy as np
import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from specviz.corpus.plain_english.generator import documents
from specviz.corpus.standard_library import sample
from specviz.errors import TrainingError
from specviz.training.drafter import GENERATED_LENGTH, GENERATED_ROWS, TaughtWindows, joined, load_rows, save_rows
from specviz.training.generation import Beginnings, TaughtRows, continue_batch, corpus_rows
from specviz.training.mixture import DocumentWindows, Starts, code_blocks, load_packed, pack_with_starts, save_packed
from specviz.training.target import layer_outputs, moved
from specviz.training.windows import Batch, Batches, Rotation, TokenStream

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
        yield from (code_blocks(document.text) for document in sample(0, characters))
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


ROWS_PER_STEP = 8
BLOCK_ROWS = 48
"""that the drafter writes before it learns from them: few, so that the text is always nearly its own"""
TOKENS_PER_STEP = ROWS_PER_STEP * GENERATED_LENGTH
BOTH = "both"


@dataclass(frozen=True)
class Diet:
    """What an alignment learns from: names of `DATA` joined by `+`, one domain or both, temperatures of written text,
    tokens in all."""

    data: str
    domain: str
    temperatures: tuple[float, ...]
    tokens: int

    @property
    def domains(self) -> tuple[str, ...]:
        """The domains in it. Raises TrainingError for one that there is not."""
        if self.domain != BOTH and self.domain not in DOMAINS:
            raise TrainingError(f"There is no domain '{self.domain}': choose {', '.join((*DOMAINS, BOTH))}.")
        return DOMAINS if self.domain == BOTH else (self.domain,)

    def rows(self, parts: int) -> int:
        """Rows that each of `parts` equal parts of one source gives."""
        return max(1, -(-self.tokens // (GENERATED_LENGTH * len(self.names) * parts)))

    @property
    def names(self) -> list[str]:
        """The sources. Raises TrainingError for one that there is not."""
        found = self.data.split("+")
        for name in found:
            if name not in DATA:
                raise TrainingError(f"There is no data '{name}': join {', '.join(DATA)} with a plus.")
        return found


def batches_of(diet: Diet, source: Source, drafter: LlamaForCausalLM, seed: int) -> Batches:
    """The batches of every step; `drafter` is the model that learns, read anew for each block that it writes."""
    return Rotation([DATA[name](diet, source, drafter, seed) for name in diet.names])


def _corpus(diet: Diet, source: Source, drafter: LlamaForCausalLM, seed: int) -> Batches:
    rows = diet.rows(len(diet.domains))
    parts = [source.corpus(domain, rows) for domain in diet.domains]
    return TaughtWindows(joined_rows(parts, [rows] * len(parts)), ROWS_PER_STEP, seed)


def _target(diet: Diet, source: Source, drafter: LlamaForCausalLM, seed: int) -> Batches:
    kinds = [(domain, temperature) for domain in diet.domains for temperature in diet.temperatures]
    rows = diet.rows(len(kinds))
    parts = [source.written(domain, temperature, rows) for domain, temperature in kinds]
    return TaughtWindows(joined_rows(parts, [rows] * len(parts)), ROWS_PER_STEP, seed)


def _drafter(diet: Diet, source: Source, drafter: LlamaForCausalLM, seed: int) -> Batches:
    return OnPolicy(diet, source, drafter, seed)


Maker = Callable[[Diet, Source, LlamaForCausalLM, int], Batches]
DATA: Mapping[str, Maker] = {"corpus": _corpus, "target": _target, "drafter": _drafter}


class OnPolicy:
    """Text that the drafter itself writes as it learns, read by the target (on-policy data of DistillSpec).

    The drafter of the moment writes a block of rows, domains side by side and the temperatures in turn from block to
    block; its steps are learnt from, and then it writes the next. A resumed run writes its block anew with the weights
    that it resumes with.
    """

    def __init__(self, diet: Diet, source: Source, drafter: LlamaForCausalLM, seed: int) -> None:
        """Nothing is written before the first batch."""
        self.diet, self.source, self.drafter, self.seed = diet, source, drafter, seed
        self.block, self.windows = -1, None

    windows: TaughtWindows | None

    def batch(self, step: int) -> Batch:
        """Eight rows of the block that this step lies in."""
        per_block = BLOCK_ROWS // ROWS_PER_STEP
        block, place = divmod(step, per_block)
        if block != self.block or self.windows is None:
            self.block = block
            self.windows = TaughtWindows(self.written(block), ROWS_PER_STEP, self.seed + block)
        return self.windows.batch(place)

    @torch.inference_mode()
    def written(self, block: int) -> TaughtRows:
        """The block's rows, with the target's states."""
        temperature = self.diet.temperatures[block % len(self.diet.temperatures)]
        seed = 1 + self.seed + block  # never the seed that the target writes with
        given = [self.source.beginnings(domain, seed) for domain in self.diet.domains]
        rows = [given[row % len(given)][row] for row in range(BLOCK_ROWS)]
        writer = moved(copy.deepcopy(self.drafter), dtype=self.source.target.dtype).eval()
        generator = torch.Generator().manual_seed(seed)
        ids = continue_batch(writer, rows, GENERATED_LENGTH, temperature, generator).ids
        read = torch.from_numpy(ids.astype(np.int64))
        last = self.source.target.model.norm(layer_outputs(self.source.target, read[:, :-1])[-1])
        return TaughtRows(ids, last.half().numpy())
