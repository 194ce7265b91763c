"""With which weights a file was made, and whether these are the ones that are bundled now; if not, why.

Everything that rests on the bundled models says so itself: JSON under `weights_sha256` and the like, a page of the
documentation in the sentence below its table (`sha256 44e0c9290a33`), an archive in the traces it holds. Hashes are
compared by their first 12 digits.

Place in the flow: `specviz remake` runs the steps for which there is a reason here, and asks again after each.
"""

from __future__ import annotations

import gzip
import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from specviz.cli.remake.steps import SWEEP, Output, Step
from specviz.errors import SpecVizError


def reasons(step: Step, root: Path, weights: Mapping[str, str]) -> list[str]:
    """Why the step has to be run, a sentence for each output; none where all of them are of these weights.

    `weights`: bundled model → the beginning of its hash. Raises SpecVizError where a model is missing that it needs.
    """
    missing = [name for name in step.rests_on if name not in weights]
    if missing:
        raise SpecVizError(f"the bundled model '{missing[0]}' has no weights here, on which '{step.name}' rests.")
    wanted = {name: weights[name] for name in step.rests_on}
    return [why for output in step.outputs for why in _of(output, root, wanted, set(weights.values()))]


def _of(output: Output, root: Path, wanted: Mapping[str, str], known: set[str]) -> Iterator[str]:
    pattern = Path(output.path)  # absolute where the study is of another package
    base = Path(pattern.anchor) if pattern.is_absolute() else root
    there = base.glob(str(pattern.relative_to(pattern.anchor)))
    paths = sorted(path for path in there if not (output.without and path.match(output.without)))
    if not paths:
        yield f"{output}: not there"
        return
    if output.keeps_others:
        found = set().union(*(named(path, output.section) for path in paths))
        yield from _lacking(str(output), found, wanted)
        return
    for path in paths:
        short = path.relative_to(root) if path.is_relative_to(root) else path
        name = f"{short}{f' ({output.section})' if output.section else ''}"
        found = named(path, output.section)
        foreign = sorted(found - known)
        if foreign:
            yield f"{name}: made with other weights ({', '.join(foreign)})"
        else:
            yield from _lacking(name, found, wanted)
        if path.name == Path(f"{SWEEP}.json.gz").name:
            yield from _unfinished(path, name)


def _lacking(name: str, found: set[str], wanted: Mapping[str, str]) -> Iterator[str]:
    if not found:
        yield f"{name}: names no weights"
        return
    for model, digits in wanted.items():
        if digits not in found:
            yield f"{name}: not made with the bundled {model} ({digits})"


def _unfinished(path: Path, name: str) -> Iterator[str]:
    from specviz.protocol.sweeps.definition import fingerprint
    from specviz.protocol.sweeps.store import read
    from specviz.protocol.sweeps.toml_file import read_definition

    result = read(path)
    if result.definition_sha256 != fingerprint(read_definition(path.with_name(f"{Path(SWEEP).name}.toml"))):
        yield f"{name}: the sweep file asks for other runs"
    elif not result.complete:
        yield f"{name}: {len(result.points)} of {result.planned_runs} runs are done"


DIGITS = 12
IN_TEXT = re.compile(rf"sha256 ([0-9a-f]{{{DIGITS},64}})")
WHOLE = re.compile(r"[0-9a-f]{64}")
KEYS = ("weights_sha256", "target_sha256", "drafter_sha256")
MODELS = "models"
"""name → hash, in files that name several"""
WEIGHTS = "*/model*.safetensors"


def bundled(models: Path) -> dict[str, str]:
    """Model → the beginning of its weights' hash, of all bundled ones."""
    from specviz.lm.checkpoint import sha256_of, weight_files

    folders = sorted({path.parent for path in models.glob(WEIGHTS)})
    return {folder.name: sha256_of(weight_files(folder, folder.name))[:DIGITS] for folder in folders}


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
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                return set().union(*(_in_json(archive.read(name), Path(name)) for name in archive.namelist()))
        return _in_json(raw, path)
    except (ValueError, OSError, zipfile.BadZipFile) as error:
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
