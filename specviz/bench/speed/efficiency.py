"""Engine efficiency: the share of the rounds' time that their forward passes alone take.

    efficiency of a run = Σ seconds of its rounds' passes alone ÷ Σ seconds of its rounds

A bound: passes alone cannot take longer than rounds that hold them, so what is missing from 1 is the engine's own work
(masks, verdicts, bookkeeping, events), and more than 1 is a failed measurement. Each round is followed at once by its
passes and nothing else, with the same models, row counts, cache lengths and branching and on the same clock, so that a
slow moment of the machine meets both; rounds that were handed over together are followed by all of theirs. A chain that
its model writes by one call is replayed by that call.

Place in the flow: after the contest, in runs of its own, because replays between the rounds would disturb its times.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

from specviz.bench.core.contest import interleaved
from specviz.bench.core.run import Cancelled, Replay, SourceContestant, collect, never, on
from specviz.protocol.runs import PromptCard
from specviz.protocol.sweeps.points import Quartiles, quartiles
from specviz.trace.events import Pass, Round

if TYPE_CHECKING:
    from specviz.lm.base import Cache, LanguageModel
    from specviz.lm.step_time import Clock

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
    """One run per prompt and contestant, the first one rotated. Ends early when cancelled."""
    for _, prompt, order in interleaved(contestants, prompts):
        for contestant in order:
            run = collect(contestant.source, on(prompt, contestant.request), cancelled, replay)
            if run is None:
                return
            yield Sample(contestant.name, sum(bare for bare, _ in run.replayed), sum(took for _, took in run.replayed))


def efficiencies(measured: Sequence[Sample]) -> Mapping[str, Efficiency]:
    """Contestant → its efficiency."""
    shares: dict[str, list[float]] = {}
    for sample in measured:
        shares.setdefault(sample.contestant, []).append(sample.passes_s / sample.rounds_s)
    found_shares = {name: (quartiles(values), len(values)) for name, values in shares.items()}
    return {name: Efficiency(share, runs, share.median > BOUND) for name, (share, runs) in found_shares.items()}


@dataclass(slots=True)
class PassReplay:
    """Replays rounds of one pair of models; each has a cache of its own, which follows the text."""

    target: LanguageModel
    drafter: LanguageModel | None = None
    """None: drafting passes are not priced"""
    clock: Clock = time.perf_counter
    seconds: dict[str, dict[int, list[float]]] = field(default_factory=dict)
    """`target` and `drafter`: row count → seconds of every pass"""
    _caches: dict[str, Cache] = field(default_factory=dict)

    def replay(self, this: Round) -> float:
        """Seconds of the drafter's passes and the target's, in their order."""
        drafts = this.drafted.passes if self.drafter is not None else []
        # Both caches are brought to their lengths first, so that weights are as warm or cold as in the round.
        self._bring("target", self.target, this.scored.target_pass.cached_rows)
        total = self._chain(drafts)
        for number, single in enumerate([] if total else drafts):
            assert self.drafter is not None
            self._bring("drafter", self.drafter, single.cached_rows)
            # The first pass reads text, one row after the other; the next ones are a level of the tree each.
            siblings = None if number == 0 or single.rows == 1 else [single.cached_rows - 1] * single.rows
            total += self._pass("drafter", self.drafter, single, siblings, last_only=number == 0)
        start = this.scored.target_pass.cached_rows
        is_chain = all(node.parent == index - 1 for index, node in enumerate(this.nodes))
        parents = None if is_chain else [start + node.parent for node in this.nodes]
        return total + self._pass("target", self.target, this.scored.target_pass, parents)

    def medians(self) -> dict[str, dict[int, float]]:
        """Role → row count → seconds."""
        return {
            role: {rows: median(values) for rows, values in sorted(by_rows.items())}
            for role, by_rows in self.seconds.items()
        }

    def _bring(self, role: str, model: LanguageModel, length: int) -> None:
        """A cache of exactly so many rows, untimed: shortened, or lengthened by any tokens."""
        cache = self._caches.setdefault(role, model.new_cache())
        start = cache.length
        if start > length:
            cache.truncate(length)
        elif start < length:
            model.forward(_tokens(model, length - start), cache, last_only=True)
            cache.keep(range(start, length))

    def _chain(self, drafts: Sequence[Pass]) -> float:
        """Seconds of the drafter's passes by one call; 0 where its model runs them one by one."""
        from specviz.lm.step_time import written_s

        model = self.drafter
        if model is None or not drafts:
            return 0.0
        self._bring("drafter", model, drafts[0].cached_rows)
        written = written_s(model, self._caches["drafter"], [single.rows for single in drafts], self.clock)
        if written is None:
            return 0.0
        took, each = written
        for single, seconds in zip(drafts, each, strict=True):
            self.seconds.setdefault("drafter", {}).setdefault(single.rows, []).append(seconds)
        return took

    def _pass(
        self, role: str, model: LanguageModel, single: Pass, parents: Sequence[int] | None, last_only: bool = False
    ) -> float:
        """Seconds of one pass; the rows of a chain stay, as most of them do in a run."""
        from specviz.core.clock import seconds_of  # brings torch, which `bench --help` does without

        cache, tokens = self._caches[role], _tokens(model, single.rows)
        took = seconds_of(lambda: model.forward(tokens, cache, parents, last_only), model.device, self.clock)
        cache.keep(range(single.cached_rows, single.cached_rows + single.rows) if parents is None else [])
        self.seconds.setdefault(role, {}).setdefault(single.rows, []).append(took)
        return took


def _tokens(model: LanguageModel, n: int) -> list[int]:
    """Any tokens do: time does not depend on them."""
    return [i % model.info.vocab_size for i in range(n)]
