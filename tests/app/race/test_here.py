"""*Run here* in the Race tab: what the browser is asked, and what is made of the runs that come back."""

import json
from html import unescape
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from specviz.app.form.request import Limits
from specviz.app.race.tab import OPENING, RaceActions
from specviz.protocol import races
from specviz.trace import codec
from specviz.trace.events import Trace
from tests.app.doubles import ReplaySource, sample
from tests.app.race.test_race import form
from tests.app.step.test_actions import Visitor

REFUSAL = "the browser's engine has no drafter 'model'; run it on the server."


def recorded() -> list[Trace]:
    """Plain decoding and copies of n-grams on one prompt, with text and times alone."""
    return [runner.trace for runner in races.read(OPENING).runners][:2]


def pressed(actions: RaceActions, **changes: object) -> dict[str, Any]:
    """What the browser is asked after a press."""
    plain = recorded()[0].started
    fields, given = form(prompt=plain.prompt_text, seed=plain.seed, **changes)
    answer: dict[str, Any] = json.loads(actions.elsewhere.ask(fields)(given, Visitor()))
    return answer


def came_back(actions: RaceActions, *runs: dict[str, Any]) -> tuple[Any, str]:
    stage, message = actions.elsewhere.show(Visitor(), SimpleNamespace(_data={"runs": json.dumps(runs)}))
    return stage, unescape(str(message))


def run(trace: Trace) -> dict[str, Any]:
    return {"refusal": "", "trace": codec.to_data(trace)}


def refused(sentence: str) -> dict[str, Any]:
    return {"refusal": sentence, "trace": None}


@pytest.fixture
def actions() -> RaceActions:
    return RaceActions(ReplaySource(sample()), Limits(prompt_chars=10_000))


def test_the_browser_is_asked_for_plain_decoding_and_every_drafter_once_per_repeat(actions: RaceActions) -> None:
    answer = pressed(actions, repeats=2)
    assert answer["tab"] == "race"
    assert [request["drafter"] for request in answer["requests"]] == ["none", "ngram", "model"] * 2
    assert answer["requests"][2]["drafter_options"] == {"gamma": 2}


def test_its_runs_are_shown_as_a_race_in_the_browser_and_what_it_cannot_run_is_named(actions: RaceActions) -> None:
    pressed(actions)
    plain, ngram = recorded()
    stage, message = came_back(actions, run(plain), run(ngram), refused(REFUSAL))
    race = json.loads(stage)
    assert race["source"] == f"{plain.started.source}, in your browser"
    assert [runner["label"] for runner in race["runners"]] == ["plain decoding", "ngram"]
    assert "Run in your browser: " in message
    assert f"Left out: {REFUSAL}" in message


def test_both_times_are_said_where_the_server_has_run_the_same_race(actions: RaceActions) -> None:
    pressed(actions)
    plain, ngram = recorded()
    spec = actions.elsewhere.wanted[Visitor().session_hash]
    on_server = races.Race((races.Runner("plain decoding", plain, ()),))
    assert actions.elsewhere.times(Visitor().session_hash, spec, "on the server", on_server) == ""
    _, message = came_back(actions, run(plain), run(ngram), refused(REFUSAL))
    seconds = f"{plain.finished.decode_s:.2f} s"
    assert f"took {seconds} of engine time in your browser, {seconds} on the server." in message
    pressed(actions, repeats=2)
    other = actions.elsewhere.wanted[Visitor().session_hash]
    assert actions.elsewhere.times(Visitor().session_hash, other, "on the server", on_server) == "", "another race"
    actions.elsewhere.leave(Visitor().session_hash)
    assert (actions.elsewhere.wanted, actions.elsewhere.plain_s) == ({}, {})


def test_a_race_that_cannot_be_run_is_refused_in_its_own_tab(actions: RaceActions) -> None:
    fields, given = form(prompt="", seed=0)
    answer = json.loads(actions.elsewhere.ask(fields)(given, Visitor()))
    assert (answer["tab"], "requests" in answer, bool(answer["refusal"])) == ("race", False, True)


@pytest.mark.parametrize("runs", [1, 2], ids=["too few", "another drafter's"])
def test_runs_that_were_not_asked_for_are_refused(actions: RaceActions, runs: int) -> None:
    pressed(actions)
    plain, _ = recorded()
    others = [run(plain)] * runs + [refused(REFUSAL)]
    stage, message = came_back(actions, *others)
    assert "not those that were asked for; press Run here again." in message
    assert stage == gr.skip(), "what stands there stays"


def test_a_stop_before_the_baseline_was_done_shows_nothing(actions: RaceActions) -> None:
    pressed(actions)
    stage, message = came_back(actions, *[refused("")] * 3)
    assert not isinstance(stage, str)
    assert "Stopped before plain decoding was done" in message
