"""*Run here* in the When-it-pays tab: what the browser is asked, and the chart of the runs that come back."""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from specviz.app.form.request import Limits
from specviz.app.runs.gallery import ShownSweep
from specviz.app.speedup.actions import SpeedupActions
from specviz.app.speedup.here import BrowserSweeps
from specviz.trace import codec
from tests.app.doubles import ReplaySource, sample
from tests.app.step.test_actions import Visitor
from tests.app.test_sweep_actions import by_name, sweep_form

REFUSAL = "the browser's engine has no drafter 'ngram'; run it on the server."


@pytest.fixture
def actions(monkeypatch: pytest.MonkeyPatch) -> SpeedupActions:
    """The replayed trace does not have the prompts of its requests; that runs are checked is the Race tab's test."""
    monkeypatch.setattr("specviz.app.runs.elsewhere.checked", lambda trace, which: trace)
    return SpeedupActions(ReplaySource(sample()), Limits())


def pressed(actions: SpeedupActions, drafters: list[str]) -> list[dict[str, Any]]:
    controls, given = sweep_form(drafters=drafters, gammas="1,2", trees="")
    answer = json.loads(BrowserSweeps(actions).ask(controls)(given, Visitor()))
    assert answer["tab"] == "sweep"
    requests: list[dict[str, Any]] = answer["requests"]
    return requests


def test_what_cannot_be_measured_is_refused_in_the_tab_that_asked(actions: SpeedupActions) -> None:
    controls, given = sweep_form(drafters=[])
    answer = json.loads(BrowserSweeps(actions).ask(controls)(given, Visitor()))
    assert (answer["tab"], "no drafter is chosen" in answer["refusal"]) == ("sweep", True)


def test_runs_that_come_back_to_a_page_that_was_loaded_anew_change_nothing_but_the_message(
    actions: SpeedupActions,
) -> None:
    updates = came_back(actions, [])
    assert "This page was loaded anew; press Run here again." in updates.pop("message")
    assert all(update == gr.skip() for update in updates.values())


def made(asked: dict[str, Any]) -> dict[str, Any]:
    """A run as the browser hands it over."""
    trace = sample()
    drafter = replace(trace.started.drafter, name=asked["drafter"])
    target = replace(trace.started.target, adapter="lean-llama-js")
    asked_for = {"drafter": drafter, "prompt_text": asked["prompt"], "seed": asked["seed"]}
    started = replace(trace.started, target=target, **asked_for)
    return {"refusal": "", "trace": codec.to_data(replace(trace, started=started))}


def came_back(actions: SpeedupActions, runs: list[dict[str, Any]]) -> dict[str, Any]:
    event: Any = SimpleNamespace(_data={"runs": json.dumps(runs)})
    shown: dict[str, Any] = by_name(BrowserSweeps(actions).show(Visitor(), event))
    return shown


def test_every_length_is_asked_for_beside_plain_decoding_on_every_prompt(actions: SpeedupActions) -> None:
    asked = pressed(actions, ["model"])
    prompts = dict.fromkeys(request["prompt"] for request in asked)
    by_prompt = [[request for request in asked if request["prompt"] == prompt] for prompt in prompts]
    for group in by_prompt:
        assert group[0]["drafter"] == "none"
        assert sorted(request["drafter_options"].get("gamma", 0) for request in group) == [0, 1, 2]


def test_its_runs_are_the_chart_and_what_it_does_not_have_is_named(actions: SpeedupActions) -> None:
    asked = pressed(actions, ["model", "ngram"])
    runs = [{"refusal": REFUSAL, "trace": None} if one["drafter"] == "ngram" else made(one) for one in asked]
    updates = came_back(actions, runs)
    assert "Run in your browser, without ngram" in updates["message"]
    assert "live, in your browser" in updates["origin"]
    result = actions.shown(Visitor().session_hash).result
    assert {point.drafter for point in result.points} == {"none", "model"}
    assert len(result.points) == sum(run["trace"] is not None for run in runs)
    assert [(absent.name, absent.reason) for absent in result.absent] == [("ngram", REFUSAL)]
    assert result.provenance.command == "Run here, in a visitor's own browser"


def sweep_on_the_server(shown: ShownSweep, plain: float) -> ShownSweep:
    """The same sweep made by the server, in which plain decoding wrote so many tokens a second."""
    about = shown.result.provenance
    target = replace(about.target, adapter="lean-llama")
    points = tuple(replace(point, baseline_tokens_per_s=plain) for point in shown.result.points)
    return ShownSweep(replace(shown.result, provenance=replace(about, target=target), points=points), live=True)


def test_both_speeds_are_said_where_the_server_has_made_the_same_sweep(actions: SpeedupActions) -> None:
    asked, visitor = pressed(actions, ["model"]), Visitor().session_hash
    runs = [made(one) for one in asked]
    assert "Plain decoding wrote" not in came_back(actions, runs)["message"]
    assert "Plain decoding wrote" not in came_back(actions, runs)["message"], "twice in the browser"
    servers = sweep_on_the_server(actions.results[visitor], 12.5)
    actions.results[visitor] = servers
    assert ", 12.5 on the server, medians over all runs." in came_back(actions, runs)["message"]
    other = replace(servers, result=replace(servers.result, definition_sha256="0" * 64))
    actions.results[visitor] = other
    assert "Plain decoding wrote" not in came_back(actions, runs)["message"], "another sweep"


def test_runs_that_were_not_asked_for_are_refused(actions: SpeedupActions) -> None:
    asked = pressed(actions, ["model"])
    updates = came_back(actions, [made(one) for one in asked][1:])
    assert "not those that were asked for" in updates["message"]
    assert actions.shown(Visitor().session_hash) is None
