"""The numbers that a trace states about itself: vLLM's per-request acceptance fields, each defined here once.

In a rate only counts what came before the end of the text: candidates below the text's last token are neither drafted
nor accepted in it (`behind_the_end`). The stored summary alone counts as vLLM's counters do, before the text was cut.
Everything else that is measured on a trace is in `metrics`, which passes these on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from specviz.trace.events import Finished, Node, Round, Summary
from specviz.trace.header import Started


def summary(started: Started, rounds: Sequence[Round], finished: Finished) -> Summary:
    """The stored summary. Drafts are counted as the verifier judged them, before any trimming at the end, which is when
    vLLM counts them; what is shown of a run is counted without what lies behind the end of its text."""
    rounds = list(map(as_judged, rounds))
    drafted = num_draft_tokens(rounds)
    accepted = num_accepted_draft_tokens(rounds)
    steps = num_spec_steps(rounds)
    timed = started.source != "simulated" and deployable(started) and finished.decode_s > 0
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


def deployable(started: Started) -> bool:
    """Whether the run's times may be held against those of others: no method asked the target beforehand."""
    return started.stop_policy is None or started.stop_policy.deployable


def drafts(this: Round) -> list[Node]:
    """The round's candidates: all nodes but the root and those that only ride along (`Drafted.riding`)."""
    riding = set(this.drafted.riding)
    return [node for node in this.nodes[1:] if node.id not in riding]


def as_judged(this: Round) -> Round:
    """The round before its text was cut: what the verifier accepted behind the end counts."""
    return replace(this, committed=replace(this.committed, trimmed=None)) if ends_text(this) else this


def ends_text(this: Round) -> bool:
    """Whether the text was cut in this round: it ended inside the accepted path."""
    return this.committed.trimmed not in (None, "open")


def behind_the_end(this: Round) -> frozenset[int]:
    """Nodes below the text's last token, if the text was cut in this round: they, and the round's last token, were
    judged and are no part of the text. Nodes of the same text are one."""
    kept = len(this.judged.path) + 1 - this.committed.trimmed_tokens
    if not ends_text(this) or not 1 <= kept <= len(this.judged.path):
        return frozenset()
    first: dict[tuple[int, int], int] = {}
    text, behind = [0], set[int]()
    for node in this.nodes[1:]:
        text.append(first.setdefault((text[node.parent], node.token), node.id))
    for node in this.nodes[1:]:
        if node.parent in behind or text[node.parent] == text[this.judged.path[kept - 1]]:
            behind.add(node.id)
    return frozenset(behind)


def counted(this: Round) -> list[Node]:
    """The candidates that are in a rate: all but those behind the end of the text."""
    behind = behind_the_end(this)
    return [node for node in drafts(this) if node.id not in behind]


def branches(this: Round) -> bool:
    """Whether two candidates of the round come after the same text."""
    parents = [node.parent for node in drafts(this)]
    return len(set(parents)) < len(parents)


def accepted_drafts(this: Round) -> int:
    """How many candidates became text: the accepted path up to the text's end, less nodes that ride along."""
    apart = behind_the_end(this) | set(this.drafted.riding)
    return sum(node not in apart for node in this.judged.path)


def drafts_beside(rounds: Sequence[Round]) -> bool:
    """Whether the drafter worked while the target's passes ran, in a lane of its own."""
    return any(this.drafted.lanes for this in rounds)


def drafted_depth(this: Round) -> int:
    """Depth of the deepest candidate of the round; 0 when nothing was drafted."""
    return max((node.depth for node in drafts(this)), default=0)


def num_spec_steps(rounds: Sequence[Round]) -> int:
    """Rounds in which at least one candidate was drafted."""
    return sum(bool(drafts(this)) for this in rounds)


def num_draft_tokens(rounds: Sequence[Round]) -> int:
    """Candidates drafted: all nodes but the roots, those that only ride along in the target's pass, and those behind
    the end of the text."""
    return sum(len(counted(this)) for this in rounds)


def num_accepted_draft_tokens(rounds: Sequence[Round]) -> int:
    """Candidates accepted: those on the accepted paths that became text, added up."""
    return sum(map(accepted_drafts, rounds))


def acceptance_rate(rounds: Sequence[Round]) -> float | None:
    """accepted / drafted, corrections and bonuses not counted; None when nothing was drafted."""
    drafted = num_draft_tokens(rounds)
    return num_accepted_draft_tokens(rounds) / drafted if drafted else None


def mean_acceptance_length(rounds: Sequence[Round]) -> float | None:
    """1 + accepted / spec steps: tokens a drafting round yields, its last token included; None without such rounds.

    A last token that did not stay is not counted: it was left open, and the next round's candidates stand in its place,
    or it lies behind the end of the text. So where every round drafted this is the tokens per target pass.
    """
    steps = num_spec_steps(rounds)
    return 1 + (num_accepted_draft_tokens(rounds) - num_without_last(rounds)) / steps if steps else None


def num_without_last(rounds: Sequence[Round]) -> int:
    """Rounds whose last token is no part of the text: left to the next round, or behind the end."""
    return sum(this.committed.trimmed is not None for this in rounds)


def acceptance_histogram(rounds: Sequence[Round]) -> list[int]:
    """[j] = spec steps of which exactly j candidates became text, j = 0 … deepest draft; empty without spec steps."""
    lengths = [accepted_drafts(this) for this in rounds if drafts(this)]
    if not lengths:
        return []
    deepest = max(map(drafted_depth, rounds))
    return [lengths.count(j) for j in range(deepest + 1)]


def acceptance_by_depth(rounds: Sequence[Round]) -> list[list[int]]:
    """[d-1] = [rounds that drafted to depth d, rounds that accepted depth d]."""
    drafted = [max((node.depth for node in counted(this)), default=0) for this in rounds]
    accepted = list(map(accepted_drafts, rounds))
    return [
        [sum(depth >= d for depth in drafted), sum(length >= d for length in accepted)]
        for d in range(1, max(drafted, default=0) + 1)
    ]
