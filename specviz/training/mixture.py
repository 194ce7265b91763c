"""Half plain English, half Python: packs both into streams with document starts and draws windows from them.

Place in the flow: `prepare` writes the English half and packs both, the target's training loop reads the batches. A
batch is a pure function of the step.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerFast

from specviz.corpus.plain_english.generator import (
    HELD_OUT_CHARACTERS,
    SHARES,
    EnglishDocument,
    distinct_runs,
    documents,
    new_skeleton_share,
)
from specviz.errors import TrainingError
from specviz.training.windows import Batch, TokenStream, save_stream, twice

Starts = NDArray[np.int64]

BLOCK_START = re.compile(r"(?<=\n\n)(?=[^\s])")
TEXTS_AT_ONCE = 4096


def code_blocks(text: str) -> list[str]:
    """A module cut where a top-level statement follows an empty line; joined, the blocks are the module again."""
    return BLOCK_START.split(text)


def pack_with_starts(
    documents: Iterable[Sequence[str]], tokenizer: PreTrainedTokenizerFast
) -> tuple[TokenStream, Starts]:
    """Encodes documents, given as their blocks, and joins them, each followed by end-of-text.

    Returns the stream, uint16 [tokens], and the position of every block's first token, int64 [blocks].
    """
    blocks: list[str] = []
    is_last: list[bool] = []
    for document in documents:
        blocks += document
        is_last += [False] * (len(document) - 1) + [True]
    pieces: list[TokenStream] = []
    starts, position = np.zeros(len(blocks), dtype=np.int64), 0
    for first in range(0, len(blocks), TEXTS_AT_ONCE):
        encoded = tokenizer(blocks[first : first + TEXTS_AT_ONCE], add_special_tokens=False, verbose=False)["input_ids"]
        for index, ids in enumerate(encoded, start=first):
            starts[index] = position
            ending = [tokenizer.eos_token_id] if is_last[index] else []
            pieces.append(np.asarray([*ids, *ending], dtype=np.uint16))
            position += len(pieces[-1])
    return np.concatenate(pieces), starts


def save_packed(path: Path, packed: tuple[TokenStream, Starts]) -> None:
    """Writes NAME.npy and NAME.starts.npy."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, packed[0])
    np.save(path.with_suffix(".starts.npy"), packed[1])


def load_packed(path: Path) -> tuple[TokenStream, Starts]:
    """Maps what `save_packed` wrote; raises where it has not been prepared."""
    if not path.with_suffix(".starts.npy").is_file():
        raise TrainingError(f"No document starts of {path.name} in the work folder: run `specviz train prepare` first.")
    return np.load(path, mmap_mode="r"), np.load(path.with_suffix(".starts.npy"))


def window_starts(starts: Starts, n_tokens: int, length: int, first: int = 0, again: bool = False) -> Starts:
    """Starts of windows of `length` + 1 tokens that cover the stream from the document `first` on.

    Each begins at a document's start: the document that a window cuts off begins the next one, which is the oftener,
    the longer it is; with `again` the last whole document does, so that short ones begin windows as often as long ones.
    Only a document longer than a window goes on where the window ended.
    """
    found, position = [], int(starts[first])
    while position + length + 1 <= n_tokens:
        found.append(position)
        cut = int(np.searchsorted(starts, position + length, side="right")) - 1
        later = [int(start) for start in starts[max(cut - again, 0) : cut + 1] if start > position]
        position = later[0] if later else position + length
    return np.asarray(found, dtype=np.int64)


class DocumentWindows:
    """Windows of one stream, shuffled anew in every epoch; see `window_starts` for `again`, `twice` for `copies`.

    Each begins with the end-of-text token before a document, as a prompt does: a window's first token attends to
    nothing, so a document that began there would be read badly (Xiao et al., 2309.17453, call it an attention sink).
    """

    def __init__(
        self,
        packed: tuple[TokenStream, Starts],
        length: int,
        seed: int,
        copies: float = 0.0,
        again: bool = False,
    ) -> None:
        """`length` is the number of predicted tokens per window."""
        self.stream, self.starts = packed
        self.length, self.seed, self.copies = length, seed, copies
        self.window_starts = window_starts(self.starts, len(self.stream), length, again=again)
        if len(self.window_starts) == 0:
            raise TrainingError(f"{len(self.stream)} tokens are too few for a window of {length}: add text.")

    def window(self, index: int) -> TokenStream:
        """The numbered window, [length + 1]; a pure function of the number."""
        epoch, place = divmod(index, len(self.window_starts))
        order = np.random.default_rng((self.seed, epoch)).permutation(len(self.window_starts))
        start = max(int(self.window_starts[order[place]]) - 1, 0)
        window = self.stream[start : start + self.length + 1]
        return window if self.copies == 0 else twice(window, np.random.default_rng((self.seed, 1, index)), self.copies)


class Mixture:
    """Batches whose rows come from plain English in the share `english`, evenly spread, and else from Python."""

    def __init__(self, english: DocumentWindows, python: DocumentWindows, share: float, batch_size: int) -> None:
        """`share` lies in (0, 1)."""
        if not 0 < share < 1:
            raise TrainingError(f"The share of plain English is {share}: choose --english between 0 and 1.")
        self.english, self.python, self.share, self.batch_size = english, python, share, batch_size

    def batch(self, step: int) -> Batch:
        """Token ids without a teacher."""
        rows = [self._row(step * self.batch_size + index) for index in range(self.batch_size)]
        return Batch(torch.from_numpy(np.stack(rows).astype(np.int64)))

    def _row(self, index: int) -> TokenStream:
        before, after = int(index * self.share), int((index + 1) * self.share)
        return self.english.window(before) if after > before else self.python.window(index - before)


TOKENIZER_CHARACTERS = 3_000_000


@dataclass(frozen=True)
class EnglishCorpus:
    """Documents of both sides; the held-out ones are the same whatever the training seed."""

    train: tuple[EnglishDocument, ...]
    held_out: tuple[EnglishDocument, ...]
    seed: int
    shares: Mapping[str, float]

    def tokenizer_texts(self) -> list[str]:
        """The first training texts, so few that Python keeps most of the vocabulary's rare words."""
        texts, used = [], 0
        for document in self.train:
            used += len(document.text)
            if used > TOKENIZER_CHARACTERS:
                break
            texts.append(document.text)
        return texts

    def save(self, work: Path, tokenizer: PreTrainedTokenizerFast, python: Sequence[str]) -> None:
        """Packs English and Python training text with document starts, and the held-out English as one stream."""
        save_packed(work / "train_english.npy", pack_with_starts(([d.text] for d in self.train), tokenizer))
        save_packed(work / "train_python.npy", pack_with_starts((code_blocks(text) for text in python), tokenizer))
        save_stream(work / "held_out_english.npy", pack_with_starts(([d.text] for d in self.held_out), tokenizer)[0])
        runs, words = distinct_runs(self.train)
        facts = {
            "seed": self.seed,
            "train_documents": len(self.train),
            "train_characters": sum(len(document.text) for document in self.train),
            "held_out_documents": len(self.held_out),
            "held_out_characters": sum(len(document.text) for document in self.held_out),
            "shares": {family: round(share, 4) for family, share in self.shares.items()},
            "distinct_runs_of_5_words_per_million": round(runs / words * 1e6),
            "held_out_documents_with_a_new_skeleton": round(new_skeleton_share(self.train, self.held_out), 4),
        }
        (work / "english.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def write(seed: int, characters: int, shares: Mapping[str, float] = SHARES) -> EnglishCorpus:
    """Generates both sides; a short dialogue that both happen to have is not held out. `shares` are those of the
    training text: the held-out text is the same whatever is trained."""
    train = tuple(documents(seed, characters, held_out=False, shares=shares))
    held_out = documents(0, min(HELD_OUT_CHARACTERS, characters), held_out=True)
    known = {document.text for document in train}
    return EnglishCorpus(train, tuple(document for document in held_out if document.text not in known), seed, shares)
