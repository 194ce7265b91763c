"""Workers from Ray: one actor each, on the machines of a cluster or on the cores of this one.

Place in the flow: hands workers to `spread.py`. Ray is an optional extra, imported only when a sweep is spread.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from specviz.bench.core.on_ray import LOCAL, joined, result_of
from specviz.bench.sweep.runner import SweepGroup
from specviz.bench.sweep.spread import Keep, SpreadSweep
from specviz.bench.sweep.workplace import Made, Ready, Workplace
from specviz.protocol.runs import TraceSource
from specviz.protocol.sweeps.definition import SweepDefinition
from specviz.protocol.sweeps.spec import RunKey, SweepSpec


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
def spread(
    cluster: Cluster, make: Callable[[], TraceSource], say: Callable[[str], None], keep: Keep | None = None
) -> Iterator[SpreadSweep]:
    """A sweep on that cluster; all workers are gone at the end. `make` is called in each worker, `keep` here with the
    trace of every run.

    Raises BenchError where Ray is not installed, or no cluster answers.
    """
    with joined(cluster.address, cluster.threads) as ray:
        kind = ray.remote(Workplace).options(
            num_cpus=cluster.threads, num_gpus=cluster.gpus, scheduling_strategy="SPREAD", max_restarts=0
        )
        sweep = SpreadSweep(lambda: RayWorker(ray, kind.remote(make)), _places(ray, cluster), say, keep)
        try:
            yield sweep
        finally:
            sweep.end()


class RayWorker:
    """A `Workplace` in a process of Ray's. See `spread.Remote`."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray, self._actor = ray, actor

    def prepare(self, definition: SweepDefinition, command: str) -> Ready:
        ready: Ready = result_of(self._ray, self._actor.prepare.remote(definition, command))
        return ready

    def measure(self, spec: SweepSpec, group: SweepGroup, have: frozenset[RunKey], keeps: bool) -> Iterator[Made]:
        stream = self._actor.measure.options(num_returns="streaming").remote(spec, group, have, keeps)
        for one in stream:
            yield result_of(self._ray, one)

    def end(self) -> None:
        self._ray.kill(self._actor)


def _places(ray: Any, cluster: Cluster) -> int:
    if cluster.workers:
        return cluster.workers
    if cluster.address == LOCAL:
        return max(1, (os.cpu_count() or 1) // cluster.threads)
    return max(1, sum(bool(node["Alive"]) for node in ray.nodes()))
