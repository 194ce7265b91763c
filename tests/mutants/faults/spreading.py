"""Faults of what is spread over workers, and of what the server keeps of its visitors."""

from __future__ import annotations

from tests.mutants.faults.fault import Fault

SPREAD = "tests/bench/sweep/test_spread.py"

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
)
