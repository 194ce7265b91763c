"""A sweep that the page is measuring: its warm-up and its runs in a thread of their own, looked at now and then, and
their traces in one zip where a visitor asks for them.

Place in the flow: `actions` starts one and shows what it says; the zip lies in the visitor's own folder, goes with it,
and the Analysis tab opens it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from specviz.app.analysis.library import MOST_TRACES
from specviz.app.job import Background, Switch
from specviz.app.look import notices
from specviz.bench.sweep.runner import Keep, sweep
from specviz.bench.sweep.warm_up import every_drafter, runnable, warm_up
from specviz.bench.sweep.workplace import trace_name
from specviz.errors import OptionError
from specviz.protocol.runs import TraceSource
from specviz.protocol.sweeps.definition import SweepDefinition
from specviz.protocol.sweeps.points import SweepPoint
from specviz.protocol.sweeps.result import SweepResult, WarmUp, continued, introduce
from specviz.protocol.sweeps.spec import SweepSpec
from specviz.trace import codec
from specviz.trace.events import Trace

PROGRESS_S = 0.25
CHART_S = 5.0
"""shortest time between two charts: drawing takes the same processor that is being measured"""
COMMAND = "the page's When-it-pays tab"


@dataclass(slots=True)
class RunningSweep:
    """A sweep in progress; a thread beside the page fills it."""

    definition: SweepDefinition
    kept: SweepResult | None = None
    """what it goes on with"""
    result: SweepResult | None = None
    """without its points; there once everyone has warmed up"""
    points: list[SweepPoint] = field(default_factory=list)
    keep: Keep | None = None
    """what becomes of the runs' traces; None: none are recorded"""


def measure(
    job: RunningSweep, source: TraceSource, spec: SweepSpec, stop: Switch, clock: Callable[[], float] = time.monotonic
) -> Iterator[tuple[str, bool]]:
    """Progress as HTML each quarter of a second, and whether it is time for another chart; the job's points grow on
    the way. Raises JobError where the sweep was ended before its end and not by the visitor."""
    done = tuple(job.points)
    settings, chart_at = len(every_drafter(spec)), clock()
    began: float | None = None
    for found in Background(_items(job, source, spec, stop), stop.set).look(PROGRESS_S):
        measured = [one for one in found if isinstance(one, SweepPoint)]
        if job.result is None or not measured:
            met = sum(isinstance(one, WarmUp) for one in found)
            began = clock() if began is None and job.result is not None else began
            yield notices.message(f"Warming up, {met} of {settings} settings…", "busy"), False
            continue
        now, fresh = clock(), len(done) + len(measured) > len(job.points)
        began = now if began is None else began
        job.points[:] = [*done, *measured]
        total = job.result.planned_runs
        left = (now - began) / len(measured) * (total - len(job.points)) if now > began else None
        drawn = fresh and now - chart_at >= CHART_S
        chart_at = now if drawn else chart_at
        yield notices.progress(len(job.points), total, left), drawn
    stop.check()


def _items(job: RunningSweep, source: TraceSource, spec: SweepSpec, stop: Switch) -> Iterator[WarmUp | SweepPoint]:
    """The warm-up and then the runs, in the thread beside the page."""
    done = tuple(job.points)
    warm_ups: list[WarmUp] = []
    for one in warm_up(source, spec, stop.is_set):
        warm_ups.append(one)
        yield one
    if stop.is_set():
        return
    spec = runnable(spec, warm_ups)
    fresh = introduce(source, job.definition, spec, warm_ups, COMMAND)
    job.result = fresh if job.kept is None else continued(job.kept, fresh)
    yield from sweep(source, spec, stop.is_set, done, job.keep)


ZIP = "traces.zip"


def check_count(runs: int) -> None:
    """Raises OptionError where a sweep makes more runs than the Analysis tab reads."""
    if runs > MOST_TRACES:
        raise OptionError(
            f"the sweep makes {runs} runs, but the traces of at most {MOST_TRACES} are kept; leave some runs out, or "
            "keep no traces."
        )


def zip_keeper(path: Path) -> Keep:
    """Adds each run to the zip at `path`; nothing once its folder is gone, because the visitor has left."""

    def keep(point: SweepPoint, trace: Trace) -> None:
        if path.parent.is_dir():
            with ZipFile(path, "a", ZIP_DEFLATED) as archive:
                archive.writestr(trace_name(point).removesuffix(".gz"), codec.dumps(trace))

    return keep
