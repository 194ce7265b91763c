"""The plain-English corpus as token streams beside the Python ones.

Place in the flow: called by `prepare`; leaves the packed streams that the target's batches and validation read.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from transformers import PreTrainedTokenizerFast

from specviz.corpus.plain_english.generator import (
    HELD_OUT_CHARACTERS,
    SHARES,
    EnglishDocument,
    distinct_runs,
    documents,
    new_skeleton_share,
)
from specviz.training.mixture import code_blocks, pack_with_starts, save_packed
from specviz.training.windows import save_stream

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
