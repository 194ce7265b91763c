"""What one worker of a spread sweep does: warm up, say on what it runs, measure its groups, and keep a trace per run.

Place in the flow: made by `spread.py` in a process of its own, perhaps on another machine. The
folder of traces is named after what was run; `specviz analyse FOLDER` reads it.
"""

from __future__ import annotations

import os
import re
import socket
import zlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from specviz.bench.sweep.runner import Keep, SweepGroup, measured, runnable, warm_up
from specviz.errors import BenchError, SpecVizError
from specviz.protocol.runs import PromptCard, TraceSource
from specviz.protocol.sweeps.definition import RunKey, SweepDefinition, SweepSpec, expand, prompts_of, run_key
from specviz.protocol.sweeps.points import SweepPoint
from specviz.protocol.sweeps.result import SweepResult, Worker, introduce
from specviz.trace import codec
from specviz.trace.events import Trace
from specviz.trace.files import replace_whole


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


def trace_keeper(folder: Path) -> Keep:
    """Writes each run into `folder`, which is made where it is not there. Raises OSError where it cannot be."""
    folder.mkdir(parents=True, exist_ok=True)

    def keep(point: SweepPoint, trace: Trace) -> None:
        codec.write(trace, folder / trace_name(point))

    return keep


def packed_keeper(folder: Path) -> Callable[[SweepPoint, bytes], None]:
    """The same for traces that come packed, from other processes."""
    folder.mkdir(parents=True, exist_ok=True)

    def keep(point: SweepPoint, content: bytes) -> None:
        replace_whole(folder / trace_name(point), content)

    return keep


def trace_name(point: SweepPoint) -> str:
    """`model-4-story-stormy-sophie-t0-r0-1f2e3d4c.json.gz`; the last part tells apart what the words leave alike."""
    key = run_key(point, point.prompt, point.repeat, point.temperature)
    words = [key[0], "" if point.gamma is None else str(point.gamma), point.prompt]
    words += [f"t{point.temperature:g}", f"r{point.repeat}", f"{zlib.crc32(repr(key).encode()):08x}"]
    return "-".join(re.sub(r"[^A-Za-z0-9.]+", "-", word).strip("-") for word in words if word) + ".json.gz"
