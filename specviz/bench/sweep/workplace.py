"""What one worker of a spread sweep does: warm up, say on what it runs, measure the groups it is given.

Place in the flow: made by `on_ray.py` in a process of its own, perhaps on another machine; handed to `spread.py`.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from specviz.bench.sweep.runner import SweepGroup, measured
from specviz.bench.sweep.warm_up import runnable, warm_up
from specviz.errors import BenchError, SpecVizError
from specviz.protocol.runs import PromptCard, TraceSource
from specviz.protocol.sweeps.definition import SweepDefinition, expand
from specviz.protocol.sweeps.points import SweepPoint
from specviz.protocol.sweeps.result import SweepResult, Worker, introduce
from specviz.protocol.sweeps.spec import RunKey, SweepSpec, prompts_of
from specviz.trace import codec
from specviz.trace.events import Trace


@dataclass(frozen=True, slots=True)
class Ready:
    """A worker that has warmed up."""

    result: SweepResult
    """its sweep before the first point: what is asked, on what it runs, who cannot run there"""
    spec: SweepSpec
    """of those that can"""
    prompts: tuple[PromptCard, ...]
    worker: Worker


@dataclass(frozen=True, slots=True)
class Made:
    """A run that is done."""

    point: SweepPoint
    trace: bytes = b""
    """as a `.json.gz` holds it, where traces are kept"""


class Workplace:
    """One worker. Errors leave it as BenchError: other errors' own fields need not survive the way."""

    def __init__(self, make: Callable[[], TraceSource]) -> None:
        self._source = make()

    def prepare(self, definition: SweepDefinition, command: str) -> Ready:
        """Every drafter once, unmeasured. Raises BenchError where the sweep cannot be made here."""
        try:
            spec = expand(definition, self._source.catalog())
            warm_ups = list(warm_up(self._source, spec))
            spec = runnable(spec, warm_ups)
            result = introduce(self._source, definition, spec, warm_ups, command)
            prompts = tuple(prompts_of(self._source, spec))
        except SpecVizError as error:
            raise BenchError(str(error)) from None
        about = result.provenance
        worker = Worker(socket.gethostname(), os.getpid(), about.created, about.machine)
        return Ready(result, spec, prompts, worker)

    def measure(
        self, spec: SweepSpec, group: SweepGroup, have: Collection[RunKey], keeps: bool = False
    ) -> Iterator[Made]:
        """The runs of the group that are not in `have`, each as soon as it is done; `keeps`: with their traces."""
        traces: list[bytes] = []

        def keep(point: SweepPoint, trace: Trace) -> None:
            traces.append(codec.packed(trace))

        try:
            for point in measured(self._source, spec, group, have, keep=keep if keeps else None):
                yield Made(point, traces.pop() if keeps else b"")
        except SpecVizError as error:
            raise BenchError(str(error)) from None
