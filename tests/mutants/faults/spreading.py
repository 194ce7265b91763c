"""Faults of what is spread over workers, and of what the server keeps of its visitors."""

from tests.mutants.faults.fault import Edits, edit

SPREAD = "tests/bench/sweep/test_spread.py"

ZERO = "tests/live/test_zero.py"

FAULTS: Edits = {
    ("specviz/bench/sweep/spread.py", SPREAD): {
        "spread: what a lost worker leaves over is forgotten": edit(
            "self._open.insert(0, group)", "self._changed.notify_all()"
        ),
        "spread: a worker with other weights measures too": edit(
            "check_alike(first.result, ready.result)", "check_alike(first.result, first.result)"
        ),
        "spread: workers of a continued result are numbered from the start again": edit(
            "worker=earlier + (made.point.worker or 0)", "worker=made.point.worker or 0"
        ),
    },
    ("specviz/bench/sweep/runner.py", SPREAD): {
        "spread: the rest of a prompt is measured against another worker's plain run": edit(
            "again = [baseline] if wanted and wanted[0] is not baseline else []", "again: list[SweepCase] = []"
        )
    },
    ("specviz/app/page/sessions.py", "tests/load/test_load.py"): {
        "sessions: closed pages are kept for ever": edit(
            "self.session_data.pop(session_id, None)", "self.session_data.get(session_id, None)"
        ),
        "sessions: every control that an answer names is kept": edit(
            "or _settings(known) != _settings(value)", "or known is not value"
        ),
    },
    ("specviz/app/job.py", "tests/app/test_building.py"): {
        "cancellation: work that begins after its visitor has left goes on unseen": edit(
            "event = self._gone.get(visitor) or self._events.setdefault(visitor, Event())",
            "event = self._events.setdefault(visitor, Event())",
        )
    },
    ("specviz/bench/race.py", ZERO): {
        "zerogpu: a race takes a loan for each of its runs": edit(
            "yield from at_once(source, partial(_laps, spec), requests, cancelled)",
            "yield from _laps(spec, source, cancelled)",
        )
    },
    ("specviz/live/zero.py", ZERO): {
        "zerogpu: work that was stopped goes on": edit(
            "return self.is_late or not self._going.exists()", "return self.is_late"
        ),
        "zerogpu: the page's own process loads its models for the device": edit(
            'hub_models=hub_models, device="cpu")', "hub_models=hub_models)"
        ),
        "zerogpu: what the engine refuses is told by its class alone": edit(
            "        yield Refused(str(error))\n        return", "        raise RuntimeError(str(error)) from error"
        ),
    },
    ("specviz/app/job.py", ZERO): {
        "zerogpu: nobody knows whose time is lent": edit(
            "collect = partial(copy_context().run, self._collect)", "collect = self._collect"
        )
    },
}
