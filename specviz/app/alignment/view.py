"""The alignment study as a chart and a table can draw it: the chosen number at the chosen temperature, loss by loss.

Reads the shipped result; no model runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from specviz.app.parts.shipped_file import read_shipped
from specviz.errors import OptionError
from specviz.resources import ROOT
from specviz.studies.alignment import result as alignments
from specviz.studies.alignment.result import DOMAINS, AlignmentFigures, AlignmentStudy, Measured, mean_over_domains

FILE = ROOT / "studies" / "alignment.json"
BOTH = "both"


@dataclass(frozen=True, slots=True)
class Number:
    """Something that was measured of every drafter."""

    name: str
    title: str
    of: Callable[[AlignmentFigures], float]


NUMBERS = (
    Number("alpha", "acceptance probability α", lambda one: one.alpha),
    Number("tau", "block efficiency τ, tokens per target pass", lambda one: one.block_efficiency),
    Number("mbsu", "MBSU, speedup if reading weights were all that costs", lambda one: one.mbsu),
    Number("coverage", "coverage, share of p on the drafter's four most likely tokens", lambda one: one.coverage),
    Number("last", "acceptance of the last draft once all before it were accepted", lambda one: one.by_position[-1]),
)


@dataclass(frozen=True, slots=True)
class AlignmentRow:
    """One alignment, or the drafter before any (`loss` is empty)."""

    start: str
    texts: str
    aligned_on: str
    loss: str
    value: float
    change: float | None
    """against the same drafter before; None for that itself"""


@dataclass(frozen=True, slots=True)
class AlignmentView:
    number: Number
    temperature: str
    domain: str
    rows: tuple[AlignmentRow, ...]
    gamma: int
    sentence: str
    origin: str


def shipped(file: Path = FILE) -> AlignmentStudy | None:
    """The shipped result; None where there is none. A damaged one is only logged: the page can do without."""
    return read_shipped(file, alignments.read)


def temperatures(study: AlignmentStudy) -> list[str]:
    """As they stand in the file."""
    return list(next(iter(study.starts.values())).before)


def alignment_view(study: AlignmentStudy, number: str, temperature: str, domain: str) -> AlignmentView:
    """Raises OptionError for a number, a temperature or a domain that was not measured."""
    wanted = next((one for one in NUMBERS if one.name == number), None)
    if wanted is None or temperature not in temperatures(study) or domain not in (BOTH, *DOMAINS):
        raise OptionError(
            f"'{number[:20]}' at temperature '{temperature[:20]}' on '{domain[:20]}' was not measured; choose one of "
            "the numbers, temperatures and domains that are offered."
        )
    before = {name: _value(wanted, one.before, temperature, domain) for name, one in study.starts.items()}
    rows = [AlignmentRow(name, "", "", "", value, None) for name, value in before.items()]
    for cell in study.cells:
        value = _value(wanted, cell.after, temperature, domain)
        texts = " + ".join(f"{one}-written" if one != "corpus" else one for one in cell.data.split("+"))
        rows.append(AlignmentRow(cell.start, texts, cell.domain, cell.loss, value, value - before[cell.start]))
    return AlignmentView(wanted, temperature, domain, tuple(rows), study.gamma, _sentence(rows, study), study.origin)


def _value(number: Number, measured: Measured, temperature: str, domain: str) -> float:
    by: Mapping[str, AlignmentFigures] = measured[temperature]
    return number.of(mean_over_domains(by) if domain == BOTH else by[domain])


def _sentence(rows: list[AlignmentRow], study: AlignmentStudy) -> str:
    """Which alignment raised the number most, and how many lowered it."""
    after = [(row, row.change) for row in rows if row.change is not None]
    if not after:
        return "No alignment has been measured yet."
    best, gain = max(after, key=lambda one: one[1])
    lower = sum(change < 0 for _, change in after)
    begin = f"After {study.tokens:,} tokens each, {lower} of {len(after)} alignments are below where they began."
    if gain <= 0:
        return f"{begin} None is above."
    found = f"{best.start} with {best.loss} on {best.texts} text, {gain:+.3f} to {best.value:.3f}."
    return f"{begin} The largest gain: {found}"
