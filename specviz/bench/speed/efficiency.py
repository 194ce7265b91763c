"""Engine efficiency: the share of the rounds' time that their forward passes alone take.

    efficiency of a run = Σ seconds of its rounds' passes alone ÷ Σ seconds of its rounds

A bound: passes alone cannot take longer than rounds that hold them, so what is missing from 1 is the engine's own work
(masks, verdicts, bookkeeping, events), and more than 1 is a failed measurement. Each round is followed at once by its
passes, at the same row counts and cache lengths and on the same clock, so that a slow moment of the machine meets both.

Place in the flow: after the contest, in runs of its own, because replays between the rounds would disturb its times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from specviz.bench.core.contest import interleaved
from specviz.bench.core.run import Cancelled, Replay, SourceContestant, collect, never, on
from specviz.protocol.runs import PromptCard
from specviz.protocol.sweeps.points import Quartiles, quartiles

BOUND = 1.02
"""above 1 by no more than clocks and caches explain; a median beyond it says that the measurement failed"""


@dataclass(frozen=True, slots=True)
class Efficiency:
    """Of one contestant, over its runs."""

    share: Quartiles
    """passes alone / rounds, over the runs"""
    runs: int
    failed: bool
    """passes alone took longer than the rounds that hold them, so the share is no number of the engine"""

    def __str__(self) -> str:
        """`0.97 [0.96–0.98]`, or that it failed."""
        text = f"{self.share.median:.2f} [{self.share.low:.2f}–{self.share.high:.2f}]"
        return f"failed: {text}" if self.failed else text


@dataclass(frozen=True, slots=True)
class Sample:
    """One run, round by round."""

    contestant: str
    passes_s: float
    """of the passes alone"""
    rounds_s: float


def samples(
    contestants: Sequence[SourceContestant],
    prompts: Sequence[PromptCard],
    replay: Replay,
    cancelled: Cancelled = never,
) -> Iterator[Sample]:
    """One run per prompt and contestant, the first one rotated; runs of a single round say nothing and are left out.

    Ends early when cancelled."""
    for _, prompt, order in interleaved(contestants, prompts):
        for one in order:
            run = collect(one.source, on(prompt, one.request), cancelled, replay)
            if run is None:
                return
            if run.replayed:
                yield Sample(one.name, sum(bare for bare, _ in run.replayed), sum(took for _, took in run.replayed))


def efficiencies(found: Sequence[Sample]) -> Mapping[str, Efficiency]:
    """Contestant → its efficiency."""
    shares: dict[str, list[float]] = {}
    for sample in found:
        shares.setdefault(sample.contestant, []).append(sample.passes_s / sample.rounds_s)
    found_shares = {name: (quartiles(values), len(values)) for name, values in shares.items()}
    return {name: Efficiency(share, runs, share.median > BOUND) for name, (share, runs) in found_shares.items()}
