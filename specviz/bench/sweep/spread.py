"""A sweep spread over workers: its groups handed out one by one, the points as they come, the lost ones replaced.

    groups ─► a free worker each ─► points, one by one ─► whoever asked
      ▲            │ it is lost
      └────────────┘ what of its group is not there yet, for the next one that is free

A group (one prompt's contestants) stays on one worker, so every ratio is of one machine; which one, each point says. A
worker that is lost loses the run it was in, and another takes its place. Each is looked after by a thread of its own.
Workers come from Ray, one actor each, on the machines of a cluster or on the cores of this one; an optional extra,
imported only when a sweep is spread.
"""

from __future__ import annotations

import os
import queue
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Condition, Thread
from typing import Any, Protocol

from specviz.bench.core.on_ray import LOCAL, MOST_LOST, WorkerLostError, joined, result_of
from specviz.bench.sweep.runner import SweepGroup, groups, keys
from specviz.bench.sweep.workplace import Made, Ready, Workplace
from specviz.errors import BenchError
from specviz.protocol.runs import TraceSource
from specviz.protocol.sweeps.definition import RunKey, SweepDefinition, SweepSpec
from specviz.protocol.sweeps.points import SweepPoint
from specviz.protocol.sweeps.result import Worker, check_alike

LOOK_S = 0.2
"""how often a sweep that waits looks whether it was stopped"""
LEAVE_S = 10.0
"""longest wait for the thread of a worker that was stopped"""
SLOW_START_S = 60.0
"""so long without any worker is worth a word"""


Keep = Callable[[SweepPoint, bytes], None]
"""what becomes of the runs' traces, each as a `.json.gz` holds it"""


class Remote(Protocol):
    """A worker in another process. Its methods wait, and raise BenchError as a `Workplace` does, or WorkerLostError."""

    def prepare(self, definition: SweepDefinition, command: str) -> Ready: ...

    def measure(self, spec: SweepSpec, group: SweepGroup, have: frozenset[RunKey], keeps: bool) -> Iterator[Made]: ...

    def end(self) -> None:
        """Stop it at once, whatever it does."""
        ...


class SpreadSweep:
    """One sweep in progress: `prepare`, then `points`, at last `end`."""

    def __init__(
        self, hire: Callable[[], Remote], places: int, say: Callable[[str], None], keep: Keep | None = None
    ) -> None:
        """`hire` gives a new worker; so many work at a time; `say` tells the user a sentence; `keep` gets every run's
        trace before its point is yielded, and without it none are recorded."""
        self.workers: list[Worker] = []
        """everyone who was ready, in that order, the lost ones among them"""
        self._hire, self._say, self._keep = hire, say, keep
        self._changed = Condition()
        self._open: list[SweepGroup] | None = None
        self._busy = 0
        self._first: Ready | None = None
        self._have: set[RunKey] = set()
        self._losses: dict[RunKey, int] = {}
        self._found: queue.Queue[Made | BenchError] = queue.Queue()
        self._problem = "they could not be started; Ray's log says more."
        """why the last one that is gone is gone"""
        self._ended = False
        self._remotes: list[Remote] = []
        self._threads = [Thread(target=self._place, name=f"specviz-worker-{i}", daemon=True) for i in range(places)]
        self._task: tuple[SweepDefinition, str]

    def prepare(self, definition: SweepDefinition, command: str, cancelled: Callable[[], bool]) -> Ready:
        """Start the workers and wait for the first that has warmed up. Raises BenchError where none can."""
        self._task = (definition, command)
        for thread in self._threads:
            thread.start()
        begun, said = time.monotonic(), False
        with self._changed:
            while self._first is None:
                if cancelled():
                    raise BenchError("the sweep was stopped while warming up, before anything was measured.")
                if not self._staffed:
                    raise BenchError(self._problem)
                if not said and time.monotonic() - begun > SLOW_START_S:
                    said = True
                    self._say("no worker is ready yet; `ray status` shows whether the cluster has free cores.")
                self._changed.wait(LOOK_S)
            return self._first

    def points(self, cancelled: Callable[[], bool], done: Sequence[SweepPoint], earlier: int) -> Iterator[SweepPoint]:
        """What `done` does not hold, in the order in which it is measured; ends quietly when cancelled. `earlier`:
        workers of earlier processes, whose numbers come first. Raises BenchError where a run fails or nobody is left
        who could run."""
        assert self._first is not None, "prepared first"
        have = keys(done)
        with self._changed:
            self._have = have
            self._open = [group for group in groups(self._first.prompts, self._first.spec) if group.missing(have)]
            self._changed.notify_all()
        while not cancelled():
            try:
                made = self._found.get(timeout=LOOK_S)
            except queue.Empty:
                with self._changed:
                    if self._found.empty() and self._over:
                        return
                    if self._found.empty() and not self._staffed:
                        raise BenchError(f"no worker is left: {self._problem}") from None
                continue
            if isinstance(made, BenchError):
                raise made
            if self._keep is not None:
                self._keep(made.point, made.trace)
            yield replace(made.point, worker=earlier + (made.point.worker or 0))

    def end(self) -> None:
        """Stop everyone, and wait for their threads: one that ended its worker later would ask a cluster that has been
        left, and Ray would join it again for that."""
        with self._changed:
            self._ended = True
            remotes = list(self._remotes)
            self._changed.notify_all()
        for remote in remotes:
            remote.end()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(LEAVE_S)

    @property
    def _over(self) -> bool:
        return self._open is not None and not self._open and not self._busy

    @property
    def _staffed(self) -> bool:
        """Whether somebody still works or tries to begin."""
        return any(thread.is_alive() for thread in self._threads)

    # --- one place, in its thread ----------------------------------------------------------------------------------

    def _place(self) -> None:
        """Worker after worker until the sweep is over; usually one is enough."""
        unready = 0
        while not self._ended and not self._over and unready < MOST_LOST:
            number = None
            remote = self._hire()
            with self._changed:
                self._remotes.append(remote)
                if self._ended:  # `end` did not know of it
                    remote.end()
                    return
            try:
                number = self._enlist(remote.prepare(*self._task))
                while (group := self._take()) is not None:
                    self._measure(remote, group, number)
                return
            except WorkerLostError as error:
                unready += number is None
                self._lost(number, str(error))
            except BenchError as error:  # this worker cannot make the sweep; another machine's may
                self._lost(number, str(error))
                return
            finally:
                remote.end()

    def _enlist(self, ready: Ready) -> int:
        """The number of a worker that is ready. Raises BenchError where it would measure something else than the
        first."""
        with self._changed:
            first = self._first = self._first or ready
            if ready is not first:
                check_alike(first.result, ready.result)
                if ready.spec != first.spec:
                    lacks = {absent.name: absent.reason for absent in ready.result.absent}
                    raise BenchError(f"it cannot run what the first one runs: {lacks}")
            self.workers.append(ready.worker)
            self._changed.notify_all()
            return len(self.workers) - 1

    def _take(self) -> SweepGroup | None:
        """The next group; waits while others are still measured, because a lost worker gives its own back."""
        with self._changed:
            while self._open is None or (not self._open and self._busy):
                if self._ended:
                    return None
                self._changed.wait(LOOK_S)
            if not self._open or self._ended:
                return None
            self._busy += 1
            return self._open.pop(0)

    def _measure(self, remote: Remote, group: SweepGroup, number: int) -> None:
        """One group's runs, handed on as they come. What a lost worker leaves over is open again."""
        first = self._first
        assert first is not None
        try:
            have = frozenset(key for key in map(group.key, group.cases) if key in self._have)
            for made in remote.measure(first.spec, group, have, self._keep is not None):
                with self._changed:
                    self._have |= keys([made.point])
                self._found.put(replace(made, point=replace(made.point, worker=number)))
        except WorkerLostError:
            self._give_back(group)
            raise WorkerLostError(f"lost while it measured prompt '{group.prompt.id}'") from None
        except BenchError as error:  # a run failed, as it would anywhere: the sweep ends, as it does on one machine
            self._found.put(error)
        finally:
            with self._changed:
                self._busy -= 1
                self._changed.notify_all()

    def _give_back(self, group: SweepGroup) -> None:
        with self._changed:
            plain = group.key(group.cases[0])
            self._losses[plain] = self._losses.get(plain, 0) + 1
            if self._losses[plain] >= MOST_LOST:
                self._found.put(
                    BenchError(
                        f"{MOST_LOST} workers were lost, one after another, while they measured prompt "
                        f"'{group.prompt.id}'; look at their machine's memory, or leave the prompt out."
                    )
                )
            elif self._open is not None and group.missing(self._have):
                self._open.insert(0, group)

    def _lost(self, number: int | None, why: str) -> None:
        """A worker has ended before the sweep did."""
        with self._changed:
            if self._ended:
                return
            self._problem = why
            if number is None:
                self._say(f"a worker could not begin: {why}")
            else:
                self.workers[number] = replace(self.workers[number], ended=why)
                self._say(f"worker {number + 1} is gone: {why}; what it had measured is kept.")
            self._changed.notify_all()


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
        for reference in stream:
            yield result_of(self._ray, reference)

    def end(self) -> None:
        self._ray.kill(self._actor)


def _places(ray: Any, cluster: Cluster) -> int:
    if cluster.workers:
        return cluster.workers
    if cluster.address == LOCAL:
        return max(1, (os.cpu_count() or 1) // cluster.threads)
    return max(1, sum(bool(node["Alive"]) for node in ray.nodes()))
