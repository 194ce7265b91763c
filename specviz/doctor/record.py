"""What one file or paste tells of speculation, whatever engine wrote it: counts, seconds, and what it leaves untold.

An `Acceptance` is one request counted step by step; engines mostly tell less: totals of a server, a line of a log, a
rate without its counts. Here everything may be missing, and nothing is guessed: what follows from what is told is
worked out by the properties, each with its formula.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Record:
    """One record, or the sum of several of one form. None: not told."""

    engine: str
    form: str
    """what kind of record it is, as a noun: "counters of a server" """
    drafted: int | None = None
    """candidates"""
    accepted: int | None = None
    """candidates, the token that ends a step not among them"""
    steps: int | None = None
    """target passes that verified a draft, of all requests"""
    output_tokens: int | None = None
    by_position: tuple[float, ...] | None = None
    """[d-1]: share of the steps that accepted at least d candidates"""
    longest: int | None = None
    """candidates of a step, as configured"""
    branches: bool = False
    """drafts are known to be trees, whose candidates are no speculation length"""
    decode_s: float | None = None
    """seconds of decoding, the prompt's pass left out"""
    draft_s: float | None = None
    """seconds of these in which was drafted"""
    stated_rate: float | None = None
    """accepted ÷ drafted, as told"""
    stated_length: float | None = None
    """tokens per step, as told"""
    requests: int | None = None
    silent: int = 0
    """requests that tell nothing of speculation"""
    speculates: bool | None = None
    """whether the record says that speculation is on; None: it does not say"""
    untold: tuple[str, ...] = ()
    """nouns: what a record of this form cannot tell"""
    broken: tuple[str, ...] = ()
    """sentences: identities that its numbers break"""

    @property
    def title(self) -> str:
        """What it is, in a few words."""
        requests = f", {self.requests} request{'s' * (self.requests != 1)}" if self.requests else ""
        return f"{self.form} of {self.engine}{requests}"

    @property
    def rate(self) -> float | None:
        """accepted ÷ drafted; as told where the counts are not."""
        if self.drafted is not None and self.accepted is not None:
            return self.accepted / self.drafted if self.drafted else None
        return self.stated_rate

    @property
    def tokens_per_step(self) -> float | None:
        """1 + accepted ÷ steps; as told where the counts are not."""
        if self.steps and self.accepted is not None:
            return 1 + self.accepted / self.steps
        return self.stated_length

    @property
    def candidates(self) -> float | None:
        """Of a step: drafted ÷ steps, else as configured."""
        if self.steps and self.drafted is not None:
            return self.drafted / self.steps
        return None if self.longest is None else float(self.longest)

    @property
    def gamma(self) -> float | None:
        """The speculation length: the candidates of a step, where these are a chain."""
        return None if self.branches else self.candidates

    @property
    def reached(self) -> tuple[float, ...] | None:
        """[d-1]: share of the steps that accepted at least d; for drafts of one token the rate itself."""
        if self.by_position is not None:
            return self.by_position
        if self.longest == 1 and self.rate is not None:
            return (self.rate,)
        return None

    @property
    def conditional(self) -> tuple[float, ...] | None:
        """[d-1]: of the steps that accepted d - 1 candidates, the share that accepted the next one too; up to the first
        position that nothing reached."""
        if self.reached is None:
            return None
        rates, before = list[float](), 1.0
        for share in self.reached:
            if before <= 0:
                break
            rates.append(min(1.0, share / before))
            before = share
        return tuple(rates)

    @property
    def tokens_per_s(self) -> float | None:
        """output tokens ÷ seconds of decoding."""
        return self.output_tokens / self.decode_s if self.output_tokens and self.decode_s else None


def total(values: Iterable[int | None]) -> int | None:
    """The sum; None where one of them is not told."""
    kept = list(values)
    return None if not kept or None in kept else sum(value for value in kept if value is not None)


def mean_by_steps(rows: Sequence[tuple[tuple[float, ...], int]]) -> tuple[float, ...] | None:
    """Shares by position of several records, each counted by its steps; a position that one lacks counts as 0 there."""
    steps = sum(count for _, count in rows)
    if not steps:
        return None
    depth = max(len(shares) for shares, _ in rows)
    return tuple(sum(shares[d] * count for shares, count in rows if d < len(shares)) / steps for d in range(depth))
