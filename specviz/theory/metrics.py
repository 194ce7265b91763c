"""From a trace to numbers: the one door to every number measured on a run.

Each function's docstring is the definition that the screen, the bench and the docs repeat; those that a trace stores
about itself are defined in `trace.summary` and passed on. A number that the trace does not carry is None, never a
guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from specviz.theory.formulas import memory_bound_speedup
from specviz.theory.speedup import speed_ratio
from specviz.trace.events import Round, Trace, Trial
from specviz.trace.header import Started, bytes_per_pass
from specviz.trace.summary import (
    acceptance_by_depth,
    acceptance_histogram,
    acceptance_rate,
    accepted_drafts,
    counted,
    drafted_depth,
    drafts,
    drafts_beside,
    mean_acceptance_length,
    num_accepted_draft_tokens,
    num_draft_tokens,
    num_spec_steps,
    summary,
)

__all__ = [
    "TimeShares",
    "acceptance_by_depth",
    "acceptance_histogram",
    "acceptance_rate",
    "accepted_drafts",
    "alpha",
    "alpha_reached",
    "cost_ratio",
    "counted",
    "drafted_depth",
    "drafter_bytes",
    "drafts",
    "first_trials",
    "levels_by_depth",
    "mbsu",
    "mean_acceptance_length",
    "memory_ratio",
    "num_accepted_draft_tokens",
    "num_draft_tokens",
    "num_spec_steps",
    "speedup",
    "summary",
    "time_shares",
    "tokens_per_second",
    "tokens_per_target_pass",
]


def levels_by_depth(rounds: Sequence[Round]) -> tuple[tuple[int, int], ...]:
    """[d-1] = (rounds that tested depth d: accepted depth d-1, and its node has children; rounds that accepted it).

    Their ratios are the rates that `formulas.expected_tokens_by_depth` takes."""
    levels = [level for this in rounds for level in _levels(this)]
    deepest = max((depth for depth, _ in levels), default=0)
    by_depth = [[accepted for depth, accepted in levels if depth == d] for d in range(1, deepest + 1)]
    return tuple((len(outcomes), sum(outcomes)) for outcomes in by_depth)


def tokens_per_target_pass(rounds: Sequence[Round]) -> float | None:
    """tau = tokens of the text / target passes: every round counts, drafted or not, and so does every token that
    stayed, whether its node was a draft or rode along; what was accepted behind the end of the text is none."""
    return sum(len(this.committed.tokens) for this in rounds) / len(rounds) if rounds else None


def alpha(rounds: Sequence[Round]) -> float | None:
    """Measured alpha: accepted / tested candidates, unreached ones left out. None when nothing was tested, and where
    whole paths or all branches are tried, so that no candidate is tested by itself."""
    if any(this.judged.order != "top_down" for this in rounds):
        return None
    outcomes = [trial.accepted for this in rounds for trial in _trials(this)]
    return fmean(outcomes) if outcomes else None


def alpha_reached(rounds: Sequence[Round]) -> float | None:
    """Levels accepted / levels tested, where a level is the children of one visited node: of a chain its alpha, of a
    tree more than that. The rate that closed forms take. None when nothing was judged."""
    outcomes = [accepted for this in rounds for _, accepted in _levels(this)]
    return fmean(outcomes) if outcomes else None


def first_trials(this: Round) -> list[Trial]:
    """The first trial at each visited node that has children; none where whole paths or all branches are tried."""
    if this.judged.order != "top_down":
        return []
    seen: set[int] = set()
    firsts = []
    for trial in _trials(this):
        parent = this.nodes[trial.node].parent
        if parent not in seen:
            seen.add(parent)
            firsts.append(trial)
    return firsts


def _trials(this: Round) -> list[Trial]:
    """Of the candidates that are in a rate."""
    candidates = {node.id for node in counted(this)}
    return [trial for trial in this.judged.trials if trial.node in candidates]


def _levels(this: Round) -> list[tuple[int, bool]]:
    """(depth, was a child accepted) for each visited node that has children; children that ride along, or lie behind
    the end of the text, are none."""
    parents = {node.parent for node in counted(this)}
    visited, accepted = [0, *this.judged.path], accepted_drafts(this)
    return [(depth, depth <= accepted) for depth, node in enumerate(visited, start=1) if node in parents]


@dataclass(frozen=True, slots=True)
class TimeShares:
    """Where the decode time went; the four shares are fractions that sum to 1."""

    draft: float
    target: float
    judge: float
    commit: float


def time_shares(rounds: Sequence[Round]) -> TimeShares | None:
    """Seconds of each phase / seconds of all rounds; prefill and recording are not part of it. None without time."""
    total = sum(this.seconds for this in rounds)
    if total <= 0:
        return None
    return TimeShares(
        draft=sum(this.drafted.seconds for this in rounds) / total,
        target=sum(this.scored.seconds for this in rounds) / total,
        judge=sum(this.judged.seconds for this in rounds) / total,
        commit=sum(this.committed.seconds for this in rounds) / total,
    )


def cost_ratio(rounds: Sequence[Round]) -> float | None:
    """Measured c of a clock on which target passes cost the same at any width: mean seconds of a one-token drafter pass
    / mean seconds of the run's target passes; None without either."""
    drafts = [pass_.seconds for this in rounds for pass_ in this.drafted.passes if pass_.rows == 1]
    targets = [this.scored.target_pass.seconds for this in rounds]
    return fmean(drafts) / fmean(targets) if drafts and fmean(targets) > 0 else None


def memory_ratio(started: Started, rounds: Sequence[Round]) -> float | None:
    """c of MBSU: bytes of weights that a target pass reads / bytes that a drafter pass reads, in the mean over the
    run's; None where it made none, none of them reads any, or where one of the sizes was not counted."""
    passes = sum(len(this.drafted.passes) for this in rounds)
    target, read = bytes_per_pass(started.target), drafter_bytes(started, rounds)
    return target * passes / read if target and read else None


def drafter_bytes(started: Started, rounds: Sequence[Round]) -> int | None:
    """Bytes of weights that all drafter passes read: as each of them says, or, in traces from before they did, as the
    card of the drafter's only model does. None where one says nothing."""
    passes = [pass_ for this in rounds for pass_ in this.drafted.passes]
    if any(pass_.read is not None for pass_ in passes):
        return None if any(pass_.read is None for pass_ in passes) else sum(pass_.read or 0 for pass_ in passes)
    model = started.drafter.model
    alone = bytes_per_pass(model) if model is not None and not started.drafter.further_models else 0
    return len(passes) * alone if alone or not passes else None


def mbsu(started: Started, rounds: Sequence[Round]) -> float | None:
    """Memory-bound speedup (`formulas.memory_bound_speedup`): tokens of the text per target pass, and in place of gamma
    the drafter passes per round that the run really made, so that trees, early ends and catching up count as they are.

    A drafter without passes reads no weights: its MBSU is its tokens per target pass. None where it makes passes whose
    weights nobody counted, or makes them while the target makes its own."""
    if drafts_beside(rounds):
        return None
    tau, read = tokens_per_target_pass(rounds), drafter_bytes(started, rounds)
    if tau is None or read == 0:
        return tau
    ratio, passes = memory_ratio(started, rounds), sum(len(this.drafted.passes) for this in rounds)
    return None if ratio is None else memory_bound_speedup(tau, passes / len(rounds), ratio)


def tokens_per_second(trace: Trace) -> float | None:
    """Output tokens / decode seconds; None for a simulated run, whose clock is a model."""
    return summary(trace.started, trace.rounds, trace.finished).tokens_per_second


def speedup(trace: Trace, baseline: Trace) -> float | None:
    """Tokens per second / the baseline's; None where either is simulated. Fair only if both ran interleaved."""
    fast, plain = tokens_per_second(trace), tokens_per_second(baseline)
    return speed_ratio(fast, plain) if fast is not None and plain is not None else None
