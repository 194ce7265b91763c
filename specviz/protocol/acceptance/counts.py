"""What a serving engine tells of speculation per request: how many steps, drafts, acceptances. No tokens, no tree.

One record of this kind is what vLLM, SGLang and AIPerf reports are read into, and what our traces are counted as.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from specviz.errors import TraceError
from specviz.trace.events import Trace
from specviz.trace.summary import accepted_drafts, as_judged, branches, drafts

CLOSE = 1e-6
"""how far a reported fraction may lie from the one its counts give"""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """One request's, or the sum of several."""

    spec_steps: int
    """verification steps with a draft"""
    draft_tokens: int
    accepted_tokens: int
    """accepted candidates, the token that ends a step not among them"""
    histogram: tuple[int, ...] | None = None
    """[j]: steps that accepted exactly j; None: not told"""
    output_tokens: int | None = None
    longest: int | None = None
    """most candidates of a step, as configured; None: not told, or not fixed"""
    per_step: tuple[tuple[int, int], ...] | None = None
    """(drafted, accepted) of every step in order; None: not told"""

    @property
    def rate(self) -> float | None:
        """accepted ÷ drafted; None where nothing was drafted."""
        return self.accepted_tokens / self.draft_tokens if self.draft_tokens else None

    @property
    def mean_length(self) -> float | None:
        """1 + accepted ÷ steps, the token that ends a step included; None without steps."""
        return 1 + self.accepted_tokens / self.spec_steps if self.spec_steps else None

    @property
    def reached(self) -> tuple[float, ...] | None:
        """[d-1]: share of the steps that accepted at least d candidates; None without a histogram or without steps."""
        if self.histogram is None or not self.spec_steps:
            return None
        return tuple(sum(self.histogram[depth:]) / self.spec_steps for depth in range(1, len(self.histogram)))


@dataclass(frozen=True, slots=True)
class AcceptanceRun:
    """What one file tells: several requests of one engine, or one of our traces."""

    name: str
    engine: str
    requests: tuple[Acceptance, ...]
    silent: int = 0
    """requests in the file that tell nothing of speculation"""
    traced: bool = False
    """there is a whole trace: tree, p, q and verdicts; else these counts are all"""

    @property
    def total(self) -> Acceptance:
        return pooled(self.requests)


def checked(counts: Acceptance) -> Acceptance:
    """The same record. Raises TraceError where its numbers contradict each other."""
    if counts.accepted_tokens > counts.draft_tokens:
        raise TraceError(f"{counts.accepted_tokens} candidates were accepted, but only {counts.draft_tokens} drafted.")
    if counts.histogram is not None:
        steps, accepted = sum(counts.histogram), sum(j * count for j, count in enumerate(counts.histogram))
        if steps != counts.spec_steps:
            raise TraceError(f"the histogram sums to {steps}, but there are {counts.spec_steps} steps.")
        if accepted != counts.accepted_tokens:
            raise TraceError(f"the histogram holds {accepted} accepted tokens, but {counts.accepted_tokens} are told.")
    if counts.per_step is not None:
        told = (len(counts.per_step), *(sum(column) for column in zip(*counts.per_step, strict=True)))
        due = (counts.spec_steps, counts.draft_tokens, counts.accepted_tokens)
        if counts.per_step and told != due:
            raise TraceError(f"the steps one by one are {told} steps, drafts and acceptances, but {due} are told.")
    return counts


def agrees(name: str, told: float | None, due: float | None) -> None:
    """Raises TraceError where a reported fraction is not the one that the counts give."""
    if told is not None and due is not None and abs(told - due) > CLOSE * max(1.0, abs(due)):
        raise TraceError(f"{name} is {told:.6g}, but the counts give {due:.6g}.")


def pooled(requests: Sequence[Acceptance]) -> Acceptance:
    """All steps of all requests, each step counted once; what one request does not tell, the sum does not."""
    histograms = [acceptance.histogram for acceptance in requests if acceptance.histogram is not None]
    outputs = [acceptance.output_tokens for acceptance in requests if acceptance.output_tokens is not None]
    bounds = {acceptance.longest for acceptance in requests}
    return Acceptance(
        spec_steps=sum(acceptance.spec_steps for acceptance in requests),
        draft_tokens=sum(acceptance.draft_tokens for acceptance in requests),
        accepted_tokens=sum(acceptance.accepted_tokens for acceptance in requests),
        histogram=_added(histograms) if histograms and len(histograms) == len(requests) else None,
        output_tokens=sum(outputs) if len(outputs) == len(requests) else None,
        longest=bounds.pop() if len(bounds) == 1 else None,
    )


def _added(histograms: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(sum(column) for column in zip_longest(*histograms, fillvalue=0))


def of_trace(trace: Trace) -> Acceptance:
    """A trace's counts, as a serving engine has them: before the text was cut, what was accepted behind its end too.
    `longest` is the drafter's γ where the whole draft is one chain of that length."""
    steps = [as_judged(this) for this in trace.rounds if drafts(this)]
    per_step = tuple((len(drafts(this)), accepted_drafts(this)) for this in steps)
    gamma = trace.started.drafter.options.get("gamma")
    chains = trace.started.tree_policy is None and not any(branches(this) for this in steps)
    longest = gamma if chains and type(gamma) is int and all(drafted <= gamma for drafted, _ in per_step) else None
    most = max([longest or 0, *(accepted for _, accepted in per_step)])
    counted = [accepted for _, accepted in per_step]
    return Acceptance(
        spec_steps=len(steps),
        draft_tokens=sum(drafted for drafted, _ in per_step),
        accepted_tokens=sum(counted),
        histogram=tuple(counted.count(j) for j in range(most + 1)),
        output_tokens=len(trace.finished.output_ids),
        longest=longest,
        per_step=per_step,
    )
