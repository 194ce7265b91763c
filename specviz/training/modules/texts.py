"""The texts that modules learn from: windows of plain English and Python, and what the target itself goes on to write.

Place in the flow: the first step of module training; the corpus was packed by `specviz train prepare`, or is packed on
the spot. On the target's own text acceptance is what counts, so two of three batches hold it. A batch is a pure
function of the step, so a resumed run goes on exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from specviz.corpus.plain_english.generator import documents
from specviz.corpus.standard_library import LARGEST_BYTES, Document, sample
from specviz.errors import TrainingError
from specviz.training.generation import TEMPERATURES, Beginnings, continue_batch
from specviz.training.mixture import DocumentWindows, Mixture, Starts, code_blocks, load_packed, pack_with_starts
from specviz.training.modules.teacher import Teacher
from specviz.training.windows import TokenStream, load_tokenizer

Packed = tuple[TokenStream, Starts]
HELD_OUT_CHARACTERS = 10_000
TAUGHT = Path("taught") / "generated" / "ids.npy"


@dataclass(frozen=True)
class Domain:
    """Packed documents of one kind."""

    train: Packed
    held_out: Packed


@dataclass(frozen=True)
class Amount:
    """How much text of each kind is packed where no work folder holds any."""

    characters: int
    seed: int


def prepared(work: Path, tokenizer: PreTrainedTokenizerFast) -> list[Domain] | None:
    """English and Python as `specviz train prepare` packed them, Python twice where it packed nothing else, or None
    where it has packed nothing. Raises TrainingError where it did so with another tokenizer."""
    if not (work / "train.npy").is_file():
        return None
    if load_tokenizer(work / "tokenizer").get_vocab() != tokenizer.get_vocab():
        raise TrainingError(
            f"The texts in {work.name} were packed with another tokenizer than the target's: give another --work-dir, "
            "or run `specviz train prepare` again with --tokenizer."
        )
    end = tokenizer.eos_token_id
    if not (work / "train_english.starts.npy").is_file():
        train, held_out = (with_starts(np.load(work / f"{side}.npy"), end) for side in ("train", "held_out"))
        return [Domain(train, held_out)] * 2
    sides = {"english": "held_out_english.npy", "python": "held_out.npy"}
    return [
        Domain(load_packed(work / f"train_{name}.npy"), with_starts(np.load(work / file), end))
        for name, file in sides.items()
    ]


def with_starts(stream: TokenStream, end: int) -> Packed:
    """A stream with the places where its documents begin."""
    (ends,) = np.nonzero(stream == end)
    return stream, np.concatenate([[0], ends[:-1] + 1]).astype(np.int64)


def packed_here(tokenizer: PreTrainedTokenizerFast, amount: Amount) -> list[Domain]:
    """A little of English and Python, written, collected and packed on the spot."""
    few = max(HELD_OUT_CHARACTERS, amount.characters // 20)
    english = _english(tokenizer, amount.seed, amount.characters, held_out=False)
    python = _python(tokenizer, sample(amount.seed, max(LARGEST_BYTES, amount.characters)))
    held_out = held_out_here(tokenizer, Amount(few, amount.seed))
    return [Domain(train, held) for train, held in zip((english, python), held_out, strict=True)]


def held_out_here(tokenizer: PreTrainedTokenizerFast, amount: Amount) -> tuple[Packed, Packed]:
    """Of the held-out side alone: so much English, and all Python that there is up to one long file more."""
    python = sample(amount.seed, LARGEST_BYTES + amount.characters, held_out=True)
    return _english(tokenizer, 0, amount.characters, held_out=True), _python(tokenizer, python)


def _english(tokenizer: PreTrainedTokenizerFast, seed: int, characters: int, held_out: bool) -> Packed:
    return pack_with_starts(([one.text] for one in documents(seed, characters, held_out)), tokenizer)


def _python(tokenizer: PreTrainedTokenizerFast, sample: Sequence[Document]) -> Packed:
    return pack_with_starts((code_blocks(document.text) for document in sample), tokenizer)


SAMPLE_WINDOWS = 250
"""batches of the corpus in which a module counts tokens: of a vocabulary of 49,152, the 8,192 most frequent of the six
first batches made up 90 % of other text, of so many 99 %"""
WRITTEN_OF_THREE = 2
"""of three batches hold what the target wrote"""


@dataclass(frozen=True)
class TextOptions:
    """Shape of the batches, and how much the target writes."""

    length: int = 192
    rows: int = 4
    english: float = 0.5
    seed: int = 0
    block_rows: int = 48
    """rows that the target writes together"""
    write_every: int = 32
    """steps from one such block to the next; before the first, all text is the corpus'"""
    most_written: int = 32


def beginnings(
    domains: Sequence[Domain], english: float, rows: int, seed: int, end: int, held_out: bool
) -> list[Beginnings]:
    """One for each of `rows`, English in its share, spread over the rows."""
    found = []
    for row in range(rows):
        domain = domains[0] if int((row + 1) * english) > int(row * english) else domains[1]
        found.append(Beginnings(domain.held_out if held_out else domain.train, 1000 * seed + row, end))
    return found


def written(teacher: Teacher, given: Sequence[Beginnings], length: int, temperature: float, seed: int) -> TokenStream:
    """Text of the target, uint16 [rows, length]: it goes on from each beginning, and begins anew behind its end."""
    generator = torch.Generator(device=teacher.model.device).manual_seed(seed)
    was = teacher.model.config._attn_implementation
    try:
        return continue_batch(teacher.model, given, length - 1, temperature, generator).ids
    finally:
        teacher.model.set_attn_implementation(was)


class Texts:
    """Batches of training text, tokens [B, T], by step."""

    def __init__(self, teacher: Teacher, domains: Sequence[Domain], options: TextOptions, folder: Path | None) -> None:
        """What the target writes is kept in `folder`, so that a resumed run need not write it again."""
        self.teacher, self.domains, self.options, self.folder = teacher, domains, options, folder
        self._pool: list[TokenStream] = []
        self._taught: TokenStream | None = None
        length, seed, share = options.length - 1, options.seed, options.english
        windows = [DocumentWindows(domain.train, length, seed) for domain in domains]
        self._corpus = Mixture(windows[0], windows[1], share, options.rows) if 0 < share < 1 else None
        self._one_kind = windows[0] if share == 1 else windows[1]

    def use_taught(self, ids: TokenStream) -> None:
        """Take rows [n, ≥ T] that the target wrote in an earlier stage, instead of letting it write."""
        if ids.shape[1] < self.options.length:
            raise TrainingError(
                f"The taught rows hold {ids.shape[1]} tokens each, and windows of {self.options.length} are asked for: "
                "ask for shorter ones."
            )
        self._taught = ids[:, : self.options.length]

    @property
    def written_tokens(self) -> int:
        """Tokens of target text at hand."""
        return sum(block.size for block in self._pool) if self._taught is None else int(self._taught.size)

    def batch(self, step: int) -> Tensor:
        """int64 [B, T]; a pure function of the step."""
        if step % 3 >= WRITTEN_OF_THREE:
            return self._windows(step // 3)
        return self._written(step) if self.holds_written(step) else self._windows(self.options.write_every + step)

    def sample(self) -> Tensor:
        """Tokens [n] of the corpus, in which modules count how frequent each is."""
        return torch.cat([self._windows(index).flatten() for index in range(SAMPLE_WINDOWS)])

    def holds_written(self, step: int) -> bool:
        """Whether this batch holds beginnings from the corpus and what the target wrote behind them, or else windows of
        the corpus."""
        begun = self._taught is not None or self._blocks_at(step) > 0
        return begun and step % 3 < WRITTEN_OF_THREE

    def written_share(self, steps: int) -> float:
        """Of the first so many batches, or at most one: those that hold what the target wrote."""
        return sum(self.holds_written(step) for step in range(steps)) / max(1, steps)

    def _blocks_at(self, step: int) -> int:
        """That the target has written by then."""
        return min(self.options.most_written, step // self.options.write_every)

    def _windows(self, index: int) -> Tensor:
        if self._corpus is not None:
            return self._corpus.batch(index).ids
        first = index * self.options.rows
        rows = [self._one_kind.window(first + row) for row in range(self.options.rows)]
        return torch.from_numpy(np.stack(rows).astype(np.int64))

    def _written(self, step: int) -> Tensor:
        """Rows drawn from what the target has written up to this step."""
        if self._taught is not None:
            pool = self._taught
        else:
            wanted = self._blocks_at(step)
            while len(self._pool) < wanted:
                self._pool.append(self._block(len(self._pool)))
            pool = np.concatenate(self._pool[:wanted])
        chosen = np.random.default_rng((self.options.seed, 2, step)).integers(len(pool), size=self.options.rows)
        return torch.from_numpy(pool[np.sort(chosen)].astype(np.int64))

    def _block(self, number: int) -> TokenStream:
        """The numbered block of target text, uint16 [rows, T], from disk where it is there."""
        path = self.folder / f"written_{number:03d}.npy" if self.folder else None
        if path is not None and path.is_file():
            kept: TokenStream = np.load(path)
            return kept
        options, own_seed = self.options, 7919 * self.options.seed + number
        given = beginnings(
            self.domains, options.english, options.block_rows, own_seed, self.teacher.end, held_out=False
        )
        block = written(self.teacher, given, options.length, TEMPERATURES[number % len(TEMPERATURES)], own_seed)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, block)
        return block
