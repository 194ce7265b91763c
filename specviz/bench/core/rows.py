"""From outcomes to numbers: one kind of statistics for the rows of every experiment. Plain arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from specviz.bench.core.contest import ContestRun, Measured
from specviz.errors import BenchError
from specviz.protocol.sweeps.intervals import Estimate, ratio_of_sums
from specviz.theory import metrics
from specviz.theory.speedup import speed_ratio

Plain = Mapping[tuple[str, int], Sequence[Measured]]
"""(prompt id, repeat) → plain decoding's runs there"""
Speed = Callable[[Measured], float]


@dataclass(frozen=True, slots=True)
class RowStatistics:
    """What one contestant did over all its prompts and repeats, times left out. Intervals are central 95 % over
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
    """memory-bound speedup, runs weighted by their target passes; None where one of them has none"""


def statistics(group: Sequence[ContestRun], plain: Plain | None = None, seed: int = 0) -> RowStatistics:
    """Of one contestant's outcomes. Raises BenchError where there are none."""
    rounds = [this for contest_run in group for this in contest_run.measured.rounds]
    shares = metrics.time_shares(rounds)
    by_prompt: dict[str, list[Measured]] = {}
    for contest_run in group:
        by_prompt.setdefault(contest_run.prompt, []).append(contest_run.measured)

    def estimate(part: Callable[[Measured], tuple[float, float]]) -> Estimate | None:
        parts = [[part(run) for run in runs] for runs in by_prompt.values()]
        return ratio_of_sums([(sum(a for a, _ in one), sum(b for _, b in one)) for one in parts], seed)

    return RowStatistics(
        prompts=len(by_prompt),
        runs=len(group),
        acceptance_rate=estimate(lambda run: (accepted(run), drafted(run))),
        mean_acceptance_length=estimate(lengths),
        acceptance_by_depth=tuple(kept / asked for asked, kept in metrics.acceptance_by_depth(rounds) if asked),
        nodes_per_pass=estimate(lambda run: (drafted(run), run.target_passes)),
        tokens_per_pass=estimate(lambda run: (len(run.output_ids), run.target_passes)),
        target_passes=estimate(lambda run: (run.target_passes, 1.0)),
        draft_share=None if shares is None else shares.draft,
        same_output=None
        if plain is None
        else sum(
            contest_run.measured.output_ids == plain[contest_run.prompt, contest_run.repeat][0].output_ids
            for contest_run in group
        ),
        mbsu=None
        if any(contest_run.measured.mbsu is None for contest_run in group)
        else estimate(lambda run: ((run.mbsu or 0.0) * run.target_passes, run.target_passes)),
    )


def lengths(run: Measured) -> tuple[float, float]:
    """Numerator and denominator of the mean acceptance length."""
    steps, length = metrics.num_spec_steps(run.rounds), metrics.mean_acceptance_length(run.rounds)
    return (0.0 if length is None else length * steps), steps


def accepted(run: Measured) -> int:
    return metrics.num_accepted_draft_tokens(run.rounds)


def drafted(run: Measured) -> int:
    return metrics.num_draft_tokens(run.rounds)


def beside_plain(outcomes: Sequence[ContestRun], baseline: str) -> tuple[list[ContestRun], Plain]:
    """The outcomes that have a plain run of the same prompt and repeat (of a cancelled bench not all have), and these.

    Raises BenchError where none is left."""
    plain: dict[tuple[str, int], list[Measured]] = {}
    for contest_run in outcomes:
        if contest_run.contestant == baseline:
            plain.setdefault((contest_run.prompt, contest_run.repeat), []).append(contest_run.measured)
    paired = [contest_run for contest_run in outcomes if (contest_run.prompt, contest_run.repeat) in plain]
    if not paired:
        raise BenchError("not a single plain run was finished, so there is nothing to compare with; give it more time.")
    return paired, plain


def ratios(group: Sequence[ContestRun], plain: Plain, speed: Speed) -> dict[str, list[float]]:
    """Prompt id → of each repeat the speed over the median of plain decoding's on that prompt in that repeat."""
    found: dict[str, list[float]] = {}
    for contest_run in group:
        base = median(map(speed, plain[contest_run.prompt, contest_run.repeat]))
        ratio = speed_ratio(speed(contest_run.measured), base)
        assert ratio is not None, "plain decoding that was timed has a speed."
        found.setdefault(contest_run.prompt, []).append(ratio)
    return found


def decode_speed(run: Measured) -> float:
    """Tokens per second of decoding alone."""
    return run.decode_tokens_per_s


def whole_speed(run: Measured) -> float:
    """Tokens per second of the whole call."""
    return run.tokens_per_s


def engine_speed(run: Measured) -> float:
    """Tokens per second of the rounds, by the engine's clock."""
    assert run.engine_s, "only our own runs have an engine's clock, and they have rounds."
    return len(run.output_ids) / run.engine_s
