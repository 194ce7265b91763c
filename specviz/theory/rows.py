"""From runs to rows: one kind of statistics for contests and sweeps, and the class of a run's text.

    rounds of a run ─┐
                     ├─► RunCounts ─► statistics ─► RowStatistics ─► a row of the bench, of a sweep, of a page
    SweepPoint ──────┘

Drafters that copy win where a text loops, whatever the method, so every bench prints a text's repetition beside its
speeds and keeps the texts above `MOST` apart from the others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from statistics import median

from specviz.protocol.sweeps.intervals import Estimate, median_over_prompts, ratio_of_sums
from specviz.protocol.sweeps.points import BASELINE, Policies, SweepPoint, title
from specviz.theory import metrics
from specviz.theory.formulas import StepTimes
from specviz.trace.events import Round

NGRAM = 4
"""tokens"""
MOST = 0.25
"""texts that repeat more than this share are a class of their own, and in no headline"""


def repetition(ids: Sequence[Hashable], n: int = NGRAM) -> float:
    """Share of the n-grams that occurred before in the same text: 1 - different / all; 0 for a text shorter than n.

    `ids`: the generated tokens alone, the prompt left out.
    """
    grams = [tuple(ids[index : index + n]) for index in range(len(ids) - n + 1)]
    return 1 - len(set(grams)) / len(grams) if grams else 0.0


def repeats(share: float) -> bool:
    """Whether a text with this share belongs to the class of those that repeat themselves."""
    return share > MOST


def repeats_itself(point: SweepPoint) -> bool:
    """Whether the run belongs to the class of texts that repeat themselves: its own output, or the one it is compared
    with. Where that was not counted it does not."""
    return any(share is not None and repeats(share) for share in (point.repetition, point.plain_repetition))


def varied(points: Sequence[SweepPoint]) -> list[SweepPoint]:
    """The runs whose texts do not repeat themselves: what headlines are taken from."""
    return [point for point in points if not repeats_itself(point)]


# --- what passes take inside rounds ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RoundTimes:
    """Passes inside rounds, where each model's weights drive the other's out of the processor's caches, on the clock of
    the step times."""

    step_s: float
    """seconds of one drafter pass; 0 where it makes none"""
    widening: float
    """a target pass over the same one in a loop"""


def round_times(points: Sequence[SweepPoint], plain: Sequence[SweepPoint], times: StepTimes) -> RoundTimes:
    """Of the runs `points` of one drafter, medians over them. `plain`: runs of plain decoding beside them, which is
    such a loop; their passes over t(1) say how much slower the machine was then than when `times` were measured."""
    passes = [(run, run.cost.target_pass_s / run.rounds) for run in points if run.rounds and run.cost.target_pass_s]
    loop = [run.cost.target_pass_s / run.rounds for run in plain if run.rounds and run.cost.target_pass_s]
    pace = median(loop) / times.at(1) if loop else 1.0
    steps = [run.cost.draft_pass_s / run.cost.draft_passes for run in points if run.cost.draft_passes]
    widenings = [seconds / times.at(run.cost.target_rows / run.rounds) for run, seconds in passes]
    return RoundTimes(median(steps or [0.0]) / pace, median(widenings or [pace]) / pace)


# --- one run --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RunCounts:
    """What one run did, as far as rows count it."""

    output_tokens: int
    target_passes: int
    """the prompt's own left out where it is a separate one"""
    drafted: int = 0
    accepted: int = 0
    steps: int = 0
    """rounds that drafted"""
    lengths: float = 0.0
    """their acceptance lengths added up: `steps` × the mean acceptance length"""
    by_depth: tuple[tuple[int, int], ...] = ()
    """[d-1] = (rounds that drafted to depth d, rounds that accepted depth d)"""
    levels: tuple[tuple[int, int], ...] = ()
    """[d-1] = (rounds that tested depth d, rounds that accepted it)"""
    given: tuple[int, ...] = ()
    """[n-1] = target passes that gave n tokens of the text; empty where nobody saw the passes apart"""
    draft_s: float = 0.0
    rounds_s: float = 0.0
    """seconds of all phases; `draft_s` is part of it"""
    mbsu: float | None = None
    """memory-bound speedup (`theory.metrics.mbsu`)"""


def counts_of(rounds: Sequence[Round], output_tokens: int, mbsu: float | None = None) -> RunCounts:
    """Of a run's rounds."""
    steps, given = metrics.num_spec_steps(rounds), [len(this.committed.tokens) for this in rounds]
    return RunCounts(
        output_tokens=output_tokens,
        target_passes=len(rounds),
        drafted=metrics.num_draft_tokens(rounds),
        accepted=metrics.num_accepted_draft_tokens(rounds),
        steps=steps,
        lengths=steps * (metrics.mean_acceptance_length(rounds) or 0.0),
        by_depth=tuple((drafted, accepted) for drafted, accepted in metrics.acceptance_by_depth(rounds)),
        levels=metrics.levels_by_depth(rounds),
        given=tuple(given.count(tokens) for tokens in range(1, max(given, default=0) + 1)),
        draft_s=sum(this.drafted.seconds for this in rounds),
        rounds_s=sum(this.seconds for this in rounds),
        mbsu=mbsu,
    )


def counts_of_point(point: SweepPoint) -> RunCounts:
    """Of a run that is kept as a point."""
    steps, cost = sum(point.accepted_lengths), point.cost
    return RunCounts(
        output_tokens=point.output_tokens,
        target_passes=point.rounds,
        drafted=point.drafted,
        accepted=point.accepted,
        steps=steps,
        lengths=steps * (point.mean_acceptance_length or 0.0),
        by_depth=point.by_depth,
        levels=point.levels,
        draft_s=cost.draft_s,
        rounds_s=cost.draft_s + cost.target_s + cost.judge_s + cost.commit_s,
        mbsu=point.mbsu,
    )


# --- all runs of a row ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RowStatistics:
    """What one contestant did over all its prompts and repeats, speeds left out. Intervals are central 95 % over
    resampled prompts."""

    prompts: int
    runs: int
    acceptance_rate: Estimate | None
    """accepted / drafted; None where nothing was drafted"""
    mean_acceptance_length: Estimate | None
    """1 + accepted / rounds that drafted"""
    acceptance_by_depth: tuple[float, ...]
    """[d-1]: of the rounds that drafted to depth d, the share that accepted it"""
    nodes_per_pass: Estimate | None
    """candidates drafted / target passes"""
    tokens_per_pass: Estimate | None
    """output tokens / target passes"""
    target_passes: Estimate | None
    """per run"""
    draft_share: float | None
    """seconds of drafting / seconds of the rounds"""
    same_output: int | None
    """runs whose tokens equal plain decoding's; None where plain decoding did not run beside them"""
    mbsu: Estimate | None = None
    """memory-bound speedup of all runs together: their tokens / the plain passes whose reading takes as long as all of
    theirs, tokens / MBSU of each; so it is the formula on the row's sums. None where one of them has none"""


def statistics(runs: Mapping[str, Sequence[RunCounts]], same_output: int | None = None, seed: int = 0) -> RowStatistics:
    """Prompt → its runs. Raises BenchError where there are none."""
    every = [run for of_prompt in runs.values() for run in of_prompt]
    seconds = sum(run.rounds_s for run in every)

    def estimate(part: Callable[[RunCounts], tuple[float, float]]) -> Estimate | None:
        parts = [[part(run) for run in of_prompt] for of_prompt in runs.values()]
        return ratio_of_sums([(sum(a for a, _ in pairs), sum(b for _, b in pairs)) for pairs in parts], seed)

    return RowStatistics(
        prompts=len(runs),
        runs=len(every),
        acceptance_rate=estimate(lambda run: (run.accepted, run.drafted)),
        mean_acceptance_length=estimate(lambda run: (run.lengths, run.steps)),
        acceptance_by_depth=tuple(rates_of(run.by_depth for run in every)),
        nodes_per_pass=estimate(lambda run: (run.drafted, run.target_passes)),
        tokens_per_pass=estimate(lambda run: (run.output_tokens, run.target_passes)),
        target_passes=estimate(lambda run: (run.target_passes, 1.0)),
        draft_share=sum(run.draft_s for run in every) / seconds if seconds > 0 else None,
        same_output=same_output,
        mbsu=None
        if any(run.mbsu is None for run in every)
        else estimate(lambda run: (run.output_tokens, run.output_tokens / run.mbsu if run.mbsu else 0.0)),
    )


def added(counts: Iterable[Sequence[tuple[int, int]]]) -> list[tuple[int, int]]:
    """Depth by depth the sums of (tried, accepted) over runs that went to different depths."""
    depths = zip_longest(*counts, fillvalue=(0, 0))
    return [(sum(tried for tried, _ in depth), sum(accepted for _, accepted in depth)) for depth in depths]


def rates_of(counts: Iterable[Sequence[tuple[int, int]]]) -> list[float]:
    """The same as shares, as deep as something was tried."""
    return [accepted / tried for tried, accepted in added(counts) if tried]


# --- rows of a sweep ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SweepRow:
    """One case of a sweep at one temperature over all its prompts and repeats."""

    drafter: str
    label: str
    gamma: int | None
    temperature: float
    policies: Policies
    ratio: Estimate
    """speedup: median over the prompts of the median over each one's repeats; its interval is from resampled prompts,
    and the median itself where there is one prompt, of which none follows"""
    tokens_per_s: float
    """median over the runs"""
    baseline_tokens_per_s: float
    """of plain decoding beside these runs"""
    alpha: float | None
    """median over the runs"""
    statistics: RowStatistics
    memory_ratio: float | None
    """c of MBSU, of all runs together"""


def summarise(points: Sequence[SweepPoint]) -> list[SweepRow]:
    """One row per case and temperature, in the order in which they first appear, plain decoding first."""
    groups: dict[tuple[str, str, int | None, float], list[SweepPoint]] = {}
    for point in points:
        groups.setdefault((point.drafter, title(point), point.gamma, point.temperature), []).append(point)
    ordered = sorted(groups.items(), key=lambda item: item[0][0] != BASELINE)
    return [_row(group) for _, group in ordered]


def _row(points: Sequence[SweepPoint]) -> SweepRow:
    by_prompt: dict[str, list[SweepPoint]] = {}
    for point in points:
        by_prompt.setdefault(point.prompt, []).append(point)
    alphas = [point.alpha for point in points if point.alpha is not None]
    return SweepRow(
        drafter=points[0].drafter,
        label=points[0].label,
        gamma=points[0].gamma,
        temperature=points[0].temperature,
        policies=points[0].policies,
        ratio=median_over_prompts([[point.ratio for point in runs] for runs in by_prompt.values()]),
        tokens_per_s=median(point.tokens_per_s for point in points),
        baseline_tokens_per_s=median(point.baseline_tokens_per_s for point in points),
        alpha=median(alphas) if alphas else None,
        statistics=statistics(
            {prompt: list(map(counts_of_point, runs)) for prompt, runs in by_prompt.items()},
            same_output=sum(point.same_output for point in points),
        ),
        memory_ratio=memory_ratio_of(points),
    )


def memory_ratio_of(points: Sequence[SweepPoint]) -> float | None:
    """c of MBSU over all drafter passes of these runs together; None where they read no weights, or of one it is not
    known."""
    passing = [point for point in points if point.cost.draft_passes]
    if any(point.memory_ratio is None and point.mbsu is None for point in passing):
        return None
    read = sum(point.cost.draft_passes / point.memory_ratio for point in passing if point.memory_ratio)
    return sum(point.cost.draft_passes for point in passing) / read if read else None


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
    fastest = []
    for (family, temperature), group in groups.items():
        rows = summarise(group)
        most = max(row.statistics.prompts for row in rows)
        best = max((row for row in rows if row.statistics.prompts == most), key=lambda row: row.ratio.value)
        fastest.append(Best(family, temperature, best))
    return fastest
