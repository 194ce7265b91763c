"""*Run here*: what the browser's engine is asked, what opens when it is done, and where it is offered."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr

from specviz.app.form.request import Limits
from specviz.app.job import turn_away
from specviz.app.runs.elsewhere import browsers_request
from specviz.app.runs.gallery import gallery
from specviz.app.step.actions import StepActions
from specviz.app.step.here import Offering, ask_here
from specviz.app.step.opening import BROWSER_ADAPTER, Pair, changed, shown
from specviz.protocol.choice import Choice
from specviz.protocol.runs import RunRequest
from specviz.trace import codec
from specviz.trace.events import Trace
from tests.app.doubles import ReplaySource, sample
from tests.app.step.test_opening import actions_over, controls_of, run_of


def ran(trace: Trace, adapter: str, seconds: float) -> Trace:
    """The same run, computed just now by an engine, in so many seconds."""
    started = replace(trace.started, source="live", target=replace(trace.started.target, adapter=adapter))
    speed = len(trace.finished.output_ids) / seconds
    return replace(
        trace,
        started=started,
        finished=replace(trace.finished, decode_s=seconds),
        summary=replace(trace.summary, tokens_per_second=speed),
    )


def event(trace: str) -> Any:
    return SimpleNamespace(_data={"trace": trace})


def test_the_browser_is_asked_with_names_and_options_apart() -> None:
    request = RunRequest(prompt="Once", drafter=Choice("model", {"gamma": 3}), tree_policy=Choice("levels"), seed=9)
    asked = browsers_request(request)
    assert (asked["drafter"], asked["drafter_options"], asked["tree_policy"]) == ("model", {"gamma": 3}, "levels")
    assert (asked["prompt"], asked["seed"], asked["target"], asked["memory"]) == ("Once", 9, "target", "cold")


def test_what_stands_in_the_controls_goes_to_the_browser_and_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    controls = controls_of()
    actions = StepActions(ReplaySource(sample()), gallery(tmp_path), Limits())
    given = {component: component.value for component in controls.fields.values()}
    rest = {"target": "target", "drafter_model": "drafter", "top_k": 0, "top_p": 1, "seed": 7, "max_new_tokens": 8}
    for name, value in rest.items():
        controls.fields[name] = gr.Textbox()
        given[controls.fields[name]] = value
    asked = json.loads(ask_here(actions, controls)({**given, controls.fields["gamma"]: 5}))
    assert (asked["request"]["drafter"], asked["request"]["drafter_options"]["gamma"]) == ("model", 5)
    refused = json.loads(ask_here(actions, controls)({**given, controls.fields["temperature"]: 99}))
    assert refused == {"refusal": "temperature is 99, but must lie between 0 and 10 here."}


def test_a_browsers_run_opens_beside_the_servers_of_the_same_request_with_both_times(tmp_path: Path) -> None:
    actions = actions_over(tmp_path, run_of(2))
    servers, browsers = ran(sample(), "lean-llama", 0.5), ran(sample(), BROWSER_ADAPTER, 0.13)
    opened: dict[str, Any] = actions.open_browsers(Pair(shown(servers)), event(codec.dumps(browsers)))
    assert "Run in your browser: " in opened["message"]
    assert json.loads(opened["player"])["started"]["source"] == "live"
    assert "on the server, 0.50 s of engine time" in opened["before"]
    assert "in your browser, 0.13 s of engine time" in opened["before"]
    assert opened["prompt"] == "def add(a, b):\n"


def test_times_are_told_of_the_same_request_alone() -> None:
    servers, browsers = ran(run_of(2), "lean-llama", 0.5), ran(run_of(3), BROWSER_ADAPTER, 2.0)
    assert changed(shown(servers), shown(browsers)) == ("γ 2", "γ 3")
    recorded = run_of(3)
    times = ("a recorded run, 0.75 s of engine time", "in your browser, 2.00 s of engine time")
    recorded = replace(recorded, finished=replace(recorded.finished, decode_s=0.75))
    assert changed(shown(recorded), shown(browsers)) == times


def test_what_says_it_is_a_browsers_run_is_read_as_a_strangers_file(tmp_path: Path) -> None:
    actions = actions_over(tmp_path, run_of(2))
    wrong = json.loads(codec.dumps(ran(sample(), BROWSER_ADAPTER, 0.13)))
    wrong["summary"]["num_output_tokens"] += 1
    for text, sentence in (
        ("{", "Line 1, column 2 is not valid JSON"),
        (json.dumps(wrong), "The browser&#x27;s run: "),
        (" " * 5_000_001, "The run is larger than the 5 MB this machine takes."),
    ):
        update = actions.open_browsers(Pair(), event(text))
        assert set(update) == {"message"}, text[:10]
        assert sentence in str(update["message"])


def test_whom_the_queue_turns_away_is_offered_their_own_browser(tmp_path: Path) -> None:
    offering = Offering(StepActions(ReplaySource(sample()), gallery(tmp_path), Limits()))
    visitor: Any = SimpleNamespace(session_hash="someone")
    turn_away("someone", "The queue is full.")
    said, run, stop = offering.turned_away(visitor)
    assert "The queue is full. Or press Run here: your own browser has no queue" in str(said)
    assert (run.interactive, stop.interactive) == (True, False)
