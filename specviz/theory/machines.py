"""The recorded sweep on two kinds of machine: the shipped result beside what the same sweep gave on another processor.

Of a machine that is no longer at hand the speedups are kept in a small file, with the commit, the date and in words
what differed in the program then. So that a table can show both without claiming that they are of one version, every
column says machine and date, and a note what else is different.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from statistics import median

from pydantic import TypeAdapter

from specviz.protocol.sweeps.points import BASELINE, SweepPoint, title
from specviz.protocol.sweeps.result import SweepResult, points_of
from specviz.resources import ROOT, without
from specviz.theory.rows import SweepRow, summarise, varied
from specviz.trace.header import Machine

FILE = ROOT / "sweeps" / "machines.json"
SHOWN = (
    ("model", 2), ("model", 4), ("model", 6), ("model tree 3,2,1", None), ("eagle", 4), ("ngram", 2), ("ngram", 4),
)  # fmt: skip
"""(title, speculation length) of the settings in the table"""


@dataclass(frozen=True, slots=True)
class KeptRow:
    """A case at one temperature over the texts that do not repeat themselves."""

    title: str
    gamma: int | None
    temperature: float
    speedup: float
    """median over the prompts; of plain decoding 1"""
    low: float
    high: float
    """95 % interval over resampled prompts"""
    tokens_per_s: float


@dataclass(frozen=True, slots=True)
class MachineSweep:
    """What a sweep gave on one machine."""

    machine: Machine
    created: str
    """UTC, ISO 8601"""
    rows: tuple[KeptRow, ...]
    width: float | None
    """a target pass of `CHAIN` over one of plain decoding, both inside their runs; None where the sweep has none"""
    step: float | None
    """a drafter's step of `CHAIN` over a pass of plain decoding"""
    commit: str = ""
    """of SpecViz, where it was measured by another one than shipped this file"""
    note: str = ""
    """what was different then, in a few words"""

    @property
    def name(self) -> str:
        """`AMD EPYC, 2026-11-25, before passes were compiled`."""
        return ", ".join(filter(None, (self.machine.processor, self.created[:10], self.note)))

    def row(self, title: str, gamma: int | None, temperature: float) -> KeptRow | None:
        wanted = (title, gamma, temperature)
        return next((row for row in self.rows if (row.title, row.gamma, row.temperature) == wanted), None)


CHAIN = ("model", 4)
"""the setting by which machines are compared"""
_ADAPTER = TypeAdapter(tuple[MachineSweep, ...])


def sweep_of(result: SweepResult, commit: str = "", note: str = "") -> MachineSweep:
    """The settings of the table, from a sweep's result."""
    titles = {BASELINE, *(name for name, _ in SHOWN)}
    points = varied(points_of(result))
    rows = tuple(map(_kept, summarise([point for point in points if title(point) in titles])))
    about = result.provenance
    return MachineSweep(about.machine, about.created, rows, *_prices(points), commit, note)


def _prices(points: Sequence[SweepPoint]) -> tuple[float | None, float | None]:
    """`width` and `step`, medians over the runs at the lowest temperature."""
    lowest = min(point.temperature for point in points)
    coldest = [point for point in points if point.temperature == lowest]
    plain = [point.cost.target_pass_s / point.rounds for point in coldest if point.drafter == BASELINE]
    chain = [point for point in coldest if (title(point), point.gamma) == CHAIN and point.cost.draft_passes]
    if not plain or not chain:
        return None, None
    one_row = median(plain)
    width = median(point.cost.target_pass_s / point.rounds for point in chain)
    step = median(point.cost.draft_pass_s / point.cost.draft_passes for point in chain)
    return round(width / one_row, 3), round(step / one_row, 3)


def why(sweeps: Sequence[MachineSweep]) -> str:
    """In a sentence, what speedups on two machines differ by: the price of width and of a drafter's step."""
    priced = [
        f"on {sweep.machine.processor} {sweep.width:.2f} times as long as one of plain decoding, and a drafter's step "
        f"{sweep.step:.2f} of it"
        for sweep in sweeps
        if sweep.width is not None
    ]
    if len(priced) < 2:
        return ""
    name, gamma = CHAIN
    return f"Why they differ: with {name} at γ = {gamma} a target pass takes {'; '.join(priced)}."


def _kept(row: SweepRow) -> KeptRow:
    values = (row.ratio.value, row.ratio.low, row.ratio.high, row.tokens_per_s)
    return KeptRow(title(row), row.gamma, row.temperature, *(round(value, 3) for value in values))


def dumps(sweeps: Sequence[MachineSweep]) -> str:
    """The text of the file, a line per row."""
    parts = []
    for sweep in sweeps:
        about = {name: value for name, value in asdict(sweep).items() if name != "rows"}
        rows = ",\n  ".join(json.dumps(asdict(row)) for row in sweep.rows)
        parts.append(f'{json.dumps(about)[:-1]}, "rows": [\n  {rows}\n ]}}')
    return "[\n " + ",\n ".join(parts) + "\n]\n"


@cache
def kept(path: Path = FILE) -> tuple[MachineSweep, ...]:
    """The machines of the file; none where it is damaged. Read once."""
    return without(path, lambda file: _ADAPTER.validate_json(file.read_bytes()), ())


def beside(result: SweepResult, others: Sequence[MachineSweep]) -> tuple[MachineSweep, ...]:
    """The sweep's own machine first, then those of another processor."""
    here = result.provenance.machine.processor
    return (sweep_of(result), *(other for other in others if other.machine.processor != here))


def table(sweeps: Sequence[MachineSweep]) -> tuple[list[str], list[list[str]]]:
    """Heads, and rows of cells: plain decoding in tokens per second, then each setting of `SHOWN` by its speedup, at
    each temperature of the first sweep."""
    heads = ["setting", "temperature", *(sweep.name for sweep in sweeps)]
    temperatures = sorted({row.temperature for row in sweeps[0].rows})
    body = []
    for temperature in temperatures:
        plain = [sweep.row(BASELINE, None, temperature) for sweep in sweeps]
        speeds = ["–" if row is None else f"{row.tokens_per_s:.0f} tokens/s" for row in plain]
        body.append(["plain decoding", f"{temperature:g}", *speeds])
        for name, gamma in SHOWN:
            rows = [sweep.row(name, gamma, temperature) for sweep in sweeps]
            if any(rows):
                length = "" if gamma is None else f", γ = {gamma}"
                cells = ["–" if row is None else f"{row.speedup:.2f}× [{row.low:.2f}–{row.high:.2f}]" for row in rows]
                body.append([f"{name}{length}", f"{temperature:g}", *cells])
    return heads, body
