"""The traces of a sweep's runs on the page: kept where they are asked for, analysed, and gone with the visitor."""

import gradio as gr
import pytest

from specviz.app.analysis.actions import FILES, AnalysisActions
from specviz.app.analysis.library import MOST_TRACES, Library
from specviz.app.form.request import Limits
from specviz.app.runs.gallery import gallery
from specviz.app.speedup.actions import SpeedupActions
from specviz.app.speedup.running import check_count, definition_of
from specviz.errors import OptionError
from tests.app.doubles import ReplaySource, sample
from tests.app.step.test_actions import Visitor
from tests.app.test_sweep_actions import by_name, sweep_form

KEY = Visitor().session_hash


@pytest.fixture
def actions():
    return SpeedupActions(ReplaySource(sample()), Limits(), clock=iter(range(10_000)).__next__)


def run(actions, keep):
    controls, given = sweep_form(drafters=["model"], gammas="1", trees="")
    box = gr.Checkbox(keep)
    actions.arm(Visitor())
    return by_name(list(actions.run(controls, box)({**given, box: keep}, Visitor()))[-1])


def test_a_sweep_keeps_one_trace_per_run_and_the_analysis_reads_them(actions, tmp_path):
    last = run(actions, keep=True)
    assert last["analyse"].interactive is True
    counted = AnalysisActions(Library(gallery(tmp_path), Limits())).count(FILES, "", [str(actions.traces(KEY))])
    assert len(counted.named) == actions.shown(KEY).result.planned_runs
    assert counted.refused == ()
    assert all(name.startswith(("model-1-", "none-")) for name in counted.named)


def test_without_the_wish_none_are_recorded_and_those_of_another_sweep_go(actions):
    kept = run(actions, keep=True) and actions.traces(KEY)
    assert kept.is_file()
    last = run(actions, keep=False)
    assert (last["analyse"].interactive, actions.traces(KEY), kept.exists()) == (False, None, False)
    assert all(not request.record for request, _ in actions.source.requests[-2:])


def test_a_second_sweep_begins_an_empty_zip(actions, tmp_path):
    run(actions, keep=True)
    run(actions, keep=True)
    found = Library(gallery(tmp_path), Limits()).files([str(actions.traces(KEY))])
    assert len(found) == actions.shown(KEY).result.planned_runs


def test_more_runs_than_the_analysis_reads_are_refused_before_anything_runs():
    check_count(MOST_TRACES)
    with pytest.raises(OptionError, match="the sweep makes 301 runs, but the traces of at most 300 are kept"):
        check_count(MOST_TRACES + 1)


def test_a_zip_that_is_opened_is_what_the_button_opens_until_another_result_stands(actions, tmp_path):
    mine = tmp_path / "mine.zip"
    mine.write_bytes(b"")
    opened = by_name(actions.open_file(str(mine), Visitor()))
    assert (opened["analyse"].interactive, actions.traces(KEY)) == (True, mine)
    run(actions, keep=False)
    assert (actions.traces(KEY), mine.exists()) == (None, True)


def test_the_traces_go_with_their_visitor(actions):
    run(actions, keep=True)
    kept = actions.traces(KEY)
    actions.leave(Visitor())
    assert (kept.exists(), kept.parent.exists(), actions.traces(KEY)) == (False, False, None)


def test_the_form_takes_models_of_ones_own_and_messages(actions):
    controls, given = sweep_form(target=" owner/target@v1 ", drafter_model="/my/drafter", chat=True)
    asked = definition_of(controls.form(given), actions.catalog, actions.limits)
    assert (asked.target, asked.drafter_model, asked.chat) == ("owner/target@v1", "/my/drafter", True)
    controls, given = sweep_form(target=None)
    with pytest.raises(OptionError, match="no target model is chosen"):
        definition_of(controls.form(given), actions.catalog, actions.limits)


def test_a_public_machine_sweeps_only_the_models_on_offer():
    controls, given = sweep_form(target="owner/target")
    closed = SpeedupActions(ReplaySource(sample()), Limits(any_model=False))
    with pytest.raises(OptionError, match="'owner/target' is not offered here"):
        closed.definition(controls, given)
