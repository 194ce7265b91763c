"""What the Race tab's controls do, called as Gradio calls them, over a source that replays the golden trace."""

import json
from html import unescape
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from specviz.app.form.request import Limits
from specviz.app.race.tab import RaceActions
from tests.app.doubles import ReplaySource, sample
from tests.app.step.test_actions import Visitor

FORM = {
    "prompt": "def second():\n", "temperature": 0.0, "seed": 7, "max_new_tokens": 20, "repeats": 1,
    "0.drafter": "ngram", "0.gamma": 4, "1.drafter": "model", "1.gamma": 2, "2.drafter": "", "2.gamma": None,
}  # fmt: skip


def form(**changes: object) -> tuple[dict[str, Any], dict[Any, object]]:
    """One stand-in component per value, and what an event would hand over."""
    values = {**FORM, **{name.replace("place_", "").replace("__", "."): value for name, value in changes.items()}}
    fields = {name: gr.Textbox() for name in values}
    return fields, {fields[name]: value for name, value in values.items()}


def ended(actions: RaceActions, **changes: object) -> tuple[list[str], Any]:
    """Every sentence on the way, and the last update."""
    fields, given = form(**changes)
    updates = list(actions.run(fields)(given, Visitor()))
    return [unescape(one[1]) for one in updates], updates[-1]


def test_nothing_is_shown_before_all_is_recorded_and_a_length_of_its_own_is_named() -> None:
    source = ReplaySource(sample())
    fields, given = form()
    updates = list(RaceActions(source, Limits()).run(fields)(given, Visitor()))
    assert all(not isinstance(one[0], str) for one in updates[:-1])
    assert "Recording plain decoding… 1 of 3" in updates[0][1]
    race = json.loads(updates[-1][0])
    assert [one["label"] for one in race["runners"]] == ["plain decoding", "ngram", "model γ 2"]
    assert "All 3 outputs are the same" in updates[-1][1]
    asked = {(one.prompt, one.prompt_name, one.record, one.seed) for one, _ in source.requests}
    assert asked == {("def second():\n", "code-b", False, 7)}
    assert updates[-1][2].interactive is True


def test_a_stop_shows_what_was_finished() -> None:
    """Rounds take a moment; the stop comes while the first drafter is being recorded."""
    actions = RaceActions(ReplaySource(sample(), round_wait_s=0.1), Limits())
    actions.arm(Visitor())
    fields, given = form()
    updates = actions.run(fields)(given, Visitor())
    while "2 of 3" not in next(updates)[1]:
        pass
    actions.stop(Visitor())
    stage, message, run, stop = list(updates)[-1]
    assert [one["label"] for one in json.loads(stage)["runners"]] == ["plain decoding"]
    assert "Stopped; what was finished is shown." in message
    assert (run.interactive, stop.interactive) == (True, False)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"place_0__drafter": "", "place_1__drafter": ""}, "No drafter is chosen"),
        ({"place_0__drafter": "nobody-known"}, "There is no drafter 'nobody-known'"),
        ({"place_0__drafter": "none"}, "There is no drafter 'none'"),
        ({"place_0__drafter": "model", "place_0__gamma": 2}, "'model γ 2' was chosen twice"),
        ({"place_0__gamma": "four"}, "option 'gamma' is 'four'"),
        ({"prompt": ""}, "The prompt is empty"),
        ({"prompt": "fail"}, "fails on purpose"),
    ],
)
def test_a_race_that_cannot_run_says_why_and_leaves_the_stage_alone(change: dict[str, object], words: str) -> None:
    said, last = ended(RaceActions(ReplaySource(sample()), Limits()), **change)
    assert words.lower() in said[-1].lower()
    assert not isinstance(last[0], str)
    assert last[2].interactive is True


def test_without_a_recorded_race_the_tab_says_what_to_do(tmp_path: Path) -> None:
    race, sentence, prompt = RaceActions(ReplaySource(sample()), Limits(), tmp_path / "none.json.gz").opening()
    assert (race, prompt) == ("", "def first():\n")
    assert "press Run race" in sentence
    (tmp_path / "bad.json.gz").write_text("{}")
    assert "no race" in RaceActions(ReplaySource(sample()), Limits(), tmp_path / "bad.json.gz").opening()[1]


def test_the_length_belongs_to_the_chosen_drafter() -> None:
    actions = RaceActions(ReplaySource(sample()), Limits())
    assert (actions.choose("model").value, actions.choose("model").visible) == (4, True)
    assert actions.choose("").visible is False


def test_a_list_of_drafters_that_was_left_as_it_was_changes_no_length() -> None:
    assert RaceActions(ReplaySource(sample()), Limits()).another(None, None) == gr.skip()


def test_a_length_typed_before_the_answer_to_another_drafter_arrives_stays() -> None:
    actions = RaceActions(ReplaySource(sample()), Limits())
    sent = {standing: actions.another("model", standing) for standing in (4, 2, None)}
    assert [one.value for one in sent.values()] == [None, 4, 4], "its default is 4: where that stands, none is sent"
    assert {one.visible for one in sent.values()} == {True}
    assert actions.another("", 4).visible is False
