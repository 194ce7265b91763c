"""Which weights a file names, and which ones it is to be made with: the bundled models', or those of a real model that
is fetched and not shipped.

Everything that rests on weights says so itself: JSON under `weights_sha256` and the like, a page of the documentation
in the sentence below its table (`sha256 44e0c9290a33`), an archive in the traces it holds. Hashes are compared by their
first 12 digits.

Place in the flow: read by `specviz remake`, and by the commands that write such a sentence.
"""

from __future__ import annotations

import gzip
import json
import lzma
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from specviz.errors import SpecVizError
from specviz.lm.fetched import REAL_MODELS

DIGITS = 12
IN_TEXT = re.compile(rf"sha256 ([0-9a-f]{{{DIGITS},64}})")
WHOLE = re.compile(r"[0-9a-f]{64}")
KEYS = ("weights_sha256", "target_sha256", "drafter_sha256")
MODELS = "models"
"""name → hash, in files that name several"""
WEIGHTS = "*/model*.safetensors"


def bundled(models: Path) -> dict[str, str]:
    """Model → the beginning of its weights' hash, of all bundled ones."""
    folders = sorted({path.parent for path in models.glob(WEIGHTS)})
    return {folder.name: of_folder(folder)[:DIGITS] for folder in folders}


def of_folder(folder: Path) -> str:
    """The hash of a checkpoint's weights, as traces and cards name it."""
    from specviz.lm.checkpoint import sha256_of, weight_files

    return sha256_of(weight_files(folder, folder.name))


def fetched() -> dict[str, str]:
    """Real model → the beginning of the hash of the weights that what is shipped for it is made with, be they on this
    machine or not."""
    return {model.name: model.weights_sha256[:DIGITS] for model in REAL_MODELS.values()}


def in_words(weights: Mapping[str, str]) -> str:
    """The sentence of a page by which `named` knows these weights: model → the beginning of its hash."""
    return f"Weights: {', '.join(f'{name} (sha256 {digits})' for name, digits in weights.items())}."


def named(path: Path, section: str = "") -> set[str]:
    """The weights that a file names, or a section of a page between its marks. Raises SpecVizError for a file that
    cannot be read as what it is."""
    raw = path.read_bytes()
    try:
        if path.suffix == ".md":
            return set(_digits(IN_TEXT.findall(part_of(raw.decode("utf-8"), section))))
        if path.suffixes[-2:] == [".zip", ".xz"]:
            with lzma.open(path) as packed, zipfile.ZipFile(packed) as archive:
                return set().union(*(_in_json(archive.read(name), Path(name)) for name in archive.namelist()))
        return _in_json(raw, path)
    except (ValueError, OSError, EOFError, lzma.LZMAError, zipfile.BadZipFile) as error:
        raise SpecVizError(f"{path} cannot be read ({error}); restore it or make it anew.") from None


def _in_json(raw: bytes, name: Path) -> set[str]:
    return set(_digits(_hashes(json.loads(gzip.decompress(raw) if name.suffix == ".gz" else raw))))


def part_of(page: str, section: str) -> str:
    """What stands between the marks of a section; the whole page where none is named; nothing without marks."""
    if not section:
        return page
    name = re.escape(section)
    match = re.search(rf"<!-- {name}(?::[^>]*)? -->\n(.*?)<!-- /{name} -->", page, re.DOTALL)
    return match[1] if match else ""


def _digits(hashes: Sequence[str] | Iterator[str]) -> Iterator[str]:
    return (file_hash[:DIGITS] for file_hash in hashes if file_hash)


def _hashes(data: Any) -> Iterator[str]:
    """Hashes of weights anywhere in JSON: by their key, in a table of models, or as keys themselves."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            if WHOLE.fullmatch(key):
                yield key
            if key in KEYS and isinstance(value, str):
                yield value
            if key == MODELS and isinstance(value, Mapping):
                yield from (one for one in value.values() if isinstance(one, str) and WHOLE.fullmatch(one))
            yield from _hashes(value)
    elif isinstance(data, list):
        for one in data:
            yield from _hashes(one)
