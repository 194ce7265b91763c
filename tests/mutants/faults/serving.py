"""Faults of a served page: who fills it, what goes on unheard, what stays."""

from __future__ import annotations

from tests.mutants.faults.fault import Fault

QUEUE = "tests/app/page/test_queue.py"
NETWORK = "tests/app/page/test_network.py"
JOBS = "tests/app/parts/test_jobs.py"

FAULTS: tuple[Fault, ...] = (
    Fault(
        "queue: what nobody comes to hear goes on",
        "specviz/app/page/queue.py",
        "> UNHEARD_S:",
        "> 1e9:",
        (QUEUE,),
    ),
    Fault(
        "queue: a waiting session's next job waits too",
        "specviz/app/page/queue.py",
        "own >= OWN_OF.get(fn.concurrency_id, OWN) + free",
        "own > OWN_OF.get(fn.concurrency_id, OWN) + free",
        (QUEUE,),
    ),
    Fault(
        "queue: networks take no turns",
        "specviz/app/page/queue.py",
        "self._turns[network] = self._turn",
        "self._turns[network] = 0",
        (QUEUE,),
    ),
    Fault(
        "queue: work does not know its job",
        "specviz/app/page/queue.py",
        "CURRENT.set(job)",
        "CURRENT.get(None)",
        (QUEUE,),
    ),
    Fault(
        "network: the first address that the header names counts",
        "specviz/app/page/network.py",
        "(*reversed(named), connected)",
        "(*named, connected)",
        (NETWORK,),
    ),
    Fault(
        "jobs: a visitor's own stop is an error",
        "specviz/app/parts/cancellation.py",
        "if not self._event.is_set() and self._job.is_over():",
        "if self._job.is_over():",
        (JOBS,),
    ),
)
