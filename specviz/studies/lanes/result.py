"""Drafting beside verifying, as a file: what each lane did when, on one prompt by every method.

Place in the flow: `specviz bench asynchronous --lanes` writes it, the page draws it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from specviz.errors import TraceError, shown
from specviz.protocol.lanes import DRAFT, Span, busy_share
from specviz.resources import ROOT, without
from specviz.trace.files import read_file, write_file
from specviz.trace.guard import json_of, sentence_of, text_of
from specviz.trace.header import Machine, ModelCard
from specviz.trace.limits import STANDARD, Limits

FORMAT = "specviz-lanes"
VERSION = "1.0"
WORK = ("draft", "verify", "roll back")
ROUNDING_S = 1e-6


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
        return busy_share(self.spans, lane, self.seconds)


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


FILE = ROOT / "lanes" / "opening.json.gz"
NAMES = {
    "plain": "plain decoding",
    "sd": "draft, then verify",
    "pearl": "PEARL",
    "amusd": "AMUSD",
    "dsi": "DSI",
}
"""in the order in which they are shown"""
BESIDE = (NAMES["pearl"], NAMES["amusd"])


@dataclass(frozen=True, slots=True)
class Lane:
    """One line of the chart."""

    method: str
    name: str
    source: str
    lane: str
    busy: float
    """share of the time"""
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class MethodRow:
    """One line of the table; shares of the method's own time."""

    name: str
    source: str
    ratio: float
    """tokens per second over plain decoding's"""
    tokens_per_s: float
    drafter_busy: float
    target_busy: float
    """of several targets the mean"""
    drafted: int
    thrown: int


@dataclass(frozen=True, slots=True)
class LanesView:
    lanes: tuple[Lane, ...]
    rows: tuple[MethodRow, ...]
    seconds: float
    """of the slowest"""
    sentence: str
    origin: str


def shipped(file: Path = FILE) -> LanesFile | None:
    """The shipped lanes; None where there are none. A damaged file is only logged: the page can do without."""
    return without(file, read, None) if file.is_file() else None


def case_names(file: LanesFile) -> list[str]:
    return [_case_name(one) for one in file.cases]


def lanes_view(file: LanesFile, case: str) -> LanesView:
    """The case of that name, or the first."""
    chosen = next((one for one in file.cases if _case_name(one) == case), file.cases[0])
    runs = sorted(chosen.runs, key=lambda run: list(NAMES).index(run.method))
    shown = tuple(
        Lane(
            run.method, NAMES[run.method], run.source, lane, run.busy(lane),
            tuple(span for span in run.spans if span.lane == lane),
        )
        for run in runs
        for lane in run.lanes()
        if lane != DRAFT or run.drafted()
    )  # fmt: skip
    plain = chosen.runs[0]
    rows = tuple(_row(run, plain) for run in runs)
    return LanesView(shown, rows, max(run.seconds for run in runs), _sentence(rows), _origin(file))


def _case_name(case: LanesCase) -> str:
    if not case.slowdown_s:
        return "the drafter as it is"
    return f"a drafter that sleeps {1000 * case.slowdown_s:g} ms after each pass"


def _row(run: LanesRun, plain: LanesRun) -> MethodRow:
    speed, base = run.tokens / run.seconds, plain.tokens / plain.seconds
    targets = [run.busy(lane) for lane in run.lanes() if lane != DRAFT]
    return MethodRow(
        NAMES[run.method], run.source, speed / base, speed, run.busy(DRAFT), sum(targets) / len(targets),
        run.drafted(), run.thrown(),
    )  # fmt: skip


def _sentence(rows: tuple[MethodRow, ...]) -> str:
    """What the measured runs say; a simulated one wins nothing."""
    measured = {row.name: row for row in rows if row.source == "measured"}
    turn = measured.get(NAMES["sd"])
    beside = [row for name, row in measured.items() if name in BESIDE]
    if turn is None or not beside:
        return ""
    best = max(beside, key=lambda row: row.ratio)
    gain = best.ratio / turn.ratio
    if gain > 1:
        verdict = f"Drafting beside verifying pays here: {best.name} is {gain:.2f}× as fast as drafting in turn."
    else:
        verdict = (
            f"Drafting beside verifying does not pay here: {best.name}, the better of the two, is {gain:.2f}× as fast "
            "as drafting in turn."
        )
    return (
        f"{verdict} It hides {turn.drafter_busy:.0%} of the time at most, what drafting takes in turn, and throws away "
        f"{best.thrown} of {best.drafted} drafted tokens, where in turn it is {turn.thrown} of {turn.drafted}."
    )


def _origin(file: LanesFile) -> str:
    return (
        f"Recorded on {file.machine.processor}, {file.machine.cores} cores, one thread each, {file.machine.dtype}; "
        f"{file.target.name} and {file.drafter.name}, temperature {file.temperature:g}, γ = {file.gamma}, AMUSD up to "
        f"{file.ahead} tokens ahead. Prompt: {file.prompt}"
    )
