"""The table of `docs/glossary.md` as data: each term with the ways it is written and its meaning.

`make generate` writes it to `assets/glossary.json`, which the page's scripts explain terms from.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from specviz.resources import ROOT, without

GLOSSARY_FILE = "glossary.json"
"""under assets"""
ROW = re.compile(r"^\| \*\*(?P<term>.+?)\*\* \| (?P<meaning>.+?) \| ?(?P<others>.*?) ?\|$")
OUTSIDE_BRACKETS = re.compile(r",\s*(?![^()]*\))")
SYMBOL = re.compile(r"^(?P<words>.{2,}) (?:\((?P<bracketed>.)\)|(?P<bare>[^\W\d_]))$")
"""`speculation length γ`, `alpha (α)`: words and the letter that stands for them"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One row."""

    term: str
    """as the table has it"""
    written: tuple[str, ...]
    """what it is recognised by on the page"""
    meaning: str
    others: str
    """other names in the field; may be empty"""


def entries(table: str) -> list[Entry]:
    """The rows of the glossary's table, in its order. Raises ValueError where there is none."""
    found = [
        Entry(row["term"], _written(row["term"]), _plain(row["meaning"]), _plain(row["others"]))
        for line in table.splitlines()
        if (row := ROW.match(line)) is not None
    ]
    if not found:
        raise ValueError("the glossary has no rows of the form `| **term** | meaning | other names |`; write some.")
    return found


def shipped() -> list[dict[str, Any]]:
    """The entries that the page explains terms from; none where the file is damaged."""
    return without(ROOT / GLOSSARY_FILE, _read, [])


def _read(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    for one in found:
        Entry(**one)
    return found


def glossary_json(table: str) -> str:
    """The file's content."""
    return json.dumps([asdict(entry) for entry in entries(table)], indent=1, ensure_ascii=False) + "\n"


def _written(term: str) -> tuple[str, ...]:
    """`cold, warm start` → cold start, warm start; `alpha (α)` → alpha (α), alpha, α."""
    parts = OUTSIDE_BRACKETS.split(term)
    last = parts[-1].rpartition(" ")
    shared = last[2] if len(parts) > 1 and last[0] and all(" " not in part for part in parts[:-1]) else ""
    forms: list[str] = []
    for part in parts:
        whole = f"{part} {shared}" if shared and part != parts[-1] else part
        forms.append(whole)
        symbol = SYMBOL.match(whole)
        if symbol is not None:
            letter = symbol["bracketed"] or symbol["bare"]
            forms.append(symbol["words"])
            forms += [letter] if not letter.isascii() else []
    return tuple(forms)


def _plain(cell: str) -> str:
    return cell.replace("`", "").replace("*", "").strip()
