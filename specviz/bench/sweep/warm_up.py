"""The warm-up of a sweep: every drafter runs once unmeasured, which also shows who cannot run here.

Place in the flow: before `sweep`, which then measures those that ran.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from specviz.bench.core.run import WARM_UP_TOKENS, first_run, on
from specviz.errors import BenchError
from specviz.protocol.runs import PromptCard, RunRequest, TraceSource
from specviz.protocol.sweeps.points import BASELINE, title
from specviz.protocol.sweeps.result import WarmUp
from specviz.protocol.sweeps.spec import SweepCase, SweepDrafter, SweepSpec, cases, prompts_of, request_for


def every_drafter(spec: SweepSpec) -> tuple[SweepDrafter, ...]:
    """Plain decoding first, then the drafters that the sweep asks for."""
    return (SweepDrafter(BASELINE, {}, None), *(drafter for drafter in spec.drafters if drafter.name != BASELINE))


def warm_up(source: TraceSource, spec: SweepSpec, cancelled: Callable[[], bool] = lambda: False) -> Iterator[WarmUp]:
    """One warm-up each; ends early when cancelled. Raises BenchError where plain decoding cannot run, OptionError for
    an unknown prompt."""
    prompt = prompts_of(source, spec)[0]
    for drafter in every_drafter(spec):
        own = _cases(spec, drafter)
        first = first_run(source, _requests(spec, own, prompt), cancelled)
        if first is None:
            return
        if drafter.name == BASELINE and first.started is None:
            raise BenchError(f"plain decoding, which everything is compared with, cannot run: {first.reason}")
        yield WarmUp(drafter, title(own[0]), first.started, first.reason)


def runnable(spec: SweepSpec, warm_ups: Sequence[WarmUp]) -> SweepSpec:
    """The sweep of those that ran. Raises BenchError, with the first reason, where that is plain decoding alone."""
    if len(warm_ups) < len(every_drafter(spec)):
        raise BenchError("the sweep was stopped while warming up, before anything was measured; give it more time.")
    ran = tuple(one.drafter for one in warm_ups if one.started is not None and one.drafter.name != BASELINE)
    if not ran:
        reason = next(one.reason for one in warm_ups if one.reason)
        raise BenchError(f"no drafter of the sweep can run here; the first one: {reason}")
    return replace(spec, drafters=ran)


def _cases(spec: SweepSpec, drafter: SweepDrafter) -> tuple[SweepCase, ...]:
    plain, *own = cases(replace(spec, drafters=(drafter,)))
    return tuple(own) or (plain,)


def _requests(spec: SweepSpec, own: Sequence[SweepCase], prompt: PromptCard) -> list[RunRequest]:
    """One short run of every case at every temperature."""
    tokens = min(WARM_UP_TOKENS, spec.max_new_tokens)
    return [
        replace(on(prompt, request_for(spec, case, temperature)), max_new_tokens=tokens)
        for case in own
        for temperature in spec.temperatures
    ]
