"""`bench.profile`: everything takes turns, the first turn does not count, and what a stop leaves is kept."""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import pytest
import torch

from specviz.bench.core.passes import pass_clock, work_clock
from specviz.bench.profile import measure as profiling
from specviz.bench.profile.measure import Probe, ceiling, command_of, machine_name, probes, profile
from specviz.errors import OptionError
from specviz.protocol.profiles import Ceiling, PassTime, ProfileRequest, dumps
from tests.curves import MACHINE, MODEL

REQUEST = ProfileRequest(rows=(1, 4), contexts=(10,), repeats=3, device="cpu", dtype="float32")


@dataclass
class Machinery:
    """Passes of n seconds on a clock of its own; the first of each takes a hundred more."""

    sizes = MODEL
    device = torch.device("cpu")
    dtype = torch.float32
    way = "engine"
    cuda_graphs = False
    dtype_why = "its weights are stored so"
    order: list[object] = field(default_factory=list)

    def pass_timer(self, context, batch, n, clock):
        def time_s():
            first = n not in self.order
            self.order.append(n)
            return float(n) + 100 * first

        return time_s


@pytest.fixture
def machinery(monkeypatch):
    """A model and two probes: 80 bytes in a fixed second, 6 operations in a fixed second."""
    made = Machinery()
    two = [Probe("reading", 80.0, "a read", lambda: None), Probe("arithmetic", 6.0, "a product", lambda: None)]
    monkeypatch.setattr(profiling, "open_model", lambda request, load: made)
    monkeypatch.setattr(profiling, "probes", lambda device, dtype: two)

    def timer(probe, device, clock):
        return lambda: made.order.append(probe.kind) or 1.0

    monkeypatch.setattr(profiling, "_probe_timer", timer)
    return made


def test_everything_takes_turns_from_another_start_and_warm_ups_do_not_count(machinery):
    *_, last = profile(REQUEST, None)
    assert machinery.order[:8] == [4, 1, "reading", "arithmetic", 1, "reading", "arithmetic", 4]
    assert last.curve.rows == (PassTime(1, 10, 1, 1.0, 1.0, 1.0, 3), PassTime(4, 10, 1, 4.0, 4.0, 4.0, 3))
    assert last.curve.dtype_why == "its weights are stored so"
    assert last.curve.reading == Ceiling(80.0, 80.0, 80.0, "a read")
    assert last.curve.arithmetic == Ceiling(6.0, 6.0, 6.0, "a product")
    assert last.curve.complete


def test_progress_counts_every_pass_and_the_warm_ups(machinery):
    steps = list(profile(REQUEST, None))
    assert (steps[0].done, steps[-1].done, steps[-1].total) == (1, 16, 16)


def test_the_curve_can_be_written(machinery):
    *_, last = profile(REQUEST, None)
    assert '"name": "toy"' in dumps(last.curve)


def test_a_stop_keeps_what_was_timed_often_enough(machinery):
    """Repeats of four: stopped when three are done and one width of the fourth."""
    request = replace(REQUEST, repeats=4)
    *_, last = profile(request, None, lambda: len(machinery.order) >= 17)
    assert not last.curve.complete
    assert {one.n: one.repeats for one in last.curve.rows} == {1: 3, 4: 4}


def test_a_stop_before_three_repeats_leaves_nothing(machinery):
    *_, last = profile(REQUEST, None, lambda: len(machinery.order) >= 9)
    assert last.curve is None


def test_the_lane_is_held_while_a_pass_runs_and_free_between(machinery):
    held = []

    class Lane:
        def __enter__(self):
            held.append(True)

        def __exit__(self, *error):
            held.append(False)

    for _ in profile(REQUEST, None, lane=Lane()):
        assert held[-1] is False
    assert held.count(True) == 17, "16 passes and the loading"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"rows": ()}, "rows is"),
        ({"rows": (0,)}, "rows is"),
        ({"contexts": (-1,)}, "contexts is"),
        ({"batches": (0,)}, "batches is"),
        ({"repeats": 2}, "at least 3"),
        ({"rows": tuple(range(1, 2003))}, "a file holds"),
    ],
)
def test_what_cannot_be_measured_is_refused(machinery, changes, reason):
    with pytest.raises(OptionError, match=reason):
        list(profile(replace(REQUEST, **changes), None))


def test_the_faster_way_to_read_is_the_ceiling():
    slow, fast = (Probe("reading", 10.0, how, lambda: None) for how in ("slow", "fast"))
    assert ceiling("reading", [(slow, [2.0, 2.0]), (fast, [1.0, 1.0])]).how == "fast"


def test_probes_read_and_multiply_what_they_say(monkeypatch):

    monkeypatch.setattr(profiling, "READ_BYTES", {"cpu": 1 << 20})
    monkeypatch.setattr(profiling, "SIDE", {"cpu": 8})
    found = probes(torch.device("cpu"), torch.float32)
    assert [(one.kind, one.amount) for one in found] == [
        ("reading", 2.0**20),
        ("reading", 2.0**20),
        ("arithmetic", 1024),
    ]
    assert [float(torch.as_tensor(one.run()).sum()) for one in found] == [2.0**18, 2.0**18, 512.0]


def test_a_processor_is_named_with_cores_vectors_and_threads(monkeypatch):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    assert machine_name(replace(MACHINE, processor="Some(R) CPU")) == "2-core Some CPU, AVX-512, 1 thread"
    assert machine_name(replace(MACHINE, device="cuda:0", processor="Some GPU")) == "Some GPU"


def test_the_command_names_what_is_not_default_and_no_folder():
    request = replace(REQUEST, target="/home/somebody/models/mine", repeats=ProfileRequest().repeats)
    assert command_of(request, "mine", MACHINE) == (
        "specviz profile --target mine --rows 1,4 --contexts 10 --threads 1 --device cpu --dtype float32"
    )


def test_one_thread_of_a_processor_is_timed_by_the_time_it_worked(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    assert pass_clock(SimpleNamespace(type="cpu"))[1] == "thread"
    assert pass_clock(SimpleNamespace(type="cuda"))[1] == "wall"
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    assert pass_clock(SimpleNamespace(type="cpu"))[1] == "wall"


def test_work_on_one_thread_at_a_time_is_timed_by_what_the_process_worked(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    assert work_clock(SimpleNamespace(type="cpu"))[1] == "process"
    assert work_clock(SimpleNamespace(type="cuda"))[1] == "wall"
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    assert work_clock(SimpleNamespace(type="cpu"))[1] == "wall"
