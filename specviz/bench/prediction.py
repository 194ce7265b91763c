"""A predicted sweep beside the recorded one, and beside a real small sweep of the same machine: how far it is off.

    recorded sweep + this machine's clock ─► `theory.sweep_clock` ─► predicted ─┐
          └─ some of its cases and prompts ─► run here ─► measured ─────────┴─► a row per case

Place in the flow: `specviz predict` asks, and prints the table. Texts that repeat themselves are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from specviz.bench.core.report import DASH, markdown_table, or_dash
from specviz.errors import BenchError
from specviz.protocol.runs import Catalog
from specviz.protocol.sweeps.definition import SweepSpec, expand
from specviz.protocol.sweeps.points import BASELINE, SweepPoint, title
from specviz.protocol.sweeps.result import SweepResult, points_of
from specviz.theory.rows import summarise, varied

HEAD = ("setting", "γ", "temperature", "recorded, × plain", "predicted here", "measured here", "error")
Case = tuple[str, int | None, float]
"""title, speculation length, temperature"""


@dataclass(frozen=True, slots=True)
class CaseSpeedups:
    """One case of a sweep: the median over its prompts of the speedup over plain decoding."""

    case: Case
    recorded: float
    predicted: float
    measured: float | None = None
    """None where nothing was run"""

    @property
    def error(self) -> float | None:
        """Predicted ÷ measured − 1."""
        return None if self.measured is None else self.predicted / self.measured - 1


def compare(
    recorded: Sequence[SweepPoint], predicted: Sequence[SweepPoint], measured: Sequence[SweepPoint] = ()
) -> list[CaseSpeedups]:
    """Every predicted case; where something was measured, the cases and prompts that were."""
    if measured:
        runs = {(*_case(point), point.prompt) for point in measured}
        recorded, predicted = (
            [point for point in points if (*_case(point), point.prompt) in runs] for points in (recorded, predicted)
        )
    was, now, real = _speedups(recorded), _speedups(predicted), _speedups(measured)
    return [CaseSpeedups(case, was[case], now[case], real.get(case)) for case in now]


def _case(point: SweepPoint) -> Case:
    return title(point), point.gamma, point.temperature


def _speedups(points: Sequence[SweepPoint]) -> dict[Case, float]:
    rows = summarise(held) if (held := varied(points)) else []
    return {(title(row), row.gamma, row.temperature): row.ratio.value for row in rows if row.drafter != BASELINE}


def small_sweep(result: SweepResult, catalog: Catalog, drafters: Sequence[str], prompts: int) -> SweepSpec:
    """Of a recorded sweep the cases of these drafters, at its lowest temperature, on the first prompts whose texts of
    plain decoding do not repeat themselves. Raises BenchError where none of its drafters is called so."""
    spec = expand(result.definition, catalog)
    lowest = min(spec.temperatures)
    held = varied([point for point in points_of(result) if point.temperature == lowest and point.drafter == BASELINE])
    chosen = tuple(drafter for drafter in spec.drafters if drafter.name in drafters)
    if not chosen or not held:
        there = ", ".join(dict.fromkeys(drafter.name for drafter in spec.drafters))
        raise BenchError(f"the sweep has no drafter called {' or '.join(drafters)} to check; it has {there}.")
    ids = tuple(dict.fromkeys(point.prompt for point in held))[:prompts]
    return replace(spec, drafters=chosen, prompt_ids=ids, temperatures=(lowest,))


def table(rows: Sequence[CaseSpeedups]) -> str:
    """Markdown; the last two columns only where something was measured."""
    checked = any(row.measured is not None for row in rows)
    body = [
        [
            row.case[0],
            DASH if row.case[1] is None else str(row.case[1]),
            f"{row.case[2]:g}",
            f"{row.recorded:.2f}",
            f"{row.predicted:.2f}",
            *([or_dash(row.measured, "{:.2f}"), or_dash(row.error, "{:+.1%}")] if checked else []),
        ]
        for row in rows
    ]
    return markdown_table(HEAD if checked else HEAD[:-2], body)


def verdict(rows: Sequence[CaseSpeedups]) -> str:
    """How far the prediction was off, in a sentence; empty where nothing was measured."""
    off = {row.case: abs(row.error) for row in rows if row.error is not None}
    if not off:
        return ""
    (name, gamma, _), most = max(off.items(), key=lambda item: item[1])
    length = "" if gamma is None else f" at γ = {gamma}"
    return (
        f"Predicted against measured, {len(off)} cases: off by {median(off.values()):.1%} in the median, at most by "
        f"{most:.1%} ({name}{length})."
    )
