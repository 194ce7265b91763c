"""A spread sweep with workers in this process: who measures what, who is lost, who is left out, and what stays."""

import gzip
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from threading import Event, Thread, current_thread, main_thread
from typing import Any

import pytest

from specviz.bench.core.on_ray import WorkerLostError
from specviz.bench.sweep.runner import SweepGroup
from specviz.bench.sweep.spread import Keep, SpreadSweep
from specviz.bench.sweep.workplace import Made, Ready, Workplace
from specviz.errors import BenchError
from specviz.protocol.runs import MethodDescription, RunRequest
from specviz.protocol.sweeps.definition import DrafterEntry, RunKey, SweepDefinition, SweepSpec
from specviz.protocol.sweeps.points import SweepPoint
from specviz.protocol.sweeps.result import continued, with_points
from tests.fake_source import MODEL_DRAFTER, NO_DRAFTER, FakeSource

DEFINITION = SweepDefinition(drafters=(DrafterEntry("model"),), gammas=(1, 3), prompts=("one", "two"))
RUNS = {(prompt, gamma): 1 for prompt in ("one", "two") for gamma in (None, 1, 3)}


@dataclass
class Source(FakeSource):
    """`model` and plain decoding."""

    drafters: tuple[MethodDescription, ...] = (MODEL_DRAFTER, NO_DRAFTER)


@dataclass
class Nearby:
    """A worker in this process. It is lost when it has handed over so many points of a prompt."""

    source: Any = field(default_factory=Source)
    lost: dict[str, int] = field(default_factory=dict)
    weights: str = ""
    refuses: str = ""

    def prepare(self, definition: SweepDefinition, command: str) -> Ready:
        if self.refuses:
            raise BenchError(self.refuses)
        self.workplace = Workplace(lambda: self.source)
        ready = self.workplace.prepare(definition, command)
        if not self.weights:
            return ready
        about = ready.result.provenance
        target = replace(about.target, weights_sha256=self.weights)
        return replace(ready, result=replace(ready.result, provenance=replace(about, target=target)))

    def measure(self, spec: SweepSpec, group: SweepGroup, have: frozenset[RunKey], keeps: bool) -> Iterator[Made]:
        for number, made in enumerate(self.workplace.measure(spec, group, have, keeps)):
            if self.lost.get(group.prompt.id, 99) <= number:
                raise WorkerLostError("its process is gone")
            yield made

    def end(self) -> None:
        """Nothing to stop."""


def never() -> bool:
    return False


def spread(hired: Sequence[Nearby], places: int, keep: Keep | None = None) -> tuple[SpreadSweep, list[str]]:
    """The workers in the order in which they are hired; and what the user is told."""
    told: list[str] = []
    rest = iter(hired)
    return SpreadSweep(lambda: next(rest), places, told.append, keep), told


def named(points: Sequence[SweepPoint]) -> Counter[tuple[str, int | None]]:
    return Counter((one.prompt, one.gamma) for one in points)


def test_every_run_hands_its_trace_over_before_its_point_also_where_a_worker_is_lost() -> None:
    kept: list[tuple[str, int | None]] = []

    def keep(point: SweepPoint, content: bytes) -> None:
        assert json.loads(gzip.decompress(content))["finished"]["reason"] == "length"
        kept.append((point.prompt, point.gamma))

    workers = Nearby(lost={"two": 1}), Nearby()
    sweep, _ = spread(workers, 1, keep)
    sweep.prepare(DEFINITION, "", never)
    for number, point in enumerate(sweep.points(never, (), 0), 1):
        assert (len(kept), kept[-1]) == (number, (point.prompt, point.gamma))
    assert Counter(kept) == RUNS
    assert {one.record for worker in workers for one in worker.source.requests[2:]} == {True}


def test_without_anybody_who_keeps_them_no_traces_are_recorded() -> None:
    worker = Nearby()
    sweep, _ = spread([worker], 1)
    sweep.prepare(DEFINITION, "", never)
    assert len(list(sweep.points(never, (), 0))) == 6
    assert {one.record for one in worker.source.requests[2:]} == {False}


def test_what_a_lost_worker_had_measured_is_kept_and_the_next_one_makes_the_rest() -> None:
    """The first is lost over `two` with one of three points handed over: four points are not measured again."""
    first, second = Nearby(lost={"two": 1}), Nearby()
    sweep, told = spread([first, second], 1)
    sweep.prepare(DEFINITION, "c", never)
    points = list(sweep.points(never, (), 0))
    assert named(points) == RUNS
    assert [one.worker for one in points] == [0, 0, 0, 0, 1, 1]
    assert told == ["worker 1 is gone: lost while it measured prompt 'two'; what it had measured is kept."]
    assert [one.ended for one in sweep.workers] == ["lost while it measured prompt 'two'", ""]
    measured = [request for request in second.source.requests[2:] if request.prompt_name == "two"]
    assert [one.drafter.name for one in measured] == ["none", "model", "model"], "plain decoding again, beside the rest"
    assert all(one.ratio == (1.0 if one.gamma is None else 2.0) for one in points)


def test_a_prompt_over_which_worker_after_worker_is_lost_ends_the_sweep() -> None:
    sweep, _ = spread([Nearby(lost={"two": 0}) for _ in range(4)], 1)
    sweep.prepare(DEFINITION, "c", never)
    found: list[SweepPoint] = []
    with pytest.raises(BenchError, match=r"3 workers were lost, one after another, while they measured prompt 'two'"):
        found.extend(sweep.points(never, (), 0))
    sweep.end()


def test_a_run_that_fails_ends_the_sweep_with_its_reason() -> None:
    class Failing(Source):
        def run(self, request: RunRequest, *rest: Any) -> Any:
            if request.prompt_name == "two":
                raise BenchError("the run of 'model' on prompt 'two' failed: out of luck")
            return super().run(request, *rest)

    sweep, _ = spread([Nearby(Failing())], 1)
    sweep.prepare(DEFINITION, "c", never)
    found: list[SweepPoint] = []
    with pytest.raises(BenchError, match="out of luck"):
        found.extend(sweep.points(never, (), 0))  # what came before the failure is there
    assert named(found) == {("one", gamma): 1 for gamma in (None, 1, 3)}
    sweep.end()


def test_a_stopped_sweep_goes_on_where_it_was_with_workers_numbered_after_the_first_ones() -> None:
    sweep, _ = spread([Nearby()], 1)
    ready = sweep.prepare(DEFINITION, "c", never)
    kept: list[SweepPoint] = []
    for point in sweep.points(lambda: len(kept) == 4, (), 0):
        kept.append(point)
    sweep.end()
    assert len(kept) == 4
    header = replace(ready.result, provenance=replace(ready.result.provenance, workers=tuple(sweep.workers)))
    again, _ = spread([Nearby()], 1)
    fresh = again.prepare(DEFINITION, "c", never).result
    rest = list(again.points(never, kept, 1))
    assert named([*kept, *rest]) == RUNS
    assert {one.worker for one in kept} == {0}
    assert {one.worker for one in rest} == {1}
    fresh = replace(fresh, provenance=replace(fresh.provenance, workers=tuple(again.workers)))
    whole = with_points(continued(with_points(header, kept), fresh), [*kept, *rest])
    assert (len(whole.provenance.workers), whole.complete) == (2, True)


def test_nobody_is_at_work_any_more_when_a_sweep_has_ended() -> None:
    """A thread that ended its worker later would ask a cluster that has been left."""

    class Slow(Nearby):
        def end(self) -> None:
            if current_thread() is not main_thread():
                time.sleep(0.3)

    sweep, _ = spread((Slow(), Slow()), 2)
    sweep.prepare(DEFINITION, "", never)
    next(sweep.points(never, (), 0))
    sweep.end()
    assert not any(thread.is_alive() for thread in sweep._threads)


def test_a_worker_that_is_hired_while_the_sweep_ends_is_ended_too() -> None:
    class Ended(Nearby):
        def end(self) -> None:
            ended.append(True)

        def prepare(self, definition: SweepDefinition, command: str) -> Ready:
            raise AssertionError("it was asked to prepare")

    ended: list[bool] = []
    sweep, _ = spread((), 1)
    begun, hire = Event(), Event()

    def hired() -> Ended:
        begun.set()
        assert hire.wait(20)
        return Ended()

    sweep._hire = hired
    sweep._threads[0].start()
    assert begun.wait(20)
    ending = Thread(target=sweep.end)
    ending.start()
    while not sweep._ended:
        time.sleep(0.01)
    hire.set()
    ending.join(20)
    assert ended == [True]
    assert not ending.is_alive()


def test_a_worker_with_other_weights_is_left_out_and_said() -> None:
    sweep, told = spread([Nearby(lost={"two": 1}), Nearby(weights="11")], 1)
    sweep.prepare(DEFINITION, "c", never)
    with pytest.raises(BenchError, match="no worker is left: the result was measured with another target"):
        list(sweep.points(never, (), 0))
    assert len(sweep.workers) == 1
    assert told[1].startswith("a worker could not begin: the result was measured with another target")


def test_where_no_worker_can_begin_the_reason_is_given() -> None:
    sweep, told = spread([Nearby(refuses="there is no target here."), Nearby(refuses="nor here.")], 2)
    with pytest.raises(BenchError, match="here"):
        sweep.prepare(DEFINITION, "c", never)
    assert len(told) == 2


def test_an_address_of_the_client_and_a_cluster_that_is_not_there_are_refused_with_the_cure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from specviz.bench.sweep.spread import Cluster
    from specviz.bench.sweep.spread import spread as on_ray

    with (
        pytest.raises(BenchError, match="run the command on a machine of the cluster"),
        on_ray(Cluster("ray://a:10001"), Source, print),
    ):
        pass
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(BenchError, match=r"pip install 'specviz\[ray\]'"), on_ray(Cluster("auto"), Source, print):
        pass
