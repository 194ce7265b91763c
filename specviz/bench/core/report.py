"""From outcomes to the bench's rows: ratios against our plain decoding of the same prompt in the same repeat.

Place in the flow: reads what `contest.py` yielded; `table.py` writes it. Plain arithmetic; knows nothing about torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from specviz.bench.core.contest import Outcome
from specviz.bench.core.efficiency import efficiency
from specviz.errors import BenchError
from specviz.protocol.sweeps.points import Quartiles, quartiles
from specviz.theory import metrics
from specviz.theory.formulas import StepTimes
from specviz.trace.events import Round


@dataclass(frozen=True, slots=True)
class Curves:
    """Bare passes, measured in the same run: what the engine's time is compared with."""

    target: StepTimes
    drafter: StepTimes | None


@dataclass(frozen=True, slots=True)
class BenchRow:
    """One contestant over all its prompts and repeats."""

    name: str
    runs: int
    tokens_per_s: float
    """median, output tokens over the whole call, prompt included"""
    ratio: Quartiles
    """tokens/s against our plain decoding, whole call, over the pairs of runs"""
    decode_ratio: Quartiles
    """the same with each side's prompt pass left out"""
    tokens_per_pass: float
    """output tokens per target pass, over all runs"""
    acceptance_rate: float | None
    mean_acceptance_length: float | None
    acceptance_by_depth: tuple[float, ...]
    """[d-1]: of the rounds that drafted to depth d, the share that accepted it"""
    same_output: int
    """runs whose tokens equal our plain decoding's"""
    efficiency: float | None
    """ours alone"""
    by_family: Mapping[str, float]
    """median decode ratio per prompt family"""


def rows(outcomes: Sequence[Outcome], baseline: str, curves: Curves | None) -> list[BenchRow]:
    """One row per contestant in the order of first appearance, the baseline first. Outcomes whose baseline run
    is missing (a cancelled bench) are left out. Raises BenchError where no pair is left."""
    plain = {(one.prompt, one.repeat): one for one in outcomes if one.contestant == baseline}
    groups: dict[str, list[Outcome]] = {baseline: []}
    for one in outcomes:
        if (one.prompt, one.repeat) in plain:
            groups.setdefault(one.contestant, []).append(one)
    if not groups[baseline]:
        raise BenchError("not a single plain run was finished, so there is nothing to compare with; give it more time.")
    return [_row(group, plain, curves) for group in groups.values()]


def overhead(outcomes: Sequence[Outcome], recorded: str) -> Quartiles | None:
    """Tracing overhead of the contestant that keeps its trace: seconds spent writing it over all its other seconds,
    both from the same run, so that a busy machine cannot hide or invent it. None where it never ran."""
    runs = [one.measured for one in outcomes if one.contestant == recorded]
    return quartiles([one.record_s / (one.wall_s - one.record_s) for one in runs]) if runs else None


def _row(group: Sequence[Outcome], plain: Mapping[tuple[str, int], Outcome], curves: Curves | None) -> BenchRow:
    pairs = [(one, plain[one.prompt, one.repeat]) for one in group]
    rounds = [this for one in group for this in one.measured.rounds]
    tokens = sum(len(one.measured.output_ids) for one in group)
    return BenchRow(
        name=group[0].contestant,
        runs=len(group),
        tokens_per_s=median(one.measured.tokens_per_s for one in group),
        ratio=quartiles([one.measured.tokens_per_s / base.measured.tokens_per_s for one, base in pairs]),
        decode_ratio=quartiles([decode_ratio(one, base) for one, base in pairs]),
        tokens_per_pass=tokens / max(1, sum(one.measured.target_passes for one in group)),
        acceptance_rate=metrics.acceptance_rate(rounds),
        mean_acceptance_length=metrics.mean_acceptance_length(rounds),
        acceptance_by_depth=_by_depth(rounds),
        same_output=sum(one.measured.output_ids == base.measured.output_ids for one, base in pairs),
        efficiency=_efficiency(group, curves),
        by_family=_by_family(pairs),
    )


def decode_ratio(one: Outcome, base: Outcome) -> float:
    """Tokens per second of decoding alone against the baseline's."""
    return one.measured.decode_tokens_per_s / base.measured.decode_tokens_per_s


def _by_depth(rounds: Sequence[Round]) -> tuple[float, ...]:
    return tuple(kept / asked for asked, kept in metrics.acceptance_by_depth(rounds) if asked)


def _efficiency(group: Sequence[Outcome], curves: Curves | None) -> float | None:
    timed = [(one.measured.rounds, one.measured.decode_s) for one in group if one.measured.rounds]
    if curves is None or not timed:
        return None
    return efficiency(timed, curves.target, curves.drafter)


def _by_family(pairs: Sequence[tuple[Outcome, Outcome]]) -> dict[str, float]:
    ratios: dict[str, list[float]] = {}
    for one, base in pairs:
        ratios.setdefault(one.family, []).append(decode_ratio(one, base))
    return {family: median(values) for family, values in ratios.items()}
