"""From outcomes to the rows of `specviz bench drafters`: each drafter overall and on every prompt family.

Place in the flow: reads what `contest.py` yielded for the entrants of `drafter_plan.py`; `drafter_table.py` writes it.
Plain arithmetic; knows nothing about torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from specviz.bench.core.contest import Measured, Outcome
from specviz.bench.drafters.plan import Entrant
from specviz.errors import BenchError
from specviz.protocol.sweeps.points import BASELINE, Quartiles, quartiles
from specviz.theory import metrics

Plain = Mapping[tuple[str, int], Sequence[Measured]]
"""(prompt id, repeat) → plain decoding's runs"""


@dataclass(frozen=True, slots=True)
class DrafterRow:
    """One drafter over some prompts. Quartiles are over the prompts, each with the median of its repeats."""

    drafter: str
    memory: str
    """`cold` or `warm`; empty for a drafter that remembers nothing"""
    lossless: bool
    prompts: int
    runs: int
    speedup: Quartiles
    """output tokens per second of all rounds (the engine's clock) ÷ the median of plain decoding's on the same
    prompt in the same repeat"""
    whole_call: Quartiles
    """the same from call to return: the prompt, and what the drafter makes of it and of its memory, included"""
    acceptance_rate: float | None
    """accepted / drafted over all runs; None where nothing was drafted"""
    mean_acceptance_length: float | None
    """1 + accepted / rounds that drafted, over all runs"""
    nodes_per_pass: float
    """candidates drafted / target passes, over all runs"""
    draft_share: float | None
    """seconds of drafting / seconds of the rounds, over all runs"""
    same_output: int
    """runs whose tokens equal plain decoding's"""
    winner: bool = False
    """the fastest of its section"""


@dataclass(frozen=True, slots=True)
class Section:
    family: str
    """empty: all prompts together"""
    rows: Sequence[DrafterRow]


def sections(entrants: Sequence[Entrant], outcomes: Sequence[Outcome]) -> list[Section]:
    """All prompts together first, then each family in the order of the outcomes.

    Runs whose plain run is missing (a cancelled bench) are left out. Raises BenchError where none is left.
    """
    plain: dict[tuple[str, int], list[Measured]] = {}
    for one in outcomes:
        if one.contestant == BASELINE:
            plain.setdefault((one.prompt, one.repeat), []).append(one.measured)
    paired = [one for one in outcomes if (one.prompt, one.repeat) in plain]
    if not paired:
        raise BenchError("not a single plain run was finished, so there is nothing to compare with; give it more time.")
    families = dict.fromkeys(one.family for one in paired)
    parts = [("", paired), *((family, [one for one in paired if one.family == family]) for family in families)]
    return [Section(family, _rows(entrants, part, plain)) for family, part in parts]


def _rows(entrants: Sequence[Entrant], outcomes: Sequence[Outcome], plain: Plain) -> list[DrafterRow]:
    found = []
    for entrant in entrants:
        group = [one for one in outcomes if one.contestant == entrant.contestant.name]
        if group:
            found.append(_row(entrant, group, plain))
    return _marked(found)


def _row(entrant: Entrant, group: Sequence[Outcome], plain: Plain) -> DrafterRow:
    rounds = [this for one in group for this in one.measured.rounds]
    shares = metrics.time_shares(rounds)
    return DrafterRow(
        drafter=entrant.drafter,
        memory=entrant.memory,
        lossless=entrant.lossless,
        prompts=len({one.prompt for one in group}),
        runs=len(group),
        speedup=_ratios(group, plain, _engine_speed),
        whole_call=_ratios(group, plain, lambda run: run.tokens_per_s),
        acceptance_rate=metrics.acceptance_rate(rounds),
        mean_acceptance_length=metrics.mean_acceptance_length(rounds),
        nodes_per_pass=metrics.num_draft_tokens(rounds) / max(1, sum(one.measured.target_passes for one in group)),
        draft_share=shares.draft if shares is not None else None,
        same_output=sum(one.measured.output_ids == plain[one.prompt, one.repeat][0].output_ids for one in group),
    )


def _ratios(group: Sequence[Outcome], plain: Plain, speed: Callable[[Measured], float]) -> Quartiles:
    by_prompt: dict[str, list[float]] = {}
    for one in group:
        ratio = speed(one.measured) / median(map(speed, plain[one.prompt, one.repeat]))
        by_prompt.setdefault(one.prompt, []).append(ratio)
    return quartiles([median(ratios) for ratios in by_prompt.values()])


def _engine_speed(run: Measured) -> float:
    assert run.engine_s, "only our own runs take part, and they have rounds."
    return len(run.output_ids) / run.engine_s


def _marked(rows: Sequence[DrafterRow]) -> list[DrafterRow]:
    """Marks the fastest of those that have run all the prompts that any has run: others have an easier set."""
    most = max(row.prompts for row in rows)
    best = max((row for row in rows if row.prompts == most), key=lambda row: row.speedup.median)
    return [replace(row, winner=row is best) for row in rows]
