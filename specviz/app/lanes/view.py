"""Lanes as a chart, a table and a sentence can say them: which method, measured or simulated, busy, thrown away.

Reads the shipped file; no model runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from specviz.app.parts.shipped_file import read_shipped
from specviz.protocol import lanes
from specviz.protocol.lanes import DRAFT, LanesCase, LanesFile, LanesRun, Span
from specviz.resources import ROOT

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
    return read_shipped(file, lanes.read)


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
