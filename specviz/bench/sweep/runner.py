"""A speedup sweep: run drafters over speculation lengths and prompts, with plain decoding in the same loop.

    SweepSpec ─► warm-up ─► groups (one prompt in one repeat at one temperature) ─► measured, one after another here
                                                                               └─► or each on a worker: `spread.py`

In the warm-up every drafter runs once unmeasured, which also shows who cannot run here. Place in the flow: takes any
`TraceSource`, gives points to the page's When-it-pays tab and to `specviz bench sweep`; what to measure comes from
`protocol/sweeps/definition.py`. All times are the engine's, from the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from specviz.bench.core.contest import interleaved
from specviz.bench.core.run import WARM_UP_TOKENS, Collected, collect, first_run, on
from specviz.errors import BenchError
from specviz.protocol.lending import at_once
from specviz.protocol.runs import PromptCard, RunRequest, TraceSource
from specviz.protocol.sweeps.definition import (
    RunKey,
    SweepCase,
    SweepDrafter,
    SweepSpec,
    cases,
    prompts_of,
    request_for,
    run_key,
)
from specviz.protocol.sweeps.points import BASELINE, RunCost, SweepPoint, title
from specviz.protocol.sweeps.result import WarmUp
from specviz.theory import metrics
from specviz.theory.rows import repetition
from specviz.theory.speedup import speed_ratio
from specviz.trace.events import Round, Trace

Keep = Callable[[SweepPoint, Trace], None]
"""what becomes of the traces of a sweep's runs"""


@dataclass(frozen=True, slots=True)
class SweepGroup:
    """What is measured in one place, one run after another, because its ratios are taken against one plain run."""

    prompt: PromptCard
    repeat: int
    temperature: float
    cases: tuple[SweepCase, ...]
    """plain decoding first"""

    def key(self, case: SweepCase) -> RunKey:
        """Which run of the sweep the case is here."""
        return run_key(case, self.prompt.id, self.repeat, self.temperature)

    def missing(self, have: Collection[RunKey]) -> list[SweepCase]:
        """The cases that are not there yet, in order."""
        return [case for case in self.cases if self.key(case) not in have]


def groups(prompts: Sequence[PromptCard], spec: SweepSpec) -> Iterator[SweepGroup]:
    """Repeat (r draws with seed + r), then prompt, then temperature; of each plain decoding first, so that no finished
    run waits for its baseline, then the other cases with the first one rotated from prompt to prompt. `prompts`: the
    cards of the sweep's ids."""
    baseline, *others = cases(spec)
    for repeat, prompt, order in interleaved(others, prompts, spec.repeats):
        for temperature in spec.temperatures:
            yield SweepGroup(prompt, repeat, temperature, (baseline, *order))


def keys(points: Sequence[SweepPoint]) -> set[RunKey]:
    """Which runs these are."""
    return {run_key(point, point.prompt, point.repeat, point.temperature) for point in points}


def sweep(
    source: TraceSource,
    spec: SweepSpec,
    cancelled: Callable[[], bool] = lambda: False,
    done: Sequence[SweepPoint] = (),
    keep: Keep | None = None,
) -> Iterator[SweepPoint]:
    """Run everything group by group, yielding each point as soon as its run is done; the plain runs are points of
    ratio 1. Stops quietly when cancelled, within a run too; only the run in progress is lost. What `done` holds is not
    run again. `keep` gets the trace of every point's run, with distributions, before the point is yielded; without it
    none are recorded. Raises OptionError for an unknown prompt id."""
    have = keys(done)
    for group in groups(prompts_of(source, spec), spec):
        if cancelled():
            return
        yield from measured(source, spec, group, have, cancelled, keep)


def measured(
    source: TraceSource,
    spec: SweepSpec,
    group: SweepGroup,
    have: Collection[RunKey],
    cancelled: Callable[[], bool] = lambda: False,
    keep: Keep | None = None,
) -> Iterator[SweepPoint]:
    """The runs of one group that are not in `have`. Where only a part of it is left, plain decoding runs beside them
    anew, because a ratio needs both at the same moment. `keep`: see `sweep`."""
    if not (missing := group.missing(have)):
        return
    requests = [_request(spec, group, case, keep is not None) for case in (group.cases[0], *missing)]
    work = partial(_group, spec, group, frozenset(have), keep is not None)
    for point, trace in at_once(source, work, requests, cancelled):
        if keep is not None and trace is not None:
            keep(point, trace)
        yield point


def _request(spec: SweepSpec, group: SweepGroup, case: SweepCase, keeps: bool) -> RunRequest:
    return on(group.prompt, replace(request_for(spec, case, group.temperature), record=keeps), group.repeat)


def _group(
    spec: SweepSpec,
    group: SweepGroup,
    have: Collection[RunKey],
    keeps: bool,
    source: TraceSource,
    cancelled: Callable[[], bool],
) -> Iterator[tuple[SweepPoint, Trace | None]]:
    """Each point with its run's trace, where `keeps` asks for them."""
    baseline, wanted = group.cases[0], group.missing(have)
    again = [baseline] if wanted and wanted[0] is not baseline else []
    plain: Collected | None = None
    for case in [*again, *wanted]:
        run = collect(source, _request(spec, group, case, keeps), cancelled)
        if run is None:
            return
        plain = plain or run
        if case in wanted:
            point = _point(case, run, plain, group.prompt, (group.repeat, group.temperature))
            yield point, run.trace if keeps else None


def _point(
    case: SweepCase, run: Collected, plain: Collected, prompt: PromptCard, when: tuple[int, float]
) -> SweepPoint:
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
        ratio=speed_ratio(run.tokens_per_s, plain.tokens_per_s) or 0.0,
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
        repetition=repetition(run.finished.output_ids),
        plain_repetition=repetition(plain.finished.output_ids),
        mbsu=metrics.mbsu(run.started, run.rounds),
        memory_ratio=metrics.memory_ratio(run.started, run.rounds),
        pass_reads=run.started.drafter.pass_reads,
    )


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A run of a sweep that something else than a source makes."""

    group: SweepGroup
    case: SweepCase
    request: RunRequest


def planned(source: TraceSource, spec: SweepSpec) -> list[PlannedRun]:
    """Every run of a sweep, in the order in which `sweep` makes them. Raises OptionError for an unknown prompt id."""
    return [
        PlannedRun(group, case, _request(spec, group, case, keeps=False))
        for group in groups(prompts_of(source, spec), spec)
        for case in group.cases
    ]


def points_made(plan: Sequence[PlannedRun], traces: Sequence[Trace | None]) -> list[SweepPoint]:
    """The points of runs that were made in the order of the plan; None: not made. A group without plain decoding has
    none."""
    points = list[SweepPoint]()
    plain: dict[int, Collected] = {}
    for run, trace in zip(plan, traces, strict=True):
        if trace is None:
            continue
        made = Collected((), trace.started, tuple(trace.rounds), trace.finished, trace.finished.decode_s)
        if run.case is run.group.cases[0]:
            plain[id(run.group)] = made
        beside = plain.get(id(run.group))
        if beside is not None:
            points.append(_point(run.case, made, beside, run.group.prompt, (run.group.repeat, run.group.temperature)))
    return points


def warm_ups_made(
    spec: SweepSpec, plan: Sequence[PlannedRun], traces: Sequence[Trace | None], reasons: Sequence[str]
) -> list[WarmUp]:
    """Of every drafter of the sweep the header of its first run, or why it has none."""
    met = []
    for drafter in every_drafter(spec):
        asked = _cases(spec, drafter)
        of_it = [at for at, run in enumerate(plan) if run.case in asked]
        header = next((trace.started for at in of_it if (trace := traces[at]) is not None), None)
        reason = "" if header else next((reasons[at] for at in of_it if reasons[at]), "it was not run.")
        met.append(WarmUp(drafter, title(asked[0]), header, reason))
    return met


def _cost(rounds: Sequence[Round]) -> RunCost:
    passes = [pass_ for this in rounds for pass_ in this.drafted.passes]
    return RunCost(
        draft_s=sum(this.drafted.seconds for this in rounds),
        target_s=sum(this.scored.seconds for this in rounds),
        judge_s=sum(this.judged.seconds for this in rounds),
        commit_s=sum(this.committed.seconds for this in rounds),
        draft_passes=len(passes),
        draft_pass_s=sum(pass_.seconds for pass_ in passes),
        target_rows=sum(this.scored.target_pass.rows for this in rounds),
        target_pass_s=sum(this.scored.target_pass.seconds for this in rounds),
    )


def every_drafter(spec: SweepSpec) -> tuple[SweepDrafter, ...]:
    """Plain decoding first, then the drafters that the sweep asks for."""
    return (SweepDrafter(BASELINE, {}, None), *(drafter for drafter in spec.drafters if drafter.name != BASELINE))


def warm_up(source: TraceSource, spec: SweepSpec, cancelled: Callable[[], bool] = lambda: False) -> Iterator[WarmUp]:
    """One warm-up each; ends early when cancelled. Raises BenchError where plain decoding cannot run, OptionError for
    an unknown prompt."""
    asked = [_requests(spec, _cases(spec, drafter), prompts_of(source, spec)[0])[0] for drafter in every_drafter(spec)]
    yield from at_once(source, partial(_warm_ups, spec), asked, cancelled)


def _warm_ups(spec: SweepSpec, source: TraceSource, cancelled: Callable[[], bool]) -> Iterator[WarmUp]:
    prompt = prompts_of(source, spec)[0]
    for drafter in every_drafter(spec):
        asked = _cases(spec, drafter)
        first = first_run(source, _requests(spec, asked, prompt), cancelled)
        if first is None:
            return
        if drafter.name == BASELINE and first.started is None:
            raise BenchError(f"plain decoding, which everything is compared with, cannot run: {first.reason}")
        yield WarmUp(drafter, title(asked[0]), first.started, first.reason)


def runnable(spec: SweepSpec, warm_ups: Sequence[WarmUp]) -> SweepSpec:
    """The sweep of those that ran. Raises BenchError, with the first reason, where that is plain decoding alone."""
    if len(warm_ups) < len(every_drafter(spec)):
        raise BenchError("the sweep was stopped while warming up, before anything was measured; give it more time.")
    ran = tuple(warmed.drafter for warmed in warm_ups if warmed.started is not None and warmed.drafter.name != BASELINE)
    if not ran:
        reason = next(warmed.reason for warmed in warm_ups if warmed.reason)
        raise BenchError(f"no drafter of the sweep can run here; the first one: {reason}")
    return replace(spec, drafters=ran)


def _cases(spec: SweepSpec, drafter: SweepDrafter) -> tuple[SweepCase, ...]:
    plain, *drafting = cases(replace(spec, drafters=(drafter,)))
    return tuple(drafting) or (plain,)


def _requests(spec: SweepSpec, asked: Sequence[SweepCase], prompt: PromptCard) -> list[RunRequest]:
    """One short run of every case at every temperature."""
    tokens = min(WARM_UP_TOKENS, spec.max_new_tokens)
    return [
        replace(on(prompt, request_for(spec, case, temperature)), max_new_tokens=tokens)
        for case in asked
        for temperature in spec.temperatures
    ]
