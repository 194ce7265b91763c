"""Draft and verification on two lanes with absolute times: what each did when, for one text and several methods.

Place in the flow: `asynchronous` makes lanes, measured or simulated; `specviz bench asynchronous --lanes` keeps those
of one prompt as a file, and the page draws it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from specviz.errors import TraceError, shown
from specviz.trace.files import read_file, write_file
from specviz.trace.guard import json_of, text_of
from specviz.trace.header import Machine, ModelCard
from specviz.trace.limits import STANDARD, Limits
from specviz.trace.validation import sentence_of

FORMAT = "specviz-lanes"
VERSION = "1.0"
DRAFT, TARGET = "drafter", "target"
WORK = ("draft", "verify", "roll back")
ROUNDING_S = 1e-6


@dataclass(frozen=True, slots=True)
class Span:
    """One lane busy with one thing; seconds from the moment at which the prompt was read."""

    lane: str
    """`drafter`, `target`, or one of several targets: `target 1`, `target 2`, …"""
    what: str
    """`draft`, `verify` or `roll back`, which takes no time"""
    start_s: float
    end_s: float
    tokens: int
    """drafted, or read beyond the text's end, or thrown away"""
    kept: int = 0
    """of a verification: tokens that became text"""
    accepted: int = 0
    """and how many of them had been drafted"""


def _busy(spans: Iterable[Span], lane: str, seconds: float) -> float:
    spent = sum(one.end_s - one.start_s for one in spans if one.lane == lane)
    return spent / seconds if seconds else 0.0


@dataclass(slots=True)
class Lanes:
    """A whole text on one clock."""

    method: str
    text: list[int]
    """prompt and output"""
    seconds: float
    spans: list[Span] = field(default_factory=list)

    def busy(self, lane: str) -> float:
        """Share of the time in which a lane computes."""
        return _busy(self.spans, lane, self.seconds)


@dataclass(frozen=True, slots=True)
class LanesRun:
    """One method on the prompt of the file."""

    method: str
    """`plain`, `sd`, `pearl`, `amusd` or `dsi`"""
    source: str
    """`measured` or `simulated`"""
    tokens: int
    """of output"""
    seconds: float
    spans: tuple[Span, ...]

    def drafted(self) -> int:
        return sum(one.tokens for one in self.spans if one.what == "draft")

    def thrown(self) -> int:
        """Drafted tokens that did not become text: those rejected, and those that followed them."""
        return self.drafted() - self.accepted()

    def accepted(self) -> int:
        """Drafted tokens that became text."""
        return sum(one.accepted for one in self.spans)

    def lanes(self) -> list[str]:
        return list(dict.fromkeys([DRAFT, *sorted(one.lane for one in self.spans if one.lane != DRAFT)]))

    def busy(self, lane: str) -> float:
        """Share of the time in which a lane computes."""
        return _busy(self.spans, lane, self.seconds)


@dataclass(frozen=True, slots=True)
class LanesCase:
    """All methods with one drafter, one after the other on the same machine."""

    slowdown_s: float
    """a sleep after each pass of the drafter, which makes it so much slower; 0: as it is"""
    runs: tuple[LanesRun, ...]
    """plain decoding first"""


@dataclass(frozen=True, slots=True)
class LanesFile:
    """One prompt."""

    format: str
    version: str
    prompt: str
    output: str
    machine: Machine
    target: ModelCard
    drafter: ModelCard
    gamma: int
    """tokens drafted in turn, and by PEARL in a round; and by DSI for each verification"""
    ahead: int
    widest: int
    temperature: float
    seed: int
    cases: tuple[LanesCase, ...]


_ADAPTER = TypeAdapter(LanesFile)


def write(file: LanesFile, path: Path) -> None:
    """`.json` or `.json.gz`, by the suffix; times to the microsecond. Raises TraceError for what `read` refuses."""
    for problem in problems(file):
        raise TraceError(f"these lanes contradict themselves: {problem}; please report it.")
    data = asdict(file)
    for case in data["cases"]:
        for run in case["runs"]:
            run["seconds"] = round(run["seconds"], 6)
            for span in run["spans"]:
                span.update(start_s=round(span["start_s"], 6), end_s=round(span["end_s"], 6))
    write_file(path, json.dumps(data, separators=(",", ":"), allow_nan=False), "a file of lanes")


def read(path: Path, limits: Limits = STANDARD) -> LanesFile:
    """Raises TraceError; the sentence begins with the file's name."""
    return read_file(path, lambda content: loads(content, limits), limits)


def loads(content: bytes, limits: Limits = STANDARD) -> LanesFile:
    """Raises TraceError with one sentence for whatever is no file of lanes."""
    text = text_of(content, limits)
    data = json_of(text, limits)
    if data.get("format") != FORMAT or data.get("version") != VERSION:
        raise TraceError(
            f"this is no file of lanes of version {VERSION}, but says {shown(data.get('format'))} "
            f"{shown(data.get('version'))}; `specviz bench asynchronous --lanes FILE` writes one."
        )
    try:
        file = _ADAPTER.validate_json(text, strict=True)
    except ValidationError as error:
        raise TraceError(sentence_of(error, "file of lanes")) from None
    for problem in problems(file):
        raise TraceError(f"{problem}; measure it again.")
    return file


def problems(file: LanesFile) -> Iterator[str]:
    """What cannot be so."""
    if not file.cases:
        yield "there is no case"
    for case in file.cases:
        if not case.runs or case.runs[0].method != "plain":
            yield "plain decoding is not the first of a case"
        for run in case.runs:
            yield from _of_run(run)


def _of_run(run: LanesRun) -> Iterator[str]:
    ends: dict[str, float] = {}
    for span in sorted(run.spans, key=lambda one: (one.start_s, one.end_s)):
        where = f"the {span.lane} of '{run.method}' at {span.start_s:.6f} s"
        if span.what not in WORK or run.source not in ("measured", "simulated"):
            yield f"{where} does something unknown"
        if not 0 <= span.start_s <= span.end_s <= run.seconds + ROUNDING_S or not 0 <= span.accepted <= min(
            span.kept, span.tokens
        ):
            yield f"{where} has impossible times or counts"
        if span.start_s < ends.get(span.lane, 0.0) - ROUNDING_S:
            yield f"{where} is busy with two things at once"
        ends[span.lane] = max(ends.get(span.lane, 0.0), span.end_s)
    if sum(span.kept for span in run.spans) < run.tokens:
        yield f"'{run.method}' has more text than its verifications gave"
