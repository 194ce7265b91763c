"""A speedup sweep: run drafters over speculation lengths and prompts, with plain decoding in the same loop.

Place in the flow: takes any `TraceSource`, gives points to the page's Speedup tab and to `specviz bench sweep`; what to
measure comes from `sweep_definition.py`.
Knows nothing about torch, models, charts or the terminal; it never reads a clock of its own: all times are the
engine's, from the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TypeVar

from specviz import metrics
from specviz.bench.honest import check_deployable
from specviz.bench.points import BASELINE, Policies, RunCost, SweepPoint, SweepRow, summarise, title
from specviz.errors import BenchError, OptionError
from specviz.trace.events import Finished, Option, Round, Started
from specviz.trace.source import PromptCard, RunRequest, TraceSource

T = TypeVar("T")

__all__ = [
    "BASELINE",
    "Policies",
    "RunCost",
    "SweepCase",
    "SweepDrafter",
    "SweepPoint",
    "SweepRow",
    "SweepSpec",
    "cases",
    "prompts_of",
    "request_for",
    "run_count",
    "run_key",
    "summarise",
    "sweep",
]


@dataclass(frozen=True, slots=True)
class SweepDrafter:
    """One drafter of a sweep and the options it keeps throughout."""

    name: str
    options: Mapping[str, Option] = field(default_factory=dict)
    length_option: str | None = "gamma"
    """the option that the sweep sets to each speculation length; None: run once, with `options` as they are"""
    lengths: tuple[int, ...] = ()
    """its own speculation lengths; empty: those of the sweep"""
    label: str = ""
    """for tables and charts; empty: the drafter's name"""
    policies: Policies = field(default_factory=Policies)


@dataclass(frozen=True, slots=True)
class SweepSpec:
    """What to measure. `template` supplies target, models, verifier, seed, dtype and device of every run."""

    drafters: tuple[SweepDrafter, ...]
    gammas: tuple[int, ...]
    prompt_ids: tuple[str, ...]
    temperatures: tuple[float, ...] = (0.0,)
    repeats: int = 1
    max_new_tokens: int = 64
    template: RunRequest = field(default_factory=lambda: RunRequest(prompt=""))


@dataclass(frozen=True, slots=True)
class SweepCase:
    """One column of the sweep: a drafter at one speculation length. `gamma` is None where it has none to set."""

    drafter: str
    label: str
    gamma: int | None
    options: Mapping[str, Option]
    policies: Policies = field(default_factory=Policies)


def cases(spec: SweepSpec) -> tuple[SweepCase, ...]:
    """Plain decoding first, then every drafter at every speculation length, each case once."""
    found = [SweepCase(BASELINE, BASELINE, None, {})]
    for drafter in spec.drafters:
        if drafter.name == BASELINE:
            continue
        label = drafter.label or drafter.name
        if drafter.length_option is None:
            found.append(SweepCase(drafter.name, label, None, dict(drafter.options), drafter.policies))
            continue
        for gamma in drafter.lengths or spec.gammas:
            options = {**drafter.options, drafter.length_option: gamma}
            found.append(SweepCase(drafter.name, label, gamma, options, drafter.policies))
    return tuple(found)


def run_count(spec: SweepSpec) -> int:
    """How many runs, and so how many points, a sweep makes: for progress."""
    return len(cases(spec)) * len(spec.prompt_ids) * spec.repeats * len(spec.temperatures)


def request_for(spec: SweepSpec, case: SweepCase, temperature: float) -> RunRequest:
    """What one case asks for on any prompt."""
    return replace(
        spec.template,
        drafter=case.drafter,
        drafter_options=dict(case.options),
        growth=case.policies.growth,
        growth_options=dict(case.policies.growth_options),
        stopping=case.policies.stopping,
        stopping_options=dict(case.policies.stopping_options),
        temperature=temperature,
        max_new_tokens=spec.max_new_tokens,
        record=False,
    )


def rotated(items: Sequence[T], by: int) -> list[T]:
    """`items` starting at index `by`, wrapping round: no case always runs on the warmest or the busiest moment."""
    start = by % max(1, len(items))
    return [*items[start:], *items[:start]]


RunKey = tuple[str, int | None, str, int, float]
"""case, length, prompt id, repeat, temperature: which run of a sweep it is"""


def run_key(one: SweepCase | SweepPoint, prompt: str, repeat: int, temperature: float) -> RunKey:
    """What a planned run and its point have in common."""
    return title(one), one.gamma, prompt, repeat, temperature


def sweep(
    source: TraceSource,
    spec: SweepSpec,
    cancelled: Callable[[], bool] = lambda: False,
    done: Sequence[SweepPoint] = (),
) -> Iterator[SweepPoint]:
    """Run everything, yielding each point as soon as its run is done; the plain runs are points of ratio 1.

    Order: repeat, then prompt, then temperature; of each plain decoding first, so that no finished run waits for its
    baseline, then the other cases with the first one rotated from prompt to prompt. Stops quietly when cancelled,
    within a run too; only the run in progress is lost. What `done` holds is not run again; where only a part of a
    prompt's cases is left, plain decoding runs beside them anew, because a ratio needs both at the same moment.
    Raises OptionError for an unknown prompt id.
    """
    have = {run_key(point, point.prompt, point.repeat, point.temperature) for point in done}
    baseline, *others = cases(spec)
    prompts = prompts_of(source, spec.prompt_ids)
    for repeat, (number, prompt), temperature in product(range(spec.repeats), enumerate(prompts), spec.temperatures):
        order = [baseline, *rotated(others, repeat + number)]
        wanted = [case for case in order if run_key(case, prompt.id, repeat, temperature) not in have]
        again = [baseline] if wanted and wanted[0] is not baseline else []
        plain: _Run | None = None
        for case in [*again, *wanted]:
            run = None if cancelled() else _run(source, request_for(spec, case, temperature), prompt, cancelled)
            if run is None:
                return
            plain = plain or run
            if case in wanted:
                yield _point(case, run, plain, prompt, (repeat, temperature))


@dataclass(frozen=True, slots=True)
class _Run:
    """A finished run's events."""

    started: Started
    rounds: list[Round]
    finished: Finished

    @property
    def tokens_per_s(self) -> float:
        seconds = self.finished.decode_s
        return len(self.finished.output_ids) / seconds if seconds > 0 else 0.0


def prompts_of(source: TraceSource, ids: Sequence[str]) -> list[PromptCard]:
    """The prompts with these ids. Raises OptionError for an id there is not."""
    known = {card.id: card for card in source.catalog().prompts}
    missing = [name for name in ids if name not in known]
    if missing:
        raise OptionError(f"there is no prompt '{missing[0]}' in the prompt set; `specviz list prompts` shows the ids.")
    return [known[name] for name in ids]


def _run(source: TraceSource, request: RunRequest, prompt: PromptCard, cancelled: Callable[[], bool]) -> _Run | None:
    """One run; None when it was cancelled on the way. A run that failed raises BenchError with its message."""
    request = replace(request, prompt=prompt.text, prompt_name=prompt.id)
    started: Started | None = None
    finished: Finished | None = None
    rounds: list[Round] = []
    for step in source.run(request, cancelled):
        match step.event:
            case Started():
                check_deployable(step.event)
                started = step.event
            case Round():
                rounds.append(step.event)
            case Finished():
                finished = step.event
    if started is None or finished is None or finished.reason == "cancelled":
        return None
    if finished.reason == "failed":
        raise BenchError(finished.message or f"the run of '{request.drafter}' on prompt '{prompt.id}' failed.")
    return _Run(started, rounds, finished)


def _point(case: SweepCase, run: _Run, plain: _Run, prompt: PromptCard, when: tuple[int, float]) -> SweepPoint:
    """`when`: repeat and temperature."""
    return SweepPoint(
        drafter=case.drafter,
        label=case.label,
        gamma=case.gamma,
        options=case.options,
        prompt=prompt.id,
        family=prompt.family,
        repeat=when[0],
        output_tokens=len(run.finished.output_ids),
        rounds=len(run.rounds),
        decode_s=run.finished.decode_s,
        tokens_per_s=run.tokens_per_s,
        baseline_tokens_per_s=plain.tokens_per_s,
        ratio=run.tokens_per_s / plain.tokens_per_s if plain.tokens_per_s > 0 else 0.0,
        same_output=run.finished.output_ids == plain.finished.output_ids,
        drafted=metrics.num_draft_tokens(run.rounds),
        accepted=metrics.num_accepted_draft_tokens(run.rounds),
        acceptance_rate=metrics.acceptance_rate(run.rounds),
        mean_acceptance_length=metrics.mean_acceptance_length(run.rounds),
        alpha=metrics.alpha_reached(run.rounds),
        step_times=tuple(run.started.step_times),
        draft_step_s=run.started.draft_step_s,
        temperature=when[1],
        accepted_lengths=tuple(metrics.acceptance_histogram(run.rounds)),
        by_depth=tuple((drafted, accepted) for drafted, accepted in metrics.acceptance_by_depth(run.rounds)),
        levels=metrics.levels_by_depth(run.rounds),
        cost=_cost(run.rounds),
        policies=case.policies,
    )


def _cost(rounds: Sequence[Round]) -> RunCost:
    passes = [one for this in rounds for one in this.drafted.passes]
    return RunCost(
        draft_s=sum(this.drafted.seconds for this in rounds),
        target_s=sum(this.scored.seconds for this in rounds),
        judge_s=sum(this.judged.seconds for this in rounds),
        commit_s=sum(this.committed.seconds for this in rounds),
        draft_passes=len(passes),
        draft_pass_s=sum(one.seconds for one in passes),
        target_rows=sum(this.scored.target_pass.rows for this in rounds),
        target_pass_s=sum(this.scored.target_pass.seconds for this in rounds),
    )
