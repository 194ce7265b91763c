"""What the controls of a run do, called as Gradio calls them, over a source that replays the golden trace."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any

import gradio as gr
import pytest

from specviz.app.form.methods import kinds
from specviz.app.form.request import Limits
from specviz.app.job import CURRENT, Job
from specviz.app.look import notices
from specviz.app.runs.gallery import gallery
from specviz.app.runs.stage import resume_at
from specviz.app.step.actions import StepActions
from specviz.app.step.controls import Controls, method_controls
from specviz.app.step.opening import OpeningActions
from specviz.protocol.runs import DatastoreDescription
from specviz.trace import codec
from tests.app.doubles import SAMPLE, ReplaySource, catalog, sample, unserved
from tests.app.form.test_request import FORM


@dataclass
class Visitor:
    session_hash: str = "visitor"


def form_of(names: dict[str, object]) -> tuple[Controls, dict[Any, object]]:
    """Controls with one stand-in component per value, and what an event would hand over."""
    fields = {name: gr.Textbox() for name in names}
    return Controls(fields=dict(fields)), {fields[name]: value for name, value in names.items()}


@pytest.fixture
def gallery_folder(tmp_path: Path) -> Path:
    codec.write(sample(), tmp_path / "sample.json.gz")
    return tmp_path


@pytest.fixture
def actions(gallery_folder: Path) -> StepActions:
    return StepActions(ReplaySource(sample()), gallery(gallery_folder), Limits())


@pytest.fixture
def opens(gallery_folder: Path) -> OpeningActions:
    return OpeningActions(gallery(gallery_folder), catalog(), Limits(), ())


def test_the_page_opens_on_the_first_run_of_the_gallery_and_says_what_it_is(actions: StepActions) -> None:
    opening = actions.opening()
    assert json.loads(opening.player)["started"]["run_id"] == "sample"
    assert opening.message == ""
    assert (opening.values["prompt"], opening.values["temperature"]) == ("def add(a, b):\n", 1.0)
    assert "simulated" in opening.badges
    assert "depth 1: accepted in 6 of 7 rounds" in opening.panels


def test_an_empty_gallery_opens_an_empty_stage_with_a_sentence(tmp_path: Path) -> None:
    opening = StepActions(ReplaySource(sample()), gallery(tmp_path / "none"), Limits()).opening()
    assert opening.player == ""
    assert "No recorded run" in opening.message


def test_a_chip_walks_through_its_family(actions: StepActions) -> None:
    chip = actions.chip(actions.catalog, "code")
    first, line = chip("something typed")
    assert (first, "Code, 1 of 2: First. A function." in line) == ("def first():\n", True)
    assert chip(first)[0] == "def second():\n"
    assert chip("def second():\n")[0] == "def first():\n"


def test_an_illegal_combination_explains_itself_before_running(actions: StepActions) -> None:
    controls, given = form_of({**FORM, "verifier": "greedy", "temperature": 1.0})
    said = gr.HTML()
    assert "Greedy judges at temperature 0 only" in str(actions.explain(controls, said)(given | {said: ""}))


def test_a_legal_combination_takes_an_error_away_and_leaves_what_a_run_has_said(actions: StepActions) -> None:
    controls, given = form_of(FORM)
    said = gr.HTML()
    explain = actions.explain(controls, said)
    assert explain(given | {said: notices.message("It cannot run.", "error")}) == notices.message("")
    assert explain(given | {said: notices.message("20 tokens in 8 passes.", "good")}) == gr.skip()


def test_a_drafter_shows_its_line_and_its_tree_policies(actions: StepActions) -> None:
    with unserved():
        controls = Controls()
        method_controls(controls, actions.catalog, actions.limits)
    drafter = kinds(actions.catalog)[0]
    line, tree_policy = actions.choose(controls, drafter)("ngram")
    assert "Looks the continuation up" in line
    assert tree_policy.visible is False
    assert actions.choose(controls, drafter)("model")[1].visible is True


def test_the_memory_of_earlier_runs_is_offered_for_drafters_that_remember_alone(actions: StepActions) -> None:
    none, model, ngram = actions.catalog.drafters
    actions.catalog = replace(actions.catalog, drafters=(none, model, replace(ngram, remembers=True)))
    with unserved():
        controls = Controls()
        method_controls(controls, actions.catalog, actions.limits)
    assert controls.fields["memory"].visible is False
    choose = actions.choose(controls, kinds(actions.catalog)[0])
    assert (choose("ngram")[-1].visible, choose("model")[-1].visible) == (True, False)
    assert [name for _, name in controls.fields["memory"].choices] == ["cold", "warm", "reset"]
    with unserved():
        controls = Controls()
        method_controls(controls, actions.catalog, Limits(shared_memory=False))
    assert [name for _, name in controls.fields["memory"].choices] == ["cold"]
    assert "shared by all visitors" in controls.fields["memory"].info


def test_the_datastores_that_lie_here_now_are_offered_for_drafters_that_retrieve_alone(actions: StepActions) -> None:
    none, model, ngram = actions.catalog.drafters
    actions.catalog = replace(actions.catalog, drafters=(none, model, replace(ngram, retrieves=True)))
    with unserved():
        controls = Controls()
        method_controls(controls, actions.catalog, actions.limits)
    box = controls.fields["datastore"]
    assert (box.visible, [value for _, value in box.choices], box.allow_custom_value) == (False, [""], True)
    assert "none is built yet; `specviz datastore build` makes one" in box.info
    store = DatastoreDescription("/cache/ab.datastore", "notes", 12345, 6_100_000, "2026-01-31")
    actions.source.catalog = lambda: replace(catalog(), datastores=(store,))
    choose = actions.choose(controls, kinds(actions.catalog)[0])
    assert choose("model")[-1].visible is False
    shown = choose("ngram")[-1]
    assert shown.visible is True
    assert shown.choices[1] == ("notes · 12,345 tokens · 6.1 MB · built 2026-01-31", "ab.datastore")
    assert "none is built" not in shown.info


def test_one_lossy_part_makes_the_whole_lossy(actions: StepActions) -> None:
    assert "sv-mark-lossless" in actions.lossless("model", "auto", "fixed", "greedy")
    assert "lossy: loose may change" in actions.lossless("model", "auto", "fixed", "loose")


def test_a_fault_of_ours_leaves_the_page_usable(actions: StepActions) -> None:
    def broken(*_: object) -> None:
        raise KeyError("inside")

    actions.source.run = broken
    controls, given = form_of(FORM)
    (update,) = list(actions.run_live(controls)(given, Visitor()))
    assert "The run failed (KeyError)" in update[3]
    assert update[4].interactive is True


def test_a_live_run_streams_and_hands_the_buttons_back(actions: StepActions) -> None:
    controls, given = form_of(FORM)
    actions.arm(Visitor())
    updates = list(actions.run_live(controls)(given, Visitor()))
    player, badges, panels, message, run, stop = updates[-1]
    assert json.loads(player)["started"]["source"] == "live"
    assert "live" in badges
    assert "8 target passes" in message
    assert (run.interactive, stop.interactive) == (True, False)
    assert "sv-panel" in panels


def test_stop_reaches_a_run_and_keeps_its_rounds(gallery_folder: Path) -> None:
    gate = Event()
    actions = StepActions(ReplaySource(sample(), gate), gallery(gallery_folder), Limits())
    controls, given = form_of(FORM)
    actions.arm(Visitor())
    actions.stop(Visitor())
    (last,) = list(actions.run_live(controls)(given, Visitor()))
    assert json.loads(last[0])["finished"]["reason"] == "cancelled"


def test_a_run_whose_time_is_over_keeps_its_rounds_and_says_what_a_job_may_take(gallery_folder: Path) -> None:
    actions = StepActions(ReplaySource(sample(), Event()), gallery(gallery_folder), Limits())
    controls, given = form_of(FORM)
    token = CURRENT.set(Job(0.0))
    shown, said = list(actions.run_live(controls)(given, Visitor()))
    CURRENT.reset(token)
    assert json.loads(shown[0])["finished"]["reason"] == "cancelled"
    assert said[0] == gr.skip()
    assert "The 0 s that this machine gives one job are over" in said[3]


def test_another_visitors_stop_is_not_mine(actions: StepActions) -> None:
    controls, given = form_of(FORM)
    actions.arm(Visitor("a"))
    actions.arm(Visitor("b"))
    actions.stop(Visitor("b"))
    updates = list(actions.run_live(controls)(given, Visitor("a")))
    assert json.loads(updates[-1][0])["finished"]["reason"] == "stop"


@pytest.mark.parametrize(("prompt", "words"), [("", "The prompt is empty"), ("fail", "This prompt fails on purpose")])
def test_an_error_is_one_sentence_and_the_stage_stays(actions: StepActions, prompt: str, words: str) -> None:
    controls, given = form_of({**FORM, "prompt": prompt})
    (update,) = list(actions.run_live(controls)(given, Visitor()))
    assert words in update[3]
    assert update[0] == gr.skip()
    assert update[4].interactive is True


def test_a_branch_continues_the_shown_run_with_its_own_prompt(actions: StepActions) -> None:
    shown = SAMPLE.read_text(encoding="utf-8")
    row, text, place = actions.offer_branch(shown, gr.EventData(None, {"round": 2, "token": 14}))
    assert (row.visible, place, "round 3 with “${1+1}” as its next token" in text) == (True, (2, 14), True)
    controls, given = form_of({**FORM, "prompt": "typed meanwhile"})
    player, state = gr.Textbox(), gr.State(None)
    given.update({player: shown, state: place})
    list(actions.run_branch(controls, player, state)(given, Visitor()))
    request, resume = actions.source.requests[-1]
    assert request.prompt == "def add(a, b):\n"
    assert (resume.round, resume.forced_token, resume.trace.started.run_id) == (2, 14, "sample")


def test_dropping_a_branch_hides_its_row(actions: StepActions) -> None:
    row, text, place = actions.drop_branch()
    assert (row.visible, text, place) == (False, "", None)


def test_a_branch_without_a_place_or_a_whole_run_says_so() -> None:
    from specviz.errors import OptionError, TraceError

    with pytest.raises(OptionError, match="pick a token"):
        resume_at("{}", None)
    with pytest.raises(TraceError):
        resume_at('{"rounds":[]}', (0, None))


def test_a_good_file_is_shown_and_a_bad_one_is_refused_with_a_sentence(opens: OpeningActions, tmp_path: Path) -> None:
    opened = opens.open_file(str(SAMPLE))["message"]
    assert "Showing a simulated run" in opened
    assert "Checked against itself: sound." in opened
    assert "no model at hand" in opened
    bad = tmp_path / "bad.json"
    bad.write_text('{"format":"something else"}', encoding="utf-8")
    update = opens.open_file(str(bad))
    assert list(update) == ["message"], "nothing else changes"
    assert "bad.json" in update["message"]
    assert "sv-message-error" in update["message"]


def test_a_file_over_the_limit_is_refused_before_it_is_read(gallery_folder: Path) -> None:
    opens = OpeningActions(gallery(gallery_folder), catalog(), Limits(import_bytes=1000), ())
    assert "The file is larger than the 0.001 MB" in opens.open_file(str(SAMPLE))["message"]


def test_only_runs_in_the_gallery_can_be_chosen(opens: OpeningActions) -> None:
    assert json.loads(opens.open_recorded("sample.json.gz")["player"])["started"]["run_id"] == "sample"
    assert "There is no recorded run" in opens.open_recorded("../../secret")["message"]
