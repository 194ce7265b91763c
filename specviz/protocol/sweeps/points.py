"""What a sweep measured: one point per run, and the case that it is of.

Place in the flow: filled by `bench/sweep`, made into rows by `theory/rows.py`, drawn point by point by charts. Plain
data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from specviz.errors import BenchError
from specviz.protocol.choice import STANDARD, Choice
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
    """share of repeated 4-grams of the output (`theory.rows`); None in results of releases that did not count"""
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


def by_output(point: SweepPoint) -> float | None:
    """MBSU of a run (`theory.formulas.memory_bound_speedup`) from its counts: files of releases that counted tokens
    behind the end of the text in τ hold a larger one."""
    if point.mbsu is None or point.rounds == 0:
        return point.mbsu
    tau, passes = point.output_tokens / point.rounds, point.cost.draft_passes / point.rounds
    return tau if point.memory_ratio is None else tau * point.memory_ratio / (passes + point.memory_ratio)
