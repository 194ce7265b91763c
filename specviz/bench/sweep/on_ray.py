"""Workers from Ray: one actor each, on the machines of a cluster or on the cores of this one.

Place in the flow: hands workers to `spread.py`. Ray is an optional extra, imported only when a sweep is spread.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from specviz.bench.sweep.runner import SweepGroup
from specviz.bench.sweep.spread import SpreadSweep, WorkerLostError
from specviz.bench.sweep.workplace import Ready, Workplace
from specviz.errors import BenchError
from specviz.protocol.runs import TraceSource
from specviz.protocol.sweeps.definition import SweepDefinition
from specviz.protocol.sweeps.points import SweepPoint
from specviz.protocol.sweeps.spec import RunKey, SweepSpec

LOCAL = "local"
"""the address of a Ray that is started here, for this sweep alone"""
CLIENT = "ray://"


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where a sweep is spread to."""

    address: str
    """`host:6379`, `auto` for the cluster that this machine belongs to, or LOCAL"""
    workers: int = 0
    """how many processes measure at a time; 0: one on each machine, and of LOCAL one for each set of cores"""
    threads: int = 1
    """torch's in each worker, and the cores that Ray sets apart for it"""
    gpus: int = 0
    """that Ray sets apart for each worker"""


@contextmanager
def spread(cluster: Cluster, make: Callable[[], TraceSource], say: Callable[[str], None]) -> Iterator[SpreadSweep]:
    """A sweep on that cluster; all workers are gone at the end. `make` is called in each worker.

    Raises BenchError where Ray is not installed, or no cluster answers.
    """
    ray = _joined(cluster)
    try:
        kind = ray.remote(Workplace).options(
            num_cpus=cluster.threads, num_gpus=cluster.gpus, scheduling_strategy="SPREAD", max_restarts=0
        )
        sweep = SpreadSweep(lambda: RayWorker(ray, kind.remote(make)), _places(ray, cluster), say)
        try:
            yield sweep
        finally:
            sweep.end()
    finally:
        ray.shutdown()


class RayWorker:
    """A `Workplace` in a process of Ray's. See `spread.Remote`."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray, self._actor = ray, actor

    def prepare(self, definition: SweepDefinition, command: str) -> Ready:
        ready: Ready = self._get(self._actor.prepare.remote(definition, command))
        return ready

    def measure(self, spec: SweepSpec, group: SweepGroup, have: frozenset[RunKey]) -> Iterator[SweepPoint]:
        stream = self._actor.measure.options(num_returns="streaming").remote(spec, group, have)
        for one in stream:
            yield self._get(one)

    def end(self) -> None:
        self._ray.kill(self._actor)

    def _get(self, reference: Any) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except errors.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, BenchError):
                raise BenchError(str(cause)) from None
            raise BenchError(f"a worker failed with {type(cause).__name__}: {_first_line(cause)}") from error
        except errors.RayError as error:
            raise WorkerLostError(_first_line(error)) from None


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _joined(cluster: Cluster) -> Any:
    """Ray, connected."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # read when a cluster is started: no telemetry
    try:
        import ray
        import ray.exceptions
    except ImportError:
        raise BenchError("Ray is not installed here; `pip install 'specviz[ray]'`, on every machine.") from None
    if cluster.address.startswith(CLIENT):
        raise BenchError(
            f"--ray is '{cluster.address[:80]}', but points cannot come back one by one through Ray's client; run the "
            "command on a machine of the cluster, with --ray auto."
        )
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if cluster.address == LOCAL:
            ray.init(num_cpus=max(os.cpu_count() or 1, cluster.threads), include_dashboard=False, **quiet)
        else:
            ray.init(address=cluster.address, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise BenchError(
            f"no Ray cluster answers at '{cluster.address[:80]}' ({_first_line(error)[:200]}); start one with `ray "
            f"start --head`, or give --ray {LOCAL}."
        ) from None
    return ray


def _places(ray: Any, cluster: Cluster) -> int:
    if cluster.workers:
        return cluster.workers
    if cluster.address == LOCAL:
        return max(1, (os.cpu_count() or 1) // cluster.threads)
    return max(1, sum(bool(node["Alive"]) for node in ray.nodes()))
