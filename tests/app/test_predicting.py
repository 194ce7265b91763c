"""*Predict for this machine*: the sweep that is shown, on the clock of this machine, beside what was measured."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from html import unescape
from threading import Event
from typing import Any

import pytest

from specviz.app.form.request import Limits
from specviz.app.machine.tab import MachineActions
from specviz.app.runs.deferred import DeferredSource
from specviz.app.runs.gallery import ShownSweep
from specviz.app.speedup.actions import OUTPUTS, SpeedupActions
from specviz.app.speedup.figure import speedup_figure, sweep_table
from specviz.app.speedup.predicting import progress
from specviz.app.speedup.view import speedup_view
from specviz.errors import ModelError
from specviz.protocol.clocks import Clocked, ClockRequest
from specviz.theory import machines
from specviz.theory.machines import sweep_of
from tests.app.doubles import ReplaySource, catalog, sample
from tests.app.lab.sweeps import drafted, plain, sweep_result
from tests.theory.test_sweep_clock import CLOCK

SWEEP = ShownSweep(sweep_result(plain(), drafted()), live=False)


@dataclass
class Visitor:
    session_hash: str = "visitor"


class Machine(ReplaySource):
    """Has the clock of `tests.theory.test_sweep_clock`; waits for a stop before the end if `hold` is set."""

    def __init__(self, problem: str = "", hold: bool = False) -> None:
        super().__init__(sample())
        self.asked: list[ClockRequest] = []
        self.begun = Event()
        self._problem, self._hold = problem, hold

    def clock(self, request: ClockRequest, cancelled: Callable[[], bool] = lambda: False) -> Iterator[Clocked]:
        self.asked.append(request)
        yield Clocked(1.0, 3.0, None)
        self.begun.set()
        while self._hold and not cancelled():
            Event().wait(0.01)
        if self._problem:
            raise ModelError(self._problem)
        if not cancelled():
            yield Clocked(3.0, 3.0, CLOCK)


def actions(source: ReplaySource, limits: Limits | None = None, shown: ShownSweep | None = SWEEP) -> SpeedupActions:
    return SpeedupActions(source, limits or Limits(), shown)


def last(updates: Iterator[tuple[object, ...]]) -> dict[str, Any]:
    *_, ending = updates
    return dict(zip(OUTPUTS, ending, strict=True))


def test_a_predicted_sweep_stands_beside_the_recorded_one_and_says_what_it_is() -> None:
    machine = Machine()
    ending = last(actions(machine).predict(Visitor()))
    assert unescape(ending["message"]).count(
        "Predicted, not measured, for Here from 3.0 s of timing: fastest is model with γ = 2, 1.25× plain decoding "
        "(recorded on Recorder: 1.33×)."
    )
    names = [trace.name for trace in ending["plot"].data]
    assert names == ["model, measured", "model, theory", "model, predicted here"]
    assert list(ending["plot"].data[2].y) == pytest.approx([1.25])
    assert ending["plot"].data[2].marker.symbol.endswith("-open")
    assert "1.25×" in ending["table"]
    assert ending["table"].count("predicted here") == 3
    assert "sv-badge-recorded" in ending["origin"]
    assert "predicted: Here, float32" in ending["origin"]
    assert machine.asked[0].rows == (1, 3)
    assert [ending[name].interactive for name in ("run", "cancel", "predict")] == [True, False, True]


def test_a_chart_without_a_prediction_has_none_of_its_marks_and_columns() -> None:
    view = speedup_view([plain(), drafted()])
    assert [trace.name for trace in speedup_figure(view).data] == ["model, measured", "model, theory"]
    assert "predicted here" not in sweep_table(view.rows)


def test_settings_without_a_length_are_predicted_in_their_columns() -> None:
    tree = drafted(label="tree", gamma=None)
    view = speedup_view([plain(), tree, replace(tree, label="bush")])
    expected = speedup_view([plain(), replace(tree, label="bush", ratio=0.5)])
    measured, predicted = speedup_figure(view, expected).data
    assert (list(measured.x), list(measured.customdata)) == ([1, 2], ["tree", "bush"])
    assert (list(predicted.x), list(predicted.y), list(predicted.customdata)) == ([2], [0.5], ["bush"])


def test_a_machine_that_needs_longer_than_three_seconds_is_told_of() -> None:
    assert progress(Clocked(1.0, 3.0, None)) == "Timing passes on this machine, 1.0 of 3 s…"
    assert "for 7.5 s: it is slow or busy" in progress(Clocked(7.5, 3.0, None))
    assert progress(Clocked(7.5, 3.0, CLOCK)).endswith("3.0 of 3 s…")


def test_a_stopped_prediction_shows_the_recorded_sweep_alone() -> None:
    machine = Machine(hold=True)
    tab = actions(machine)
    tab.arm(Visitor())
    updates = tab.predict(Visitor())
    next(updates)
    assert machine.begun.wait(5)
    tab.stop(Visitor())
    ending = last(updates)
    assert "nothing is predicted" in ending["message"]
    assert [trace.name for trace in ending["plot"].data] == ["model, measured", "model, theory"]
    assert ending["predict"].interactive


@pytest.mark.parametrize(
    ("source", "limits", "words"),
    [(Machine("no room."), Limits(), "No room."), (ReplaySource(sample()), Limits(), "`specviz predict`")],
)
def test_what_cannot_be_timed_is_said(source: ReplaySource, limits: Limits, words: str) -> None:
    assert words in unescape(last(actions(source, limits).predict(Visitor()))["message"])


def test_on_a_shared_page_models_that_are_not_offered_are_not_timed() -> None:
    machine = Machine()
    result = sweep_result(plain(), drafted())
    handed_over = replace(result, definition=replace(result.definition, target="/etc/secret"))
    ending = last(actions(machine, Limits(any_model=False), ShownSweep(handed_over, live=False)).predict(Visitor()))
    assert "is not offered here" in ending["message"]
    assert machine.asked == []


def test_without_a_sweep_there_is_nothing_to_predict() -> None:
    ending = last(actions(Machine(), shown=None).predict(Visitor()))
    assert not ending["predict"].interactive


def test_only_a_page_with_a_machine_offers_it() -> None:
    offered = [SpeedupActions(source, Limits(), SWEEP) for source in (Machine(), ReplaySource(sample()))]
    assert [tab.can_predict for tab in offered] == [True, False]
    assert [MachineActions(tab.source).can_predict for tab in offered] == [True, False]


def test_the_recorded_sweep_stands_beside_what_was_kept_of_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    other = sweep_of(SWEEP.result, "abc123", "before <b>it</b> was fast")
    other = replace(other, machine=replace(other.machine, processor="Other"))
    monkeypatch.setattr(machines, "kept", lambda: (other,))
    shown = actions(Machine()).machines()
    assert "Other, 2026-01-02, before &lt;b&gt;it&lt;/b&gt; was fast" in shown
    assert "commit, Other: abc123" in shown
    assert actions(Machine(), shown=None).machines() == ""
    monkeypatch.setattr(machines, "kept", lambda: ())
    assert actions(Machine()).machines() == ""


def test_a_page_asks_its_engine_once_that_is_loaded() -> None:
    source = DeferredSource(Machine, catalog())
    source.start(grace_s=0.0)
    assert [step.clock for step in source.clock(ClockRequest())] == [None, CLOCK]
    bare = DeferredSource(lambda: ReplaySource(sample()), catalog())
    bare.start(grace_s=0.0)
    with pytest.raises(ModelError, match="no machine behind this page"):
        list(bare.clock(ClockRequest()))
