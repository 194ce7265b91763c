"""Batches measured: the same texts decoded plainly and speculatively in batches of several sizes, as a file.

Place in the flow: `specviz bench batch` writes one, `theory.batches` makes numbers of it, and the page draws them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from specviz.errors import TraceError, shown
from specviz.trace.files import read_file, write_file
from specviz.trace.guard import json_of, sentence_of, text_of
from specviz.trace.header import Machine, ModelCard
from specviz.trace.limits import STANDARD, Limits

FORMAT = "specviz-batches"
VERSION = "1.0"
Shape = tuple[int, ...]
"""children per node at each level of the draft; all ones: a chain; empty: plain decoding"""
PLAIN: Shape = ()
CLOCKS = {"process": "by the time that the processor worked", "wall": "by the clock on the wall"}


@dataclass(frozen=True, slots=True)
class BatchPoint:
    """All texts decoded once in one way, in batches of one size one after the other. The prompts' passes are in no
    number."""

    shape: Shape
    size: int
    repeat: int
    seconds: float
    pass_s: float
    """of them inside the models' passes"""
    tokens: int
    """of output"""
    target_passes: int
    shares: int
    """texts in a target pass, summed over the passes: a text that is over is in none"""
    drafter_passes: int


@dataclass(frozen=True, slots=True)
class BatchText:
    """What was drafted on one prompt; every repeat draws the same."""

    shape: Shape
    size: int
    prompt: str
    """id"""
    drafts: int
    """rounds that drafted"""
    drafted: int
    accepted: int
    same: bool
    """whether it wrote in every repeat, token for token, what the engine wrote without a batch"""


@dataclass(frozen=True, slots=True)
class BatchFile:
    """One measurement."""

    format: str
    version: str
    machine: Machine
    target: ModelCard
    drafter: ModelCard
    created: str
    """UTC, ISO 8601"""
    clock: str
    """`process`: seconds that the processor worked for this process, so that other programs disturb less; `wall`"""
    load: float | None
    """of the machine as it ended, averaged over a minute, this program included; None where the system does not tell"""
    temperature: float
    seed: int
    """of the first prompt; the next has the next"""
    max_new_tokens: int
    points: tuple[BatchPoint, ...]
    texts: tuple[BatchText, ...]


_ADAPTER = TypeAdapter(BatchFile)


def write(file: BatchFile, path: Path) -> None:
    """`.json` or `.json.gz`, by the suffix; times to the microsecond. Raises TraceError for what `read` refuses."""
    for problem in problems(file):
        raise TraceError(f"these batches contradict themselves: {problem}; please report it.")
    data = asdict(file)
    for point in data["points"]:
        point.update(seconds=round(point["seconds"], 6), pass_s=round(point["pass_s"], 6))
    write_file(path, json.dumps(data, separators=(",", ":"), allow_nan=False), "a file of batches")


def read(path: Path, limits: Limits = STANDARD) -> BatchFile:
    """Raises TraceError; the sentence begins with the file's name."""
    return read_file(path, lambda content: loads(content, limits), limits)


def loads(content: bytes, limits: Limits = STANDARD) -> BatchFile:
    """Raises TraceError with one sentence for whatever is no file of batches."""
    text = text_of(content, limits)
    data = json_of(text, limits)
    if data.get("format") != FORMAT or data.get("version") != VERSION:
        raise TraceError(
            f"this is no file of batches of version {VERSION}, but says {shown(data.get('format'))} "
            f"{shown(data.get('version'))}; `specviz bench batch --result FILE` writes one."
        )
    try:
        file = _ADAPTER.validate_json(text, strict=True)
    except ValidationError as error:
        raise TraceError(sentence_of(error, "file of batches")) from None
    for problem in problems(file):
        raise TraceError(f"{problem}; measure it again.")
    return file


def problems(file: BatchFile) -> Iterator[str]:
    """What cannot be so."""
    keys = [(one.shape, one.size, one.repeat) for one in file.points]
    if file.clock not in CLOCKS:
        yield "its clock is neither of the two"
    if not any(one.shape != PLAIN for one in file.points):
        yield "nothing was measured beside plain decoding"
    for shape, size, repeat in keys:
        where = f"{name_of(shape)} in batches of {size}, repeat {repeat + 1},"
        if keys.count((shape, size, repeat)) > 1:
            yield f"{where} is there twice"
        if (PLAIN, size, repeat) not in keys:
            yield f"{where} has no plain decoding beside it"
        if not any((one.shape, one.size) == (shape, size) for one in file.texts):
            yield f"{where} has no texts"
    for point in file.points:
        if not (0 < point.pass_s <= point.seconds and 0 < point.target_passes <= point.tokens and point.size > 0):
            yield f"{name_of(point.shape)} in batches of {point.size} has impossible times or counts"
        if not point.target_passes <= point.shares <= point.target_passes * point.size:
            yield f"{name_of(point.shape)} in batches of {point.size} has more texts in its passes than there are"
    for text in file.texts:
        if not 0 <= text.accepted <= text.drafted or text.drafts > text.drafted:
            yield f"{name_of(text.shape)} on {text.prompt} has impossible counts"


def name_of(shape: Shape) -> str:
    """`plain decoding`, `γ = 4` or `tree 2,1`."""
    if shape == PLAIN:
        return "plain decoding"
    return f"γ = {len(shape)}" if max(shape) == 1 else f"tree {','.join(map(str, shape))}"
