"""What is measured of the networks: times of passes, runs in the engine, and replay of texts that the target wrote.

A drafting step and the target's passes are timed in turns in one run. Time is that which the processor worked, so that
other programs on the machine disturb less. A drafting step stands behind a pass of the target, as in any round: the
target's weights drive the drafter's out of the caches. Runs in the engine take turns with plain decoding, prompt by
prompt; the model of `findings` is held against them.

At temperature 0 the text is the target's own whatever is drafted (Leviathan et al., 2211.17192, algorithm 1). As long
as a draft is right it stands on the text itself, so one pass of the drafter over the text says of every place whether
its first choice there is the text's next token; the rounds of every γ follow by counting.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, quantiles

import torch

from specviz.bench.core.contest import rotated
from specviz.bench.core.passes import pass_clock
from specviz.bench.core.run import Collected, collect, on
from specviz.errors import BenchError
from specviz.lm.base import Cache, LanguageModel
from specviz.lm.step_time import Clock, filled_cache
from specviz.protocol.choice import Choice
from specviz.protocol.runs import PromptCard, RunRequest, TraceSource
from specviz.protocol.sweeps.intervals import Estimate, median_over_prompts, ratio_of_sums
from specviz.studies.depth_width.networks import Measured, Times
from specviz.theory import metrics
from specviz.theory.speedup import times_as_fast
from specviz.trace.events import Option, Round, Trace

PLAIN = ("", 0)
Drafting = tuple[str, int]
"""network and γ"""


class RoundsOnly:
    """Makes `collect` time every round by the processor's clock, and repeats nothing."""

    def clock(self) -> float:
        return time.process_time()

    def replay(self, one: Round) -> float:
        return 0.0


@dataclass(frozen=True, slots=True)
class TimedRun:
    """One run."""

    tokens: int
    """of its rounds"""
    seconds: float
    kept: int
    drafts: int
    output: tuple[int, ...]

    @property
    def tokens_per_s(self) -> float:
        return self.tokens / self.seconds


@dataclass(frozen=True, slots=True)
class Runs:
    """All runs: drafting → prompt → repeats."""

    found: dict[Drafting, dict[str, list[TimedRun]]]

    def plain(self) -> Estimate:
        """Tokens per second of plain decoding."""
        return _rounded(_speed(self.found[PLAIN]))

    def measured(self) -> Iterator[Measured]:
        """Every other drafting, compared with it."""
        plain = self.found[PLAIN]
        for (name, gamma), own in self.found.items():
            if (name, gamma) == PLAIN:
                continue
            ratios = [
                [
                    times_as_fast(one.tokens_per_s, base.tokens_per_s)
                    for one, base in zip(runs, plain[prompt], strict=True)
                ]
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
    draftings: Sequence[Drafting],
    folders: Mapping[str, Path],
    request: RunRequest,
    repeats: int,
    report: Callable[[str], None] = lambda line: None,
) -> Runs:
    """Plain decoding and every drafting on every prompt, `repeats` times, each prompt begun with another; on the first
    prompt once more before, not counted. `folders`: network → its weights. Raises BenchError where a text is too short
    to be timed."""
    draftings = (PLAIN, *draftings)
    found: dict[Drafting, dict[str, list[TimedRun]]] = {drafting: {} for drafting in draftings}
    for drafting in draftings:  # touches every code path and all weights
        _timed_run(source, on(prompts[0], _asked(request, drafting, folders)))
    for repeat in range(repeats):
        for number, prompt in enumerate(prompts):
            for drafting in rotated(draftings, repeat + number):
                timed = _timed_run(source, on(prompt, _asked(request, drafting, folders)))
                found[drafting].setdefault(prompt.id, []).append(timed)
            report(f"repeat {repeat + 1} of {repeats}: {prompt.id}")
    return Runs(found)


def _asked(request: RunRequest, drafting: Drafting, folders: Mapping[str, Path]) -> RunRequest:
    network, gamma = drafting
    if drafting == PLAIN:
        return replace(request, drafter=Choice("none"))
    options: dict[str, Option] = {"weights": str(folders[network]), "gamma": gamma}
    return replace(request, drafter=Choice("small_model", options))


def _timed_run(source: TraceSource, request: RunRequest) -> TimedRun:
    ran = collect(source, request, replay=RoundsOnly())
    assert ran is not None, "nobody cancels."
    return TimedRun(
        sum(len(one.committed.tokens) for one in ran.rounds),
        _seconds(ran),
        metrics.num_accepted_draft_tokens(ran.rounds),
        metrics.num_spec_steps(ran.rounds),
        tuple(ran.finished.output_ids),
    )


def _seconds(ran: Collected) -> float:
    return sum(took for _, took in ran.replayed)


def _speed(own: dict[str, list[TimedRun]]) -> Estimate:
    parts = [(float(sum(one.tokens for one in runs)), sum(one.seconds for one in runs)) for runs in own.values()]
    estimate = ratio_of_sums(parts)
    assert estimate is not None, "rounds take time."
    return estimate


def _rounded(estimate: Estimate) -> Estimate:
    return Estimate(*(round(one, 4) for one in estimate))


CACHED_ROWS = 128
STEPS = 4
"""of a draft, whose mean is one sample"""


@dataclass(frozen=True, slots=True)
class TimedPasses:
    """Medians and quartiles."""

    steps: Mapping[str, Times]
    """network → a drafting step"""
    passes: Mapping[int, Times]
    """rows → the target's pass"""


@torch.inference_mode()
def time_passes(
    target: LanguageModel, drafters: Mapping[str, LanguageModel], gammas: Sequence[int], repeats: int
) -> TimedPasses:
    """`repeats` rounds of everything, each time begun with another; behind `CACHED_ROWS` tokens."""
    clock, _ = pass_clock(target.device)
    cached = min(CACHED_ROWS, target.info.context_length // 2)
    judging = filled_cache(target, cached)
    drafting = {name: filled_cache(drafter, cached) for name, drafter in drafters.items()}
    rows = (1, *(gamma + 1 for gamma in gammas))
    passes: dict[int, list[float]] = {count: [] for count in rows}
    steps: dict[str, list[float]] = {name: [] for name in drafters}
    for repeat in range(-1, repeats):  # the first round sets up kernels and buffers
        for count in rotated(rows, repeat):
            took = _pass(target, judging, count, clock)
            if repeat >= 0:
                passes[count].append(took)
        for name in rotated(list(drafters), repeat):
            _pass(target, judging, max(rows), clock)
            took = fmean(_pass(drafters[name], drafting[name], 1, clock) for _ in range(STEPS))
            if repeat >= 0:
                steps[name].append(took)
    return TimedPasses(
        {name: _times(taken) for name, taken in steps.items()},
        {count: _times(taken) for count, taken in passes.items()},
    )


def _pass(model: LanguageModel, cache: Cache, count: int, clock: Clock) -> float:
    """Seconds of a pass over a chain of so many tokens, whose rows are dropped again."""
    began = clock()
    model.forward([token % model.info.vocab_size for token in range(count)], cache)
    took = clock() - began
    cache.keep([])
    return took


def _times(seconds: Sequence[float]) -> Times:
    low, median, high = (round(1000 * quantile, 4) for quantile in quantiles(seconds, n=4, method="inclusive"))
    return Times(median, low, high)


@dataclass(frozen=True, slots=True)
class RecordedText:
    """What the target wrote after a prompt."""

    prompt: str
    """id"""
    tokens: tuple[int, ...]
    """prompt and output"""
    start: int
    """tokens of the prompt"""


@torch.inference_mode()
def hits(drafter: LanguageModel, text: RecordedText) -> list[bool]:
    """For every token of the output: whether the drafter, given what stands before it, would draft just that."""
    logits = drafter.forward(list(text.tokens[:-1]), drafter.new_cache())
    choices: list[int] = logits.argmax(-1).tolist()
    return [choices[index - 1] == text.tokens[index] for index in range(text.start, len(text.tokens))]


def kept_by_round(found: Sequence[bool], gamma: int, most: int) -> list[int]:
    """Drafted tokens that each round keeps. `found`: of `hits`; γ are drafted, but never more than may still be written
    with the target's own token, of `most` in all. A round with no room for a draft is none."""
    kept, position = list[int](), 0
    while position < len(found):
        room = min(gamma, most - position - 1)
        drafted = found[position : position + room]
        right = drafted.index(False) if False in drafted else len(drafted)
        if room > 0:
            kept.append(right)
        position += right + 1
    return kept


def counted(found: Sequence[bool], gamma: int, most: int) -> tuple[float, float]:
    """(drafted tokens kept, rounds) of one text: a pair for `ratio_of_sums`."""
    kept = kept_by_round(found, gamma, most)
    return float(sum(kept)), float(len(kept))


def written(
    source: TraceSource,
    prompts: Sequence[PromptCard],
    request: RunRequest,
    report: Callable[[str], None] = lambda line: None,
) -> list[RecordedText]:
    """What the target of `request` writes after each prompt by plain decoding at temperature 0."""
    found = []
    for prompt in prompts:
        ran = collect(source, on(prompt, replace(request, drafter=Choice("none"), temperature=0.0)))
        assert ran is not None, "nobody cancels."
        given, output = ran.started.prompt_ids, ran.finished.output_ids
        found.append(RecordedText(prompt.id, (*given, *output), len(given)))
        report(f"recorded {prompt.id}: {len(output)} tokens")
    return found


def of_traces(traces: Iterable[Trace], target_sha256: str) -> list[RecordedText]:
    """Of those that the target of these weights wrote at temperature 0, a text each, every text once. Raises BenchError
    where there is none."""
    found: dict[tuple[int, ...], RecordedText] = {}
    for trace in traces:
        started = trace.started
        own = started.target.weights_sha256 == target_sha256 and started.sampling.temperature == 0.0
        if own and trace.finished is not None and trace.finished.output_ids and started.scene is None:
            tokens = (*started.prompt_ids, *trace.finished.output_ids)
            found[tokens] = RecordedText(started.prompt_name or "a prompt", tokens, len(started.prompt_ids))
    if not found:
        raise BenchError(
            "none of these traces is a text that this target wrote at temperature 0, so there is nothing to replay; "
            "give traces of `specviz run --temperature 0`."
        )
    return list(found.values())
