"""Faults of what is spread over workers, and of what the server keeps of its visitors."""

from __future__ import annotations

from tests.mutants.faults.fault import Fault

SPREAD = "tests/bench/sweep/test_spread.py"

ZERO = "tests/live/test_zero.py"

FAULTS = (
    Fault(
        "spread: what a lost worker leaves over is forgotten",
        "specviz/bench/sweep/spread.py",
        "self._open.insert(0, group)",
        "self._changed.notify_all()",
        (SPREAD,),
    ),
    Fault(
        "spread: the rest of a prompt is measured against another worker's plain run",
        "specviz/bench/sweep/runner.py",
        "again = [baseline] if wanted and wanted[0] is not baseline else []",
        "again: list[SweepCase] = []",
        (SPREAD,),
    ),
    Fault(
        "spread: a worker with other weights measures too",
        "specviz/bench/sweep/spread.py",
        "check_alike(first.result, ready.result)",
        "check_alike(first.result, first.result)",
        (SPREAD,),
    ),
    Fault(
        "spread: workers of a continued result are numbered from the start again",
        "specviz/bench/sweep/spread.py",
        "worker=earlier + (made.point.worker or 0)",
        "worker=made.point.worker or 0",
        (SPREAD,),
    ),
    Fault(
        "sessions: closed pages are kept for ever",
        "specviz/app/page/sessions.py",
        "self.session_data.pop(session_id, None)",
        "self.session_data.get(session_id, None)",
        ("tests/load/test_load.py",),
    ),
    Fault(
        "sessions: every control that an answer names is kept",
        "specviz/app/page/sessions.py",
        "or _settings(known) != _settings(value)",
        "or known is not value",
        ("tests/load/test_load.py",),
    ),
    Fault(
        "cancellation: work that begins after its visitor has left goes on unseen",
        "specviz/app/job.py",
        "event = self._gone.get(visitor) or self._events.setdefault(visitor, Event())",
        "event = self._events.setdefault(visitor, Event())",
        ("tests/app/test_building.py",),
    ),
    Fault(
        "zerogpu: a race takes a loan for each of its runs",
        "specviz/bench/race.py",
        "yield from at_once(source, partial(_laps, spec), requests, cancelled)",
        "yield from _laps(spec, source, cancelled)",
        (ZERO,),
    ),
    Fault(
        "zerogpu: work that was stopped goes on",
        "specviz/live/zero.py",
        "return self.is_late or not self._going.exists()",
        "return self.is_late",
        (ZERO,),
    ),
    Fault(
        "zerogpu: the page's own process loads its models for the device",
        "specviz/live/zero.py",
        'hub_models=hub_models, device="cpu")',
        "hub_models=hub_models)",
        (ZERO,),
    ),
    Fault(
        "zerogpu: what the engine refuses is told by its class alone",
        "specviz/live/zero.py",
        "        yield Refused(str(error))\n        return",
        "        raise RuntimeError(str(error)) from error",
        (ZERO,),
    ),
    Fault(
        "zerogpu: nobody knows whose time is lent",
        "specviz/app/job.py",
        "collect = partial(copy_context().run, self._collect)",
        "collect = self._collect",
        (ZERO,),
    ),
)
