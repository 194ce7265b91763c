"""From a trace to numbers: the only place where a number is defined.

Each function's docstring is the definition that the screen, the bench and the docs repeat. A number that the
trace does not carry is None, never a guess. Knows nothing about engines, files or screens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from specviz.trace.events import Finished, Round, Started, Summary, Trace, Trial


def summary(started: Started, rounds: Sequence[Round], finished: Finished) -> Summary:
    """The stored summary. Drafts are counted as the verifier judged them, before any trimming at the end."""
    drafted = num_draft_tokens(rounds)
    accepted = num_accepted_draft_tokens(rounds)
    steps = num_spec_steps(rounds)
    timed = started.source != "simulated" and finished.decode_s > 0
    return Summary(
        num_spec_steps=steps,
        num_draft_tokens=drafted,
        num_accepted_draft_tokens=accepted,
        draft_acceptance_rate=acceptance_rate(rounds),
        mean_acceptance_length=mean_acceptance_length(rounds),
        acceptance_histogram=acceptance_histogram(rounds),
        acceptance_by_depth=acceptance_by_depth(rounds),
        num_target_passes=len(rounds),
        num_output_tokens=len(finished.output_ids),
        tokens_per_second=len(finished.output_ids) / finished.decode_s if timed else None,
    )


def drafted_depth(this: Round) -> int:
    """Depth of the deepest candidate of the round; 0 when nothing was drafted."""
    return max(node.depth for node in this.nodes)


def num_spec_steps(rounds: Sequence[Round]) -> int:
    """Rounds in which at least one candidate was drafted."""
    return sum(len(this.nodes) > 1 for this in rounds)


def num_draft_tokens(rounds: Sequence[Round]) -> int:
    """Candidates drafted: all nodes but the roots."""
    return sum(len(this.nodes) - 1 for this in rounds)


def num_accepted_draft_tokens(rounds: Sequence[Round]) -> int:
    """Candidates accepted: the lengths of the accepted paths, added up."""
    return sum(len(this.judged.path) for this in rounds)


def acceptance_rate(rounds: Sequence[Round]) -> float | None:
    """accepted / drafted, corrections and bonuses not counted; None when nothing was drafted."""
    drafted = num_draft_tokens(rounds)
    return num_accepted_draft_tokens(rounds) / drafted if drafted else None


def mean_acceptance_length(rounds: Sequence[Round]) -> float | None:
    """1 + accepted / spec steps: tokens a drafting round yields, its last token included; None without such rounds."""
    steps = num_spec_steps(rounds)
    return 1 + num_accepted_draft_tokens(rounds) / steps if steps else None


def acceptance_histogram(rounds: Sequence[Round]) -> list[int]:
    """[j] = spec steps that accepted exactly j candidates, j = 0 … deepest draft; empty without spec steps."""
    lengths = [len(this.judged.path) for this in rounds if len(this.nodes) > 1]
    if not lengths:
        return []
    deepest = max(map(drafted_depth, rounds))
    return [lengths.count(j) for j in range(deepest + 1)]


def acceptance_by_depth(rounds: Sequence[Round]) -> list[list[int]]:
    """[d-1] = [rounds that drafted to depth d, rounds that accepted depth d]."""
    deepest = max(map(drafted_depth, rounds), default=0)
    return [
        [sum(drafted_depth(this) >= d for this in rounds), sum(len(this.judged.path) >= d for this in rounds)]
        for d in range(1, deepest + 1)
    ]


def rate_by_depth(rounds: Sequence[Round]) -> list[float]:
    """[d-1] = rounds that accepted depth d / rounds that drafted to depth d (vLLM's per-position rate)."""
    return [accepted / drafted for drafted, accepted in acceptance_by_depth(rounds)]


def conditional_rate_by_depth(rounds: Sequence[Round]) -> list[float | None]:
    """[d-1] = rounds that accepted depth d / rounds that tested it (accepted depth d-1, and its node has children).

    None where depth d was never tested. These are the rates that `theory.expected_tokens_by_depth` takes.
    """
    levels = [level for this in rounds for level in _levels(this)]
    deepest = max((depth for depth, _ in levels), default=0)
    by_depth = [[accepted for depth, accepted in levels if depth == d] for d in range(1, deepest + 1)]
    return [fmean(outcomes) if outcomes else None for outcomes in by_depth]


def tokens_per_target_pass(rounds: Sequence[Round]) -> float | None:
    """(accepted + one per round) / rounds: every round counts, also those in which nothing was drafted."""
    return (num_accepted_draft_tokens(rounds) + len(rounds)) / len(rounds) if rounds else None


def alpha_reached(rounds: Sequence[Round]) -> float | None:
    """Measured alpha: levels accepted / levels tested, where a level is the children of one visited node.

    For a chain: accepted / candidates that were judged, never-reached ones left out. None when nothing was judged.
    """
    outcomes = [accepted for this in rounds for _, accepted in _levels(this)]
    return fmean(outcomes) if outcomes else None


def alpha_expected(rounds: Sequence[Round]) -> float | None:
    """Measured alpha with the coin tosses averaged out: mean threshold min(1, p/q) of the first child tried per level.

    Its mean over draws from q is sum min(p, q), the acceptance of Leviathan et al.; it varies less than
    `alpha_reached`. For a tree it is the first sibling's alpha. None when nothing was judged.
    """
    thresholds = [trial.threshold for this in rounds for trial in first_trials(this)]
    return fmean(thresholds) if thresholds else None


def first_trials(this: Round) -> list[Trial]:
    """The first trial at each visited node that has children."""
    seen: set[int] = set()
    firsts = []
    for trial in this.judged.trials:
        parent = this.nodes[trial.node].parent
        if parent not in seen:
            seen.add(parent)
            firsts.append(trial)
    return firsts


def _levels(this: Round) -> list[tuple[int, bool]]:
    """(depth, was a child accepted) for each visited node that has children."""
    parents = {node.parent for node in this.nodes}
    visited = [0, *this.judged.path]
    return [(depth, depth <= len(this.judged.path)) for depth, node in enumerate(visited, start=1) if node in parents]


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
    """Measured c: mean seconds of a one-token drafter pass / mean seconds of a target pass; None without either."""
    drafts = [one.seconds for this in rounds for one in this.drafted.passes if one.rows == 1]
    targets = [this.scored.target_pass.seconds for this in rounds]
    return fmean(drafts) / fmean(targets) if drafts and fmean(targets) > 0 else None


def tokens_per_second(trace: Trace) -> float | None:
    """Output tokens / decode seconds; None for a simulated run, whose clock is a model."""
    return summary(trace.started, trace.rounds, trace.finished).tokens_per_second


def speedup(trace: Trace, baseline: Trace) -> float | None:
    """Tokens per second / the baseline's; None where either is simulated. Honest only if both ran interleaved."""
    fast, plain = tokens_per_second(trace), tokens_per_second(baseline)
    return fast / plain if fast is not None and plain else None
