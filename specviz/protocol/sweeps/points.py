"""What a sweep found: one point per run, one row per case.

Place in the flow: filled by `sweep.py`, read by the When-it-pays tab, by charts and by the bench's report. Plain data
and order statistics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple, Protocol

from specviz.errors import BenchError
from specviz.protocol.choice import STANDARD, Choice
from specviz.protocol.sweeps.intervals import median_over_prompts
from specviz.trace.events import Option
from specviz.trace.header import StepTime

BASELINE = "none"
"""the drafter every ratio is taken against: plain decoding with the same code"""


@dataclass(frozen=True, slots=True)
class Policies:
    """How drafts grow and end in one case of a sweep; the defaults are what a request says that names neither."""

    tree_policy: Choice = STANDARD["tree_policy"]
    stop_policy: Choice = STANDARD["stop_policy"]

    def __str__(self) -> str:
        """What was chosen, such as `dyspec budget 16 · heuristic`; empty where nothing was."""
        chosen = ((self.tree_policy, STANDARD["tree_policy"]), (self.stop_policy, STANDARD["stop_policy"]))
        return " · ".join(words(choice.name, choice.options) for choice, usual in chosen if choice.name != usual.name)


def words(name: str, options: Mapping[str, Option]) -> str:
    """A method with its options, such as `dyspec budget 16`."""
    return " ".join([name, *(f"{option.replace('_', ' ')} {value}" for option, value in options.items())])


@dataclass(frozen=True, slots=True)
class RunCost:
    """Where one run's decode time went, and what it went into. Seconds are engine time, summed over the rounds."""

    draft_s: float
    target_s: float
    judge_s: float
    commit_s: float
    draft_passes: int
    """forward passes of the drafter's model; 0 where it has none"""
    draft_pass_s: float
    """seconds inside those passes, part of draft_s"""
    target_rows: int
    """rows of all target passes together: roots and candidates"""
    target_pass_s: float
    """seconds inside the target's passes, part of target_s"""


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One run of one case, beside the plain run of the same prompt and repeat."""

    drafter: str
    label: str
    gamma: int | None
    options: Mapping[str, Option]
    prompt: str
    """prompt id"""
    family: str
    repeat: int
    output_tokens: int
    rounds: int
    decode_s: float
    """engine time of the rounds; prefill, recording and drawing excluded"""
    tokens_per_s: float
    baseline_tokens_per_s: float
    ratio: float
    """tokens_per_s / baseline_tokens_per_s: the measured speedup of this run"""
    same_output: bool
    """token for token the plain run's output (expected at temperature 0)"""
    drafted: int
    accepted: int
    acceptance_rate: float | None
    """accepted / drafted; None when nothing was drafted"""
    mean_acceptance_length: float | None
    """1 + accepted / rounds that drafted; None when nothing was drafted"""
    alpha: float | None
    """probability that a tested level is accepted: accepted / (accepted + rounds that met a rejection). The estimate of
    the theory's alpha from capped runs; None when nothing was tested"""
    draft_step_s: float | None
    """seconds of one bare pass of the drafter's model over one row; None where it has none"""
    temperature: float
    accepted_lengths: tuple[int, ...]
    """[j] = rounds that drafted and accepted exactly j candidates"""
    by_depth: tuple[tuple[int, int], ...]
    """[d-1] = (rounds that drafted to depth d, rounds that accepted depth d)"""
    levels: tuple[tuple[int, int], ...]
    """[d-1] = (rounds that tested depth d, rounds that accepted it): conditional on depth d-1 being accepted"""
    cost: RunCost
    policies: Policies = field(default_factory=Policies)
    repetition: float | None = None
    """share of repeated 4-grams of the output (`theory.repetition`); None in results of releases that did not count"""
    plain_repetition: float | None = None
    """the same of the plain run's output beside it"""
    mbsu: float | None = None
    """memory-bound speedup (`theory.metrics.mbsu`), τ being `output_tokens` / `rounds`; None where the weights that its
    drafter reads are not known"""
    memory_ratio: float | None = None
    """its c, target bytes / drafter bytes, in the mean over its drafter passes; None where they read no weights, or
    nobody counted them"""
    pass_reads: str = ""
    """which weights a drafter pass reads, in words"""
    worker: int | None = None
    """index among the result's `provenance.workers`; None: the process of its `command`"""
    step_times: tuple[StepTime, ...] = ()
    """the target's measured step-time curve, for the theory curve; files keep each curve once, beside the points"""


@dataclass(frozen=True, slots=True)
class SweepRow:
    """One case at one temperature over all its prompts and repeats."""

    drafter: str
    label: str
    gamma: int | None
    temperature: float
    prompts: int
    runs: int
    ratio_median: float
    """median over the prompts of the median over each one's repeats"""
    ratio_low: float
    """lower end of its 95 % interval from resampled prompts (`intervals`); the median itself where there is one prompt,
    of which no interval follows"""
    ratio_high: float
    """upper end"""
    tokens_per_s_median: float
    baseline_tokens_per_s_median: float
    """of plain decoding beside these runs"""
    acceptance_rate: float | None
    """accepted / drafted over all runs together"""
    mean_acceptance_length: float | None
    """median over the runs"""
    alpha: float | None
    """median over the runs"""
    same_output: int
    """how many runs gave the plain run's tokens"""
    drafted_per_round: float
    """candidates per target pass over all runs together"""
    policies: Policies
    mbsu: float | None = None
    """median over the runs"""
    memory_ratio: float | None = None
    """of all runs together"""
    pass_reads: str = ""


class NamedSetting(Protocol):
    """Anything that stands for one case of a sweep."""

    @property
    def label(self) -> str: ...

    @property
    def policies(self) -> Policies: ...


def title(one: NamedSetting) -> str:
    """The case by name: its label and its policies."""
    return " · ".join(filter(None, (one.label, str(one.policies))))


class Quartiles(NamedTuple):
    low: float
    median: float
    high: float


def quartiles(values: Sequence[float]) -> Quartiles:
    """Quartiles by linear interpolation between order statistics (type 7). Raises BenchError for no values."""
    if not values:
        raise BenchError("there are no runs to summarise; let at least one run finish.")
    ordered = sorted(values)

    def at(fraction: float) -> float:
        place = fraction * (len(ordered) - 1)
        below = int(place)
        above = min(below + 1, len(ordered) - 1)
        return ordered[below] + (place - below) * (ordered[above] - ordered[below])

    return Quartiles(at(0.25), at(0.5), at(0.75))


def summarise(points: Sequence[SweepPoint]) -> list[SweepRow]:
    """One row per case and temperature, in the order in which they first appear, plain decoding first."""
    groups: dict[tuple[str, str, int | None, float], list[SweepPoint]] = {}
    for point in points:
        groups.setdefault((point.drafter, title(point), point.gamma, point.temperature), []).append(point)
    ordered = sorted(groups.items(), key=lambda item: item[0][0] != BASELINE)
    return [_row(group) for _, group in ordered]


def _row(points: Sequence[SweepPoint]) -> SweepRow:
    by_prompt: dict[str, list[float]] = {}
    for point in points:
        by_prompt.setdefault(point.prompt, []).append(point.ratio)
    ratio = median_over_prompts(list(by_prompt.values()))
    drafted = sum(point.drafted for point in points)
    return SweepRow(
        drafter=points[0].drafter,
        label=points[0].label,
        gamma=points[0].gamma,
        temperature=points[0].temperature,
        prompts=len(by_prompt),
        runs=len(points),
        ratio_median=ratio.value,
        ratio_low=ratio.low,
        ratio_high=ratio.high,
        tokens_per_s_median=median(point.tokens_per_s for point in points),
        baseline_tokens_per_s_median=median(point.baseline_tokens_per_s for point in points),
        acceptance_rate=sum(point.accepted for point in points) / drafted if drafted else None,
        mean_acceptance_length=_median([point.mean_acceptance_length for point in points]),
        alpha=_median([point.alpha for point in points]),
        same_output=sum(point.same_output for point in points),
        drafted_per_round=drafted / max(1, sum(point.rounds for point in points)),
        policies=points[0].policies,
        mbsu=_median([point.mbsu for point in points]),
        memory_ratio=memory_ratio_of(points),
        pass_reads=points[0].pass_reads,
    )


def by_output(point: SweepPoint) -> float | None:
    """MBSU of a run (`theory.formulas.memory_bound_speedup`) from its counts: files of releases that counted tokens
    behind the end of the text in τ hold a larger one."""
    if point.mbsu is None or point.rounds == 0:
        return point.mbsu
    tau, passes = point.output_tokens / point.rounds, point.cost.draft_passes / point.rounds
    return tau if point.memory_ratio is None else tau * point.memory_ratio / (passes + point.memory_ratio)


def memory_ratio_of(points: Sequence[SweepPoint]) -> float | None:
    """c of MBSU over all drafter passes of these runs together; None where they read no weights, or of one it is not
    known."""
    passing = [point for point in points if point.cost.draft_passes]
    if any(point.memory_ratio is None and point.mbsu is None for point in passing):
        return None
    read = sum(point.cost.draft_passes / point.memory_ratio for point in passing if point.memory_ratio)
    return sum(point.cost.draft_passes for point in passing) / read if read else None


def _median(values: Sequence[float | None]) -> float | None:
    """Of those that are known; None where none is."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


@dataclass(frozen=True, slots=True)
class Best:
    """The fastest case of a family at one temperature, plain decoding included."""

    family: str
    temperature: float
    case: SweepRow


def best_by_family(points: Sequence[SweepPoint]) -> list[Best]:
    """In the order of the points; cases that have not run all of the family's prompts are left out."""
    groups: dict[tuple[str, float], list[SweepPoint]] = {}
    for point in points:
        groups.setdefault((point.family, point.temperature), []).append(point)
    found = []
    for (family, temperature), group in groups.items():
        rows = summarise(group)
        most = max(row.prompts for row in rows)
        best = max((row for row in rows if row.prompts == most), key=lambda row: row.ratio_median)
        found.append(Best(family, temperature, best))
    return found
