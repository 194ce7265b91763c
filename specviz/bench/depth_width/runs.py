"""Networks in the engine beside plain decoding, prompt by prompt, by the processor's time: what the model of
`theory.draft_latency` is held against.

Place in the flow: the measured points of `specviz study depth-width`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from specviz.bench.core.contest import rotated
from specviz.bench.core.run import Collected, collect, on
from specviz.errors import BenchError
from specviz.protocol.depth_widths import Measured
from specviz.protocol.runs import PromptCard, RunRequest, TraceSource
from specviz.protocol.sweeps.intervals import Estimate, median_over_prompts, ratio_of_sums
from specviz.theory import metrics
from specviz.trace.events import Option, Round

PLAIN = ("", 0)
Way = tuple[str, int]
"""network and γ"""


class RoundsOnly:
    """Makes `collect` time every round by the processor's clock, and repeats nothing."""

    def clock(self) -> float:
        return time.process_time()

    def replay(self, one: Round) -> float:
        return 0.0


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of one way."""

    tokens: int
    """of the rounds behind the first, which holds the prompt's pass"""
    seconds: float
    kept: int
    drafts: int
    output: tuple[int, ...]

    @property
    def tokens_per_s(self) -> float:
        return self.tokens / self.seconds


@dataclass(frozen=True, slots=True)
class Runs:
    """All runs: way → prompt → repeats."""

    found: dict[Way, dict[str, list[Ran]]]

    def plain(self) -> Estimate:
        """Tokens per second of plain decoding."""
        return _rounded(_speed(self.found[PLAIN]))

    def measured(self) -> Iterator[Measured]:
        """Every other way, beside it."""
        plain = self.found[PLAIN]
        for (name, gamma), own in self.found.items():
            if (name, gamma) == PLAIN:
                continue
            ratios = [
                [one.tokens_per_s / base.tokens_per_s for one, base in zip(runs, plain[prompt], strict=True)]
                for prompt, runs in own.items()
            ]
            each = [(one, plain[prompt][0]) for prompt, runs in own.items() for one in runs]
            yield Measured(
                name,
                gamma,
                _rounded(_speed(own)),
                _rounded(median_over_prompts(ratios)),
                round(sum(one.kept for one, _ in each) / max(1, sum(one.drafts for one, _ in each)), 4),
                sum(one.output == base.output for one, base in each),
                len(each),
            )


def run(
    source: TraceSource,
    prompts: Sequence[PromptCard],
    ways: Sequence[Way],
    folders: Mapping[str, Path],
    request: RunRequest,
    repeats: int,
    report: Callable[[str], None] = lambda line: None,
) -> Runs:
    """Plain decoding and every way on every prompt, `repeats` times, each prompt begun with another way; on the first
    prompt once more before, not counted. `folders`: network → its weights. Raises BenchError where a text is too short
    to be timed."""
    ways = (PLAIN, *ways)
    found: dict[Way, dict[str, list[Ran]]] = {way: {} for way in ways}
    for way in ways:  # touches every code path and all weights
        _one(source, on(prompts[0], _asked(request, way, folders)))
    for repeat in range(repeats):
        for number, prompt in enumerate(prompts):
            for way in rotated(ways, repeat + number):
                ran = _one(source, on(prompt, _asked(request, way, folders)))
                found[way].setdefault(prompt.id, []).append(ran)
            report(f"repeat {repeat + 1} of {repeats}: {prompt.id}")
    return Runs(found)


def _asked(request: RunRequest, way: Way, folders: Mapping[str, Path]) -> RunRequest:
    network, gamma = way
    if way == PLAIN:
        return replace(request, drafter="none", drafter_options={})
    options: dict[str, Option] = {"weights": str(folders[network]), "gamma": gamma}
    return replace(request, drafter="small_model", drafter_options=options)


def _one(source: TraceSource, request: RunRequest) -> Ran:
    ran = collect(source, request, replay=RoundsOnly())
    assert ran is not None, "nobody cancels."
    later = ran.rounds[1:]
    if not later:
        raise BenchError(
            f"'{request.prompt_name}' gave one round alone, which cannot be timed; take other prompts or more tokens."
        )
    return Ran(
        sum(len(one.committed.tokens) for one in later),
        _seconds(ran),
        metrics.num_accepted_draft_tokens(ran.rounds),
        metrics.num_spec_steps(ran.rounds),
        tuple(ran.finished.output_ids),
    )


def _seconds(ran: Collected) -> float:
    return sum(took for _, took in ran.replayed)


def _speed(own: dict[str, list[Ran]]) -> Estimate:
    parts = [(float(sum(one.tokens for one in runs)), sum(one.seconds for one in runs)) for runs in own.values()]
    found = ratio_of_sums(parts)
    assert found is not None, "rounds take time."
    return found


def _rounded(estimate: Estimate) -> Estimate:
    return Estimate(*(round(one, 4) for one in estimate))
