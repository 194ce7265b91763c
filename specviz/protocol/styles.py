"""Prompt styles measured: the same questions asked in several styles, decoded plainly and with drafters, as a file.

Place in the flow: `specviz bench styles` writes one, `theory.styles` makes numbers of it, and the page draws them.
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

FORMAT = "specviz-styles"
VERSION = "1.0"
PLAIN = "plain"
"""the drafter's name where nothing drafts"""
DIRECT, CHAIN, TREE, SEARCH, SKETCH, DRAFT = "direct", "chain", "tree", "search", "sketch", "draft"
TITLES = {
    DIRECT: "no style", CHAIN: "CoT", TREE: "ToT", SEARCH: "AoT", SKETCH: "SoT", DRAFT: "CoD",
}  # fmt: skip
"""style → its name in tables and charts; the first asks for none and is what the others are held against"""
KINDS = {"sums": "sums", "problems": "word problems"}
ASKED = {"words": "asked in words", "tag": "asked by the corpus's tag", "message": "asked as a message"}
CLOCKS = {"process": "by the time that the processor worked", "wall": "by the clock on the wall"}


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One question asked in one style."""

    kind: str
    asked: str
    style: str
    number: int
    """of the question; the same in every style"""


@dataclass(frozen=True, slots=True)
class StyleAnswer:
    """What plain decoding wrote."""

    cell: Cell
    prompt: str
    truth: int
    text: str
    followed: bool
    """whether the text has the form that its style asks for; True where none is asked for"""


@dataclass(frozen=True, slots=True)
class StyleRun:
    """One answer by one drafter."""

    cell: Cell
    drafter: str
    repeat: int
    seconds: float
    """of the whole call, the prompt's pass included"""
    tokens: int
    """of output: N"""
    drafts: int
    """rounds that drafted"""
    drafted: int
    accepted: int
    tested: int
    """candidates that were judged; unreached ones are none"""
    right: bool
    """it ended, and its last number is the question's answer"""
    same: bool
    """token for token plain decoding's text in the same repeat"""


@dataclass(frozen=True, slots=True)
class StyleFile:
    """One measurement."""

    format: str
    version: str
    machine: Machine
    target: ModelCard
    drafters: tuple[ModelCard, ...]
    """the models that drafted"""
    created: str
    """UTC, ISO 8601"""
    clock: str
    """`process`: seconds that the processor worked for this process, so that other programs disturb less; `wall`"""
    load: float | None
    """of the machine as it ended, averaged over a minute, this program included; None where the system does not tell"""
    command: str
    seed: int
    """of the questions"""
    max_new_tokens: int
    answers: tuple[StyleAnswer, ...]
    runs: tuple[StyleRun, ...]


_ADAPTER = TypeAdapter(StyleFile)


def write(file: StyleFile, path: Path) -> None:
    """`.json` or `.json.gz`, by the suffix; times to the microsecond. Raises TraceError for what `read` refuses."""
    for problem in problems(file):
        raise TraceError(f"these styles contradict themselves: {problem}; please report it.")
    data = asdict(file)
    for run in data["runs"]:
        run["seconds"] = round(run["seconds"], 6)
    write_file(path, json.dumps(data, separators=(",", ":"), allow_nan=False), "a file of styles")


def read(path: Path, limits: Limits = STANDARD) -> StyleFile:
    """Raises TraceError; the sentence begins with the file's name."""
    return read_file(path, lambda content: loads(content, limits), limits)


def loads(content: bytes, limits: Limits = STANDARD) -> StyleFile:
    """Raises TraceError with one sentence for whatever is no file of styles."""
    text = text_of(content, limits)
    data = json_of(text, limits)
    if data.get("format") != FORMAT or data.get("version") != VERSION:
        raise TraceError(
            f"this is no file of styles of version {VERSION}, but says {shown(data.get('format'))} "
            f"{shown(data.get('version'))}; `specviz bench styles --result FILE` writes one."
        )
    try:
        file = _ADAPTER.validate_json(text, strict=True)
    except ValidationError as error:
        raise TraceError(sentence_of(error, "file of styles")) from None
    for problem in problems(file):
        raise TraceError(f"{problem}; measure it again.")
    return file


def problems(file: StyleFile) -> Iterator[str]:
    """What cannot be so."""
    cells = [one.cell for one in file.answers]
    known, runs = set(cells), [(one.cell, one.drafter, one.repeat) for one in file.runs]
    there = set(runs)
    if file.clock not in CLOCKS:
        yield "its clock is neither of the two"
    if not any(one.drafter != PLAIN for one in file.runs):
        yield "nothing was measured beside plain decoding"
    if len(known) < len(cells) or len(there) < len(runs):
        yield "an answer or a run is there twice"
    for cell in known:
        if cell.kind not in KINDS or cell.asked not in ASKED or cell.style not in TITLES:
            yield f"{_named(cell)} is of no kind, way or style that there is"
    for one in file.runs:
        where = f"{one.drafter[:40]} on {_named(one.cell)}, repeat {one.repeat + 1},"
        if one.cell not in known:
            yield f"{where} has no answer of plain decoding"
        if (one.cell, PLAIN, one.repeat) not in there:
            yield f"{where} has no plain decoding beside it"
        if not (one.seconds > 0 and one.tokens > 0 and 0 <= one.accepted <= one.tested <= one.drafted):
            yield f"{where} has impossible times or counts"
        if one.drafts > one.drafted or (one.drafter == PLAIN and one.drafted):
            yield f"{where} has impossible drafts"


def _named(cell: Cell) -> str:
    return f"{cell.kind[:20]} {cell.number + 1} {cell.asked[:20]} {cell.style[:20]}"
