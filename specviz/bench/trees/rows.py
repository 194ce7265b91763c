"""From outcomes to the rows of `specviz bench trees`, with error bars and the ranks that they allow.

Place in the flow: reads what `contest.py` yielded for the cases of `trees/plan.py`; `trees/table.py` writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from specviz.bench.core.contest import Measured, Outcome
from specviz.bench.core.report import decode_ratio
from specviz.bench.trees.plan import Case, plain_name
from specviz.bench.trees.ranking import ranked
from specviz.protocol.sweeps.intervals import Estimate, ratio_of_sums
from specviz.protocol.sweeps.points import Quartiles, quartiles
from specviz.theory import metrics

Part = Callable[[Measured], tuple[float, float]]


@dataclass(frozen=True, slots=True)
class TreeRow:
    """One case over all prompts. Intervals are central 95 % over resampled prompts."""

    experiment: str
    temperature: float
    growth: str
    shape: str
    verifier: str
    prompts: int
    mean_acceptance_length: Estimate | None
    """1 + accepted / rounds that drafted"""
    acceptance_rate: Estimate | None
    """accepted / drafted"""
    nodes_per_pass: Estimate | None
    """candidates drafted / target passes; below the budget where a text ended inside a draft"""
    target_passes: Estimate | None
    """per prompt"""
    tokens_per_pass: Estimate | None
    """output tokens / target passes"""
    speedup: Quartiles | None
    """decoding against plain decoding of the same prompt, interleaved; None where speed was not measured"""
    rank: int | None = None
    """1 + the rows of the same experiment and temperature that are shown to accept more; None: too few prompts"""
    behind: Estimate | None = None
    """the experiment's highest mean acceptance length - this one, paired over the prompts; None for that row itself"""


def rows(cases: Sequence[Case], outcomes: Sequence[Outcome], seed: int = 0) -> list[TreeRow]:
    """One row per case that has run, in the order of the cases."""
    runs = {(one.contestant, one.prompt): one for one in outcomes}
    grouped: dict[str, list[Outcome]] = {}
    for one in outcomes:
        grouped.setdefault(one.contestant, []).append(one)
    found = []
    for case in cases:
        group = grouped.get(case.name, [])
        if group:
            plain = plain_name(case.temperature)
            ratios = [decode_ratio(one, runs[plain, one.prompt]) for one in group if (plain, one.prompt) in runs]
            speed = quartiles(ratios) if ratios else None
            found.append((_row(case, group, speed, seed), group))
    return _ranked(found, seed)


def _row(case: Case, group: Sequence[Outcome], speed: Quartiles | None, seed: int) -> TreeRow:
    def estimate(part: Part) -> Estimate | None:
        return ratio_of_sums([part(one.measured) for one in group], seed)

    return TreeRow(
        experiment=case.experiment,
        temperature=case.temperature,
        growth=case.growth,
        shape=case.shape,
        verifier=case.verifier,
        prompts=len({one.prompt for one in group}),
        mean_acceptance_length=estimate(_lengths),
        acceptance_rate=estimate(lambda run: (_accepted(run), _drafted(run))),
        nodes_per_pass=estimate(lambda run: (_drafted(run), run.target_passes)),
        target_passes=estimate(lambda run: (run.target_passes, 1.0)),
        tokens_per_pass=estimate(lambda run: (len(run.output_ids), run.target_passes)),
        speedup=speed,
    )


def _lengths(run: Measured) -> tuple[float, float]:
    steps = metrics.num_spec_steps(run.rounds)
    return _accepted(run) + steps, steps


def _accepted(run: Measured) -> int:
    return metrics.num_accepted_draft_tokens(run.rounds)


def _drafted(run: Measured) -> int:
    return metrics.num_draft_tokens(run.rounds)


def _ranked(found: Sequence[tuple[TreeRow, Sequence[Outcome]]], seed: int) -> list[TreeRow]:
    """The rows with their ranks within experiment and temperature, on the prompts that all of these have run."""
    tables: dict[tuple[str, float], list[int]] = {}
    for place, (row, _) in enumerate(found):
        tables.setdefault((row.experiment, row.temperature), []).append(place)
    rows = [row for row, _ in found]
    for places in tables.values():
        runs = [{one.prompt: one.measured for one in found[place][1]} for place in places]
        shared = [prompt for prompt in runs[0] if all(prompt in others for others in runs)]
        parts = [[_lengths(own[prompt]) for prompt in shared] for own in runs]
        for place, standing in zip(places, ranked(parts, seed) if shared else (), strict=bool(shared)):
            rows[place] = replace(rows[place], rank=standing.rank, behind=standing.behind)
    return rows
