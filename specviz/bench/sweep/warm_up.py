"""The warm-up of a sweep: every drafter runs once unmeasured, which also shows who cannot run here.

Place in the flow: before `sweep`, which then measures those that ran. Knows nothing about torch, files or screens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from specviz.bench.core.deployable import check_deployable
from specviz.errors import BenchError, SpecVizError
from specviz.protocol.runs import PromptCard, RunRequest, TraceSource
from specviz.protocol.sweeps.points import BASELINE, title
from specviz.protocol.sweeps.result import Meeting
from specviz.protocol.sweeps.spec import SweepCase, SweepDrafter, SweepSpec, cases, prompts_of, request_for
from specviz.trace.events import Finished, Started

WARM_UP_TOKENS = 8


def everyone(spec: SweepSpec) -> tuple[SweepDrafter, ...]:
    """Plain decoding first, then the drafters that the sweep asks for."""
    return (SweepDrafter(BASELINE, {}, None), *(one for one in spec.drafters if one.name != BASELINE))


def meet(source: TraceSource, spec: SweepSpec, cancelled: Callable[[], bool] = lambda: False) -> Iterator[Meeting]:
    """One meeting each; ends early when cancelled. Raises BenchError where plain decoding cannot run, OptionError for
    an unknown prompt."""
    prompt = prompts_of(source, spec.prompt_ids)[0]
    for drafter in everyone(spec):
        if cancelled():
            return
        own = _cases(spec, drafter)
        started, reason = _first_run(source, spec, own, prompt, cancelled)
        if started is None and not reason:
            return
        if drafter.name == BASELINE and started is None:
            raise BenchError(f"plain decoding, which everything is compared with, cannot run: {reason}")
        yield Meeting(drafter, title(own[0]), started, reason)


def able(spec: SweepSpec, meetings: Sequence[Meeting]) -> SweepSpec:
    """The sweep of those that ran. Raises BenchError, with the first reason, where that is plain decoding alone."""
    if len(meetings) < len(everyone(spec)):
        raise BenchError("the sweep was stopped while warming up, before anything was measured; give it more time.")
    ran = tuple(one.drafter for one in meetings if one.started is not None and one.drafter.name != BASELINE)
    if not ran:
        reason = next(one.reason for one in meetings if one.reason)
        raise BenchError(f"no drafter of the sweep can run here; the first one: {reason}")
    return replace(spec, drafters=ran)


def _cases(spec: SweepSpec, drafter: SweepDrafter) -> tuple[SweepCase, ...]:
    plain, *own = cases(replace(spec, drafters=(drafter,)))
    return tuple(own) or (plain,)


def _first_run(
    source: TraceSource,
    spec: SweepSpec,
    own: Sequence[SweepCase],
    prompt: PromptCard,
    cancelled: Callable[[], bool],
) -> tuple[Started | None, str]:
    """The header of a short run; else the reason why some case cannot run; neither where it was cancelled."""
    asked = [
        replace(request_for(spec, case, temperature), prompt=prompt.text, prompt_name=prompt.id)
        for case in own
        for temperature in spec.temperatures
    ]
    for request in asked:
        reason = source.explain(request)
        if reason is not None:
            return None, reason
    return _run(source, replace(asked[0], max_new_tokens=min(WARM_UP_TOKENS, spec.max_new_tokens)), cancelled)


def _run(source: TraceSource, request: RunRequest, cancelled: Callable[[], bool]) -> tuple[Started | None, str]:
    started: Started | None = None
    try:
        for step in source.run(request, cancelled):
            if isinstance(step.event, Started):
                check_deployable(step.event)
                started = step.event
            elif isinstance(step.event, Finished) and step.event.reason == "failed":
                return None, step.event.message or "its run failed without a message."
            elif isinstance(step.event, Finished) and step.event.reason == "cancelled":
                return None, ""
    except SpecVizError as error:
        return None, str(error)
    return started, ""
