"""The Machine tab: what a curve is shown as, what is said about free nodes, and measuring, stopping and loading."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import pytest

from specviz.app.machine.tab import HERE, MachineActions
from specviz.app.machine.view import curve_csv, free_sentence, machine_figure, machine_table, machine_view, provenance
from specviz.app.runs.deferred import DeferredSource
from specviz.errors import ModelError
from specviz.protocol.profiles import Profiled, ProfileRequest, dumps
from specviz.theory import roofline as hardware
from specviz.theory.roofline import passes
from tests.app.doubles import ReplaySource, catalog, sample
from tests.curves import hardware_curve

VISITOR = SimpleNamespace(session_hash="visitor")


class Machine(ReplaySource):
    """Measures the toy curve in two steps; waits for a stop in between if `gate` is given."""

    def __init__(self, steps: list[Profiled], problem: str = "", hold: bool = False) -> None:
        super().__init__(sample())
        self.asked: list[ProfileRequest] = []
        self._steps, self._problem, self._hold = steps, problem, hold
        self.begun = Event()

    def profile(self, request: ProfileRequest, cancelled: Callable[[], bool] = lambda: False) -> Iterator[Profiled]:
        self.asked.append(request)
        yield from self._steps[:1]
        self.begun.set()
        while self._hold and not cancelled():
            Event().wait(0.01)
        if self._problem:
            raise ModelError(self._problem)
        yield from self._steps[1:]


@pytest.fixture(autouse=True)
def shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    curve = hardware_curve(name="shipped box")
    both = replace(curve, rows=curve.rows + hardware_curve({1: 30.0, 8: 31.0}, context=50).rows)
    monkeypatch.setattr(hardware, "curves", lambda: {"box": both})


def test_the_sentence_counts_the_nodes_beside_the_root() -> None:
    """Four rows within a tenth of one: the root and three nodes."""
    said = free_sentence("toy box", passes(hardware_curve()))
    assert said == (
        "3 nodes are free on toy box: a pass over 4 rows takes 1.08× as long (13 s), one over 8 rows 1.67× as "
        "long (20 s). Free means at most 10% more time than a pass over one row (12 s)."
    )


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ({1: 10.0, 2: 13.0}, "No node is free on toy box: a pass over 2 rows already takes 1.30× as long (13 s)."),
        ({1: 10.0, 2: 10.5}, "At least 1 node is free on toy box: the widest pass measured, over 2 rows, takes 1.05×"),
        (
            {1: 10.0, 2: 12.0, 4: 10.5, 8: 20.0},
            "3 nodes are free on toy box: a pass over 4 rows takes 1.05× as long (10.5 s), one over 8 rows 2.00× as "
            "long (20 s). Not at every width below: 2 rows take 1.20× as long (12 s).",
        ),
        ({1: 10.0}, "Only one width was measured on toy box"),
    ],
)
def test_the_sentence_says_plainly_where_there_is_no_such_node_or_no_such_measurement(
    steps: dict[int, float], words: str
) -> None:
    assert words in free_sentence("toy box", passes(hardware_curve(steps)))


def test_every_mark_says_how_its_ratio_is_made_and_the_line_how_it_is_modelled() -> None:
    view = machine_view(hardware_curve(), 10, 1)
    mark = view.passes[3]
    assert (mark.n, mark.median_ms, mark.roofline_ms) == (8, 20_000.0, 22_000.0)
    assert mark.explanation.endswith("t(8) / t(1) = 20 s / 12 s = 1.67")
    assert (view.knee, view.ridge, 4.0 in view.line.widths) == (4, 4.0, True)
    assert "t0 = 2 s, fitted at the first mark" in view.line.explanations[0]


def test_the_figure_has_marks_line_knee_and_ridge_on_logarithmic_axes() -> None:
    figure = machine_figure(machine_view(hardware_curve(), 10, 1))
    names = [trace.name for trace in figure.data]
    assert names == ["t(n), measured", "roofline, modelled", "knee: n = 4", "ridge: n = 4.0"]
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")
    assert list(figure.layout.yaxis.ticktext) == ["10000", "20000", "50000"]
    assert list(figure.layout.xaxis.ticktext) == ["1", "2", "4", "8", "16"]


def test_the_same_passes_on_another_processor_are_drawn_beside_them(monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = hardware_curve(), hardware_curve({1: 40.0, 8: 44.0}, name="other <box>")
    there = replace(there, machine=replace(there.machine, processor="another"))
    bfloat16 = replace(there, machine=replace(there.machine, dtype="bfloat16"))
    monkeypatch.setattr(hardware, "curves", lambda: {"here": here, "there": there, "shorter": bfloat16})
    view = machine_view(here, 10, 1)
    assert [(other.name, other.widths, other.ms) for other in view.others] == [
        ("other <box>", (1, 8), (40_000.0, 44_000.0))
    ]
    drawn = machine_figure(view)
    assert [trace.name for trace in drawn.data][1] == "t(n), other &lt;box&gt;"
    assert max(drawn.layout.yaxis.tickvals) == 50_000


def test_why_auto_took_the_number_format_is_said_where_it_chose() -> None:
    chosen = replace(hardware_curve(), dtype_why="its weights are <stored> so")
    assert "its weights are &lt;stored&gt; so" in provenance(machine_view(chosen, 10, 1))
    assert "number format" not in provenance(machine_view(hardware_curve(), 10, 1))


def test_a_ridge_beyond_the_measured_widths_is_not_drawn() -> None:
    figure = machine_figure(machine_view(hardware_curve({1: 12.0, 2: 12.5}), 10, 1))
    assert [trace.name for trace in figure.data][2:] == ["knee: n = 2"]


def test_one_width_alone_can_be_drawn() -> None:
    assert len(machine_figure(machine_view(hardware_curve({3: 12.0}), 10, 1)).data) == 3


def test_text_of_a_file_reaches_the_page_only_escaped() -> None:
    curve = hardware_curve(name="<script>1</script>")
    view = machine_view(replace(curve, command="<b>x</b>", model=replace(curve.model, name="<i>m</i>")), 10, 1)
    for text in (machine_table(view), provenance(view)):
        assert "<script>" not in text
        assert "<b>" not in text
        assert "<i>" not in text


def test_the_times_are_a_table_with_the_roofline_beside_them() -> None:
    lines = curve_csv(hardware_curve()).splitlines()
    assert lines[0] == "context,batch,n,median_s,low_s,high_s,repeats,ratio,roofline_s"
    assert lines[1] == "10,1,1,12.0,11.0,13.0,9,1.0,12.0"
    assert len(lines) == 6


def test_the_tab_opens_on_the_first_shipped_curve() -> None:
    shown = MachineActions(ReplaySource(sample())).open({}, None, None)
    assert shown["curve"].value == "shipped box · toy, float32"
    assert [one for one, _ in shown["setting"].choices] == ["10 cached rows, batch 1", "50 cached rows, batch 1"]
    assert "3 nodes are free on shipped box" in shown["sentence"]


def test_another_pass_of_the_same_curve_can_be_chosen() -> None:
    shown = MachineActions(ReplaySource(sample())).open({}, "shipped box · toy, float32", "50 cached rows, batch 1")
    assert "At least 7 nodes are free" in shown["sentence"]


def test_where_nothing_is_shipped_the_page_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "curves", dict)
    shown = MachineActions(ReplaySource(sample())).open({}, None, None)
    assert "press Measure here, or load one" in shown["sentence"]


def test_a_loaded_curve_is_shown_and_kept_beside_the_shipped_ones(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(dumps(hardware_curve({1: 5.0, 2: 9.0}, name="other box")), encoding="utf-8")
    actions = MachineActions(ReplaySource(sample()))
    shown = actions.load(str(path), {})
    assert "Showing the loaded curve of other box" in shown["message"]
    assert list(shown["own"]) == ["loaded: other box · toy, float32"]
    assert "No node is free on other box" in shown["sentence"]
    again = actions.load(str(path), shown["own"])
    assert list(again["own"]) == ["loaded: other box · toy, float32", "loaded: other box · toy, float32 (2)"]


@pytest.mark.parametrize(("content", "words"), [("{}", "no measured step-time curve"), ("<p>", "not valid JSON")])
def test_a_file_that_is_no_curve_leaves_the_page_as_it_was(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(content, encoding="utf-8")
    (changed,) = MachineActions(ReplaySource(sample())).load(str(path), {}).items()
    assert changed[0] == "message"
    assert words in changed[1]


def test_measuring_tells_progress_and_shows_the_curve() -> None:
    steps = [Profiled(1, 4, None), Profiled(4, 4, hardware_curve(name="this box"))]
    machine = Machine(steps)
    actions = MachineActions(machine)
    assert actions.can_measure
    *_, last = actions.measure({}, VISITOR)
    assert "Measured here, now." in last["message"]
    assert list(last["own"]) == ["measured here: this box · toy, float32"]
    assert "3 nodes are free on this box" in last["sentence"]
    assert (last["measure"].interactive, last["cancel"].interactive) == (True, False)
    assert machine.asked == [HERE]


def test_a_cancelled_measurement_keeps_what_it_has() -> None:
    machine = Machine([Profiled(3, 4, None), Profiled(3, 4, replace(hardware_curve(), complete=False))], hold=True)
    actions = MachineActions(machine)
    actions.arm(VISITOR)
    updates = actions.measure({}, VISITOR)
    next(updates)
    assert machine.begun.wait(5)
    actions.stop(VISITOR)
    *_, last = updates
    assert "Cancelled; what was timed before is shown." in last["message"]


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (Machine([Profiled(1, 4, None)], problem="no room."), "no room."),
        (Machine([Profiled(1, 4, None)]), "Cancelled before every width was timed three times"),
    ],
)
def test_what_could_not_be_measured_is_said_and_nothing_is_kept(machine: Machine, words: str) -> None:
    *_, last = MachineActions(machine).measure({}, VISITOR)
    assert words in last["message"].capitalize() or words in last["message"]
    assert "own" not in last


def test_a_source_without_a_machine_cannot_measure() -> None:
    actions = MachineActions(ReplaySource(sample()))
    assert not actions.can_measure
    *_, last = actions.measure({}, VISITOR)
    assert "specviz profile" in last["message"]


def test_the_page_measures_through_the_engine_once_it_is_loaded() -> None:
    machine = Machine([Profiled(4, 4, hardware_curve())])
    source = DeferredSource(lambda: machine, catalog())
    source.start(grace_s=0.0)
    assert [one.done for one in source.profile(HERE)] == [4]


def test_a_stop_while_the_engine_loads_ends_the_wait() -> None:
    source = DeferredSource(lambda: Machine([]), catalog())
    assert list(source.profile(HERE, lambda: True)) == []


def test_an_engine_without_a_machine_says_so() -> None:
    source = DeferredSource(lambda: ReplaySource(sample()), catalog())
    source.start(grace_s=0.0)
    with pytest.raises(ModelError, match="no machine behind this page"):
        list(source.profile(HERE))
