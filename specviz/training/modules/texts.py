"""The corpus that modules learn from: plain English and Python, packed by `specviz train prepare` or on the spot.

Place in the flow: the first step of module training; `batches` draws from it and lets the target go on from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from transformers import PreTrainedTokenizerFast

from specviz.corpus.plain_english.generator import documents
from specviz.corpus.standard_library import LARGEST_BYTES, Document, held_out_sample, training_sample
from specviz.errors import TrainingError
from specviz.training.mixture import Starts, code_blocks, load_packed, pack_with_starts
from specviz.training.tokenizer import load_tokenizer
from specviz.training.windows import TokenStream

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
    python = _python(tokenizer, training_sample(amount.seed, max(LARGEST_BYTES, amount.characters)))
    held_out = held_out_here(tokenizer, Amount(few, amount.seed))
    return [Domain(train, held) for train, held in zip((english, python), held_out, strict=True)]


def held_out_here(tokenizer: PreTrainedTokenizerFast, amount: Amount) -> tuple[Packed, Packed]:
    """Of the held-out side alone: so much English, and all Python that there is up to one long file more."""
    python = held_out_sample(amount.seed, LARGEST_BYTES + amount.characters)
    return _english(tokenizer, 0, amount.characters, held_out=True), _python(tokenizer, python)


def _english(tokenizer: PreTrainedTokenizerFast, seed: int, characters: int, held_out: bool) -> Packed:
    return pack_with_starts(([one.text] for one in documents(seed, characters, held_out)), tokenizer)


def _python(tokenizer: PreTrainedTokenizerFast, sample: Sequence[Document]) -> Packed:
    return pack_with_starts((code_blocks(document.text) for document in sample), tokenizer)
