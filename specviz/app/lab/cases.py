"""The points of a sweep put together by case, each beside the plain runs of the same prompts, and which series of many
a chart draws before a name is pressed: those of the fastest drafters, and the fastest of all.

Place in the flow: the first thing every chart of the lab does with its points. All numbers are sums over runs, so that
a chart can name numerator and denominator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isclose
from statistics import median
from typing import Protocol, TypeVar

from specviz.app.look.style import SHOWN, quantity
from specviz.protocol.sweeps.points import BASELINE, SweepPoint, title
from specviz.theory.speedup import times_as_fast

Rows = list[dict[str, object]]
"""a chart's numbers for a file: every row has the same columns"""
PLAIN = "plain decoding"


@dataclass(frozen=True, slots=True)
class Sums:
    """Counts and engine seconds of some runs together."""

    runs: int
    tokens: int
    rounds: int
    drafted: int
    accepted: int
    decode_s: float
    draft_s: float
    draft_pass_s: float
    draft_passes: int
    target_s: float
    target_pass_s: float
    target_rows: int
    judge_s: float
    commit_s: float

    @classmethod
    def of(cls, points: Sequence[SweepPoint]) -> Sums:
        costs = [point.cost for point in points]
        return cls(
            runs=len(points),
            tokens=sum(point.output_tokens for point in points),
            rounds=sum(point.rounds for point in points),
            drafted=sum(point.drafted for point in points),
            accepted=sum(point.accepted for point in points),
            decode_s=sum(point.decode_s for point in points),
            draft_s=sum(cost.draft_s for cost in costs),
            draft_pass_s=sum(cost.draft_pass_s for cost in costs),
            draft_passes=sum(cost.draft_passes for cost in costs),
            target_s=sum(cost.target_s for cost in costs),
            target_pass_s=sum(cost.target_pass_s for cost in costs),
            target_rows=sum(cost.target_rows for cost in costs),
            judge_s=sum(cost.judge_s for cost in costs),
            commit_s=sum(cost.commit_s for cost in costs),
        )

    @property
    def timed(self) -> bool:
        """Whether there is something to divide by: tokens, rounds and seconds, target passes among them."""
        return min(self.tokens, self.rounds) > 0 and min(self.decode_s, self.target_pass_s) > 0


@dataclass(frozen=True, slots=True)
class CaseRuns:
    """One drafter at one setting, all its runs together."""

    name: str
    """with its speculation length, such as `model γ=4`"""
    series: str
    """the same without the length: what is drawn in one colour"""
    gamma: int | None
    stop_policy: str
    points: tuple[SweepPoint, ...]
    sums: Sums
    plain: Sums | None
    """plain decoding of the same prompts and repeats; None unless there is one for every run, all of them timed"""

    @property
    def ratio(self) -> float | None:
        """Tokens per second of all runs together / those of their plain runs; None without them."""
        if self.plain is None or not self.sums.timed:
            return None
        return times_as_fast(self.sums.tokens / self.sums.decode_s, self.plain.tokens / self.plain.decode_s)

    @property
    def median_ratio(self) -> float:
        """The number of the main chart and of the table."""
        return median_ratio(self.points)


def median_ratio(runs: Sequence[SweepPoint]) -> float:
    """The median over the prompts of the median of each one's repeats, of the runs' own ratios."""
    by_prompt: dict[str, list[float]] = {}
    for run in runs:
        by_prompt.setdefault(run.prompt, []).append(run.ratio)
    return median(median(ratios) for ratios in by_prompt.values())


def cases(points: Sequence[SweepPoint]) -> list[CaseRuns]:
    """Every case that drafts, in order of first appearance."""
    plain = {_pair(point): point for point in points if point.drafter == BASELINE}
    mixed = len({point.temperature for point in points}) > 1
    groups: dict[tuple[str, str, int | None, float], list[SweepPoint]] = {}
    for point in points:
        if point.drafter != BASELINE:
            groups.setdefault((point.drafter, title(point), point.gamma, point.temperature), []).append(point)
    return [_case(group, plain, mixed) for group in groups.values()]


def paired(points: Sequence[SweepPoint]) -> list[SweepPoint]:
    """Plain decoding, and the runs that were really measured beside it. A sweep that was resumed has others: their
    baseline ran anew and is not kept, so that no sum can be divided by its seconds."""
    plain = {_pair(point): point.tokens_per_s for point in points if point.drafter == BASELINE}
    return [point for point in points if isclose(plain.get(_pair(point), 0.0), point.baseline_tokens_per_s)]


def _case(runs: Sequence[SweepPoint], plain: dict[tuple[str, int, float], SweepPoint], mixed: bool) -> CaseRuns:
    first = runs[0]
    heat = f" at temperature {first.temperature:g}" if mixed else ""
    length = "" if first.gamma is None else f" γ={first.gamma}"
    beside = Sums.of([plain[_pair(run)] for run in runs if _pair(run) in plain])
    return CaseRuns(
        name=f"{first.label}{length}{_policies(first)}{heat}",
        series=f"{title(first)}{heat}",
        gamma=first.gamma,
        stop_policy=first.policies.stop_policy.name,
        points=tuple(runs),
        sums=Sums.of(runs),
        plain=beside if beside.runs == len(runs) and beside.timed else None,
    )


def _policies(point: SweepPoint) -> str:
    return f" · {point.policies}" if str(point.policies) else ""


def _pair(point: SweepPoint) -> tuple[str, int, float]:
    return point.prompt, point.repeat, point.temperature


def plain_runs(points: Sequence[SweepPoint]) -> Sums:
    """All runs of plain decoding together."""
    return Sums.of([point for point in points if point.drafter == BASELINE])


def by_series(measured: Sequence[CaseRuns]) -> dict[str, list[CaseRuns]]:
    """The cases of each series, shortest drafts first; a case without a length of its own comes first."""
    groups: dict[str, list[CaseRuns]] = {}
    for case in measured:
        groups.setdefault(case.series, []).append(case)
    return {series: sorted(group, key=lambda case: case.gamma or 0) for series, group in groups.items()}


def fastest(measured: Sequence[CaseRuns]) -> list[CaseRuns]:
    """Of each series the case with the highest median ratio, the shorter one on a tie; the fastest series first."""
    best = [max(group, key=lambda case: case.median_ratio) for group in by_series(measured).values()]
    return sorted(best, key=lambda case: -case.median_ratio)


def fraction(
    name: str, formula: str, numerator: float, denominator: float, units: tuple[str, str] = ("", ""), result: str = ""
) -> str:
    """One number told in full: what it is, the formula, numerator, denominator, value. `result`: its unit, `ms` for
    seconds per something."""
    value = numerator / denominator * (1000 if result == "ms" else 1)
    division = " ÷ ".join(quantity(part, unit) for part, unit in zip((numerator, denominator), units, strict=True))
    return f"{name} = {formula} = {division} = {quantity(value, result)}"


# --- which series are drawn at first ---------------------------------------------------------------------------------


class Contestant(Protocol):
    """A series as far as it matters for the choice."""

    @property
    def drafter(self) -> str: ...
    @property
    def lengths(self) -> int:
        """how many were measured"""

    @property
    def best(self) -> float:
        """median speedup at the fastest of them"""


Entered = TypeVar("Entered", bound=Contestant)


def chosen(series: Sequence[Entered]) -> tuple[Sequence[Entered], Sequence[Entered]]:
    """Those that are drawn, and the others. Of few all are, in the order given; of many the series with the most
    lengths of each of the fastest drafters, and the fastest series of all, which the verdict names."""
    if len(series) <= SHOWN:
        return series, ()
    fastest = sorted(series, key=lambda line: line.best, reverse=True)
    longest: dict[str, Entered] = {}
    for line in fastest:
        if line.drafter not in longest or line.lengths > longest[line.drafter].lengths:
            longest[line.drafter] = line
    leaders = [line for line in fastest if longest[line.drafter] is line]
    drawn = [*leaders[:SHOWN], *(line for line in fastest[:1] if line not in leaders)]
    return drawn, sorted((line for line in fastest if line not in drawn), key=lambda line: line not in leaders)


@dataclass(frozen=True, slots=True)
class _Standing:
    series: str
    drafter: str
    lengths: int
    best: float


def leading(points: Sequence[SweepPoint]) -> list[str]:
    """The names of the series that are drawn at first; none where there are so few that all are."""
    standings = [
        _Standing(series, group[0].points[0].drafter, len(group), max(case.median_ratio for case in group))
        for series, group in by_series(cases(points)).items()
    ]
    drawn, others = chosen(standings)
    return [standing.series for standing in drawn] if others else []


class OfSeries(Protocol):
    """Whatever a chart draws in the colour of a series."""

    @property
    def series(self) -> str: ...


Found = TypeVar("Found", bound=OfSeries)


def leaders_first(drawn: Sequence[Found], few: Sequence[str]) -> list[Found]:
    """Those of these series in their order, then the others as they were: what is drawn at first has colours of its
    own."""
    return sorted(drawn, key=lambda line: few.index(line.series) if line.series in few else len(few))
