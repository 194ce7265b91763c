"""How often each token occurs in different texts: by these tables an output head is cut down, and covers so much.

One file per tokenizer under `assets/frequencies`, written by `specviz study heads --count`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from specviz.errors import OptionError
from specviz.resources import ROOT

FORMAT = "specviz-frequencies 1"
FOLDER = ROOT / "frequencies"
RAW = "raw"
CALIBRATIONS = ("target", "drafter", RAW)
"""texts that a head may be cut down by; VocabTrim finds the target's own the best (2506.22694)"""
TITLES = {RAW: "raw text", "drafter": "drafter's text", "target": "target's text"}
"""the same in words"""
HELD_OUT = "held_out"
"""text of the target after other prompts, for measuring what a head covers"""


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """Occurrences of each token in one text."""

    what: str
    """where the text comes from, in a few words"""
    counts: tuple[int, ...]
    """by token id"""
    weights_sha256: str = ""
    """of the model that wrote the text; empty where no model did"""

    @property
    def total(self) -> int:
        return sum(self.counts)


@dataclass(frozen=True, slots=True)
class FrequencyTable:
    """Counts of one tokenizer's tokens in several texts."""

    tokenizer: str
    """sha256"""
    name: str
    special_ids: tuple[int, ...]
    texts: Mapping[str, TokenCounts]
    """`CALIBRATIONS` and `HELD_OUT`"""

    @property
    def vocab_size(self) -> int:
        return max(len(text.counts) for text in self.texts.values())


def most_frequent(
    counts: Sequence[int], size: int, must_keep: Iterable[int] = (), then: Sequence[int] | None = None
) -> list[int]:
    """The ids, ascending, of `must_keep` and the most frequent other tokens, `size` together; of equally frequent ones
    those more frequent in `then`, and at last the lowest ids, which byte-pair encoding merged first. `must_keep` stays
    whole even if it is larger."""
    then = then if then is not None else [0] * len(counts)
    kept = {token for token in must_keep if 0 <= token < len(counts)}
    for token in sorted(range(len(counts)), key=lambda token: (-counts[token], -then[token], token)):
        if len(kept) >= size:
            break
        kept.add(token)
    return sorted(kept)


def kept_by(table: FrequencyTable, calibration: str, size: int, must_keep: Iterable[int] = ()) -> list[int]:
    """`most_frequent` of a text with the special tokens; what a short text never has goes by raw text."""
    counts, raw = table.texts[calibration].counts, table.texts[RAW].counts
    return most_frequent(counts, size, {*table.special_ids, *must_keep}, raw)


def coverage(kept: Iterable[int], counts: Sequence[int]) -> float:
    """The share of a text's tokens that are among `kept`: counts of `kept` ÷ all counts. Raises OptionError where the
    text is empty."""
    total = sum(counts)
    if total == 0:
        raise OptionError("the text has no tokens, so there is nothing to cover; count one with more tokens.")
    return sum(counts[token] for token in kept) / total


def coverage_curve(table: FrequencyTable, calibration: str, sizes: Iterable[int]) -> list[tuple[int, float]]:
    """(head size, share of the held-out target tokens covered) of heads cut down by one text."""
    held_out = table.texts[HELD_OUT].counts
    return [(size, coverage(kept_by(table, calibration, size), held_out)) for size in sizes]


def table_of(tokenizer: str, folder: Path = FOLDER) -> FrequencyTable | None:
    """The table of the tokenizer with this sha256; None where there is none. Raises OptionError for a damaged file."""
    return next((table for table in map(read, sorted(folder.glob("*.json"))) if table.tokenizer == tokenizer), None)


@cache
def read(path: Path) -> FrequencyTable:
    """Raises OptionError where the file is no frequency table. Read once per process."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        texts = {
            name: TokenCounts(text["what"], tuple(map(int, text["counts"])), text["weights_sha256"])
            for name, text in data["texts"].items()
        }
        table = FrequencyTable(data["tokenizer"], data["name"], tuple(data["special_ids"]), texts)
        is_whole = data["format"] == FORMAT and {*CALIBRATIONS, HELD_OUT} <= set(texts)
        is_whole = is_whole and len({len(text.counts) for text in texts.values()}) == 1
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        is_whole = False
    if not is_whole:
        raise OptionError(f"'{path.name}' is no frequency table; write it anew with `specviz study heads --count`.")
    return table


def to_json(table: FrequencyTable) -> str:
    """The text of the table's file, one line per text."""
    head = {
        "format": FORMAT,
        "tokenizer": table.tokenizer,
        "name": table.name,
        "special_ids": list(table.special_ids),
    }
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    texts = [f"  {json.dumps(name)}: {json.dumps(asdict(text))}" for name, text in table.texts.items()]
    return "{\n" + ",\n".join(lines) + ',\n "texts": {\n' + ",\n".join(texts) + "\n }\n}\n"
