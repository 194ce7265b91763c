"""Opening a run fills the bar and the drawer, and what was on the stage before stays beside it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from specviz.app.form.request import Limits, acts, request_from
from specviz.app.runs.examples import Example
from specviz.app.runs.gallery import Gallery, gallery
from specviz.app.step.controls import Controls, bar_controls, gamma_state, method_controls
from specviz.app.step.filling import values_of
from specviz.app.step.opening import OpeningActions, Pair, changed, comparison, shown
from specviz.protocol.runs import request_of
from specviz.trace import codec
from specviz.trace.events import PlainDecoding, Trace
from tests.app.doubles import SAMPLE, catalog, sample, unserved

"""updates before those of the controls: player, badges, panels, message, moment, pair, row, text, and what the lists of
examples and of recorded runs name"""


def run_of(gamma: int, gain: float | None = None, **started: Any) -> Trace:
    """The golden run as one of the bundled drafter at a speculation length."""
    trace = sample()
    drafter = replace(trace.started.drafter, name="model", options={"gamma": gamma, "branching": []})
    made = replace(trace, started=replace(trace.started, source="recorded", drafter=drafter, **started))
    if gain is None:
        return made
    plain = PlainDecoding(20, gain * made.finished.decode_s, 3, True)
    return replace(made, finished=replace(made.finished, plain=plain))


def controls_of(opening: dict[str, Any] | None = None) -> Controls:
    controls = Controls(opening=opening or {})
    with unserved():
        bar_controls(controls, catalog())
        method_controls(controls, catalog(), Limits())
    return controls


def actions_over(folder: Path, trace: Trace, *examples: Example) -> OpeningActions:
    codec.write(trace, folder / "a.json.gz")
    recorded: Gallery = replace(gallery(folder), examples=examples)
    return OpeningActions.over(recorded, catalog(), Limits(), controls_of())


def test_what_a_recording_fills_asks_for_that_very_run() -> None:
    trace = run_of(3, prompt_text="def first():\n", seed=11)
    values = values_of(trace.started, catalog(), Limits())
    assert (values["prompt"], values["drafter"], values["gamma"]) == ("def first():\n", "model", 3)
    assert (values["temperature"], values["verifier"]) == (1.0, "auto")
    controls = controls_of(values)
    given = {component: component.value for component in controls.fields.values()}
    filled = {**values, **controls.values(given)}
    asked = request_from(filled, catalog(), Limits())
    assert (asked.drafter.name, asked.drafter.options["gamma"], asked.seed) == ("model", 3, 11)
    assert (asked.prompt, asked.temperature) == (request_of(trace.started).prompt, 1.0)


def test_the_bars_gamma_is_the_chosen_drafters_and_says_where_it_has_no_effect() -> None:
    controls = controls_of()
    assert controls.gamma_keys == ["drafter.model.gamma", "drafter.ngram.gamma"]
    given = {component: component.value for component in controls.fields.values()}
    values = controls.values({**given, controls.fields["gamma"]: 7})
    assert (values["drafter.model.gamma"], values["drafter.ngram.gamma"]) == (7, 7)
    assert acts(values, catalog(), "gamma")
    assert gamma_state(values, catalog())["interactive"] is True
    assert gamma_state({**values, "drafter": "none"}, catalog()) == {"label": "γ: not used", "interactive": False}


def test_an_example_opens_at_the_round_that_shows_it(tmp_path: Path) -> None:
    actions = actions_over(tmp_path, run_of(4), Example("corrected", "a.json.gz", 2))
    update = actions.open_example("corrected")
    assert update["moment"] == "sample 2"
    assert (update["drafter"], update["gamma"], update["prompt"]) == ("model", 4, "def add(a, b):\n")
    assert "There is no example" in str(actions.open_example("nothing like it")["message"])


def test_a_list_that_was_left_as_it_was_opens_nothing(tmp_path: Path) -> None:
    actions = actions_over(tmp_path, run_of(4), Example("corrected", "a.json.gz", 2))
    assert [actions.choose(None), actions.open_example(None), actions.open_recorded(None)] == [{}, {}, {}]


def test_a_recording_whose_text_is_wrong_opens_with_its_comment(tmp_path: Path) -> None:
    actions = actions_over(tmp_path, run_of(4), Example("corrected", "a.json.gz", 2))
    assert "Read its text with care" not in str(actions.open_recorded("a.json.gz")["message"])
    (card,) = actions.gallery.cards
    wrong = replace(card, comment="the model is wrong here: 2 + 2 is 4")
    actions = replace(actions, gallery=replace(actions.gallery, cards=(wrong,)))
    for opened in (actions.open_recorded("a.json.gz"), actions.open_example("corrected")):
        assert "Read its text with care: the model is wrong here: 2 + 2 is 4." in str(opened["message"])
    assert wrong.label.endswith(" · the model is wrong here: 2 + 2 is 4")


def test_the_run_before_stays_beside_with_both_totals_and_can_be_shown_again(tmp_path: Path) -> None:
    actions = actions_over(tmp_path, run_of(2, gain=1.37))
    opened = actions.open_recorded("a.json.gz")
    pair, row = opened["pair"], opened["before_row"]
    assert (pair.before, row.visible) == (None, False)
    later = codec.dumps(run_of(8, gain=1.1))
    pair, row, text = actions.compare(later, pair).values()
    assert (row.visible, changed(pair.before, pair.now)) == (True, ("γ 2", "γ 8"))
    assert "γ 2: <b>1.37×</b>" in text
    assert "γ 8: <b>1.10×</b>" in text
    assert actions.compare(later, pair)["pair"] is pair
    again = actions.open_before(pair)
    assert json.loads(str(again["player"]))["started"]["drafter"]["options"]["gamma"] == 2
    assert (again["pair"].now, again["pair"].before) == (pair.before, pair.now)
    assert again["gamma"] == 2


def named(opened: dict[str, Any]) -> tuple[object, object]:
    return opened["example"], opened["recorded"]


def test_the_lists_name_what_is_shown_and_nothing_after_a_file_was_opened(tmp_path: Path) -> None:
    actions = actions_over(tmp_path, run_of(4), Example("corrected", "a.json.gz", 2))
    assert named(actions.open_example("corrected")) == ("corrected", "a.json.gz")
    assert named(actions.open_recorded("a.json.gz")) == ("", "a.json.gz")
    assert named(actions.open_file(str(SAMPLE))) == ("", None)
    assert actions.open_example("") == {}, "what says what the list is for is no example"
    (tmp_path / "bad.json").write_text("{")
    assert list(actions.open_file(str(tmp_path / "bad.json"))) == ["message"]  # the old run is still shown


@pytest.mark.parametrize(
    ("name", "content"), [("own.toml", "gammas = [1]"), ("mine.json", '{"kind": "specviz-sweep"}')]
)
def test_a_sweep_is_sent_to_its_tab_and_the_run_stays(tmp_path: Path, name: str, content: str) -> None:
    actions = actions_over(tmp_path, run_of(4))
    (tmp_path / name).write_text(content)
    update = actions.open_file(str(tmp_path / name))
    assert "is a sweep, no single run; it is opened under When it pays." in str(update["message"])
    assert "sv-message-error" not in str(update["message"])
    assert "player" not in update


def test_a_run_without_a_measured_gain_speaks_of_passes_and_hostile_prompts_stay_text() -> None:
    before = shown(run_of(2, prompt_text="<img src=x onerror=alert(1)>"))
    text = comparison(Pair(shown(run_of(2)), before))
    assert "2.50 tokens per pass" in text
    assert "<img" not in text


@pytest.mark.parametrize(("change", "told"), [({"seed": 9}, ("seed 7", "seed 9")), ({}, ("before", "the same again"))])
def test_only_what_differs_is_named(change: dict[str, Any], told: tuple[str, str]) -> None:
    assert changed(shown(run_of(2)), shown(run_of(2, **change))) == told


def test_two_drafters_are_named_with_what_else_differs_but_not_with_what_is_each_ones_own() -> None:
    def drafted_by(name: str, gamma: int | None, **started: Any) -> Trace:
        trace = run_of(0, **started)
        options = {"branching": []} if gamma is None else {"gamma": gamma, f"{name}_only": 1}
        drafter = replace(trace.started.drafter, name=name, options=options)
        return replace(trace, started=replace(trace.started, drafter=drafter))

    model, ngram = drafted_by("model", 4), drafted_by("ngram", 2, seed=9, max_new_tokens=99)
    tokens = model.started.max_new_tokens
    assert changed(shown(model), shown(ngram)) == (
        f"model, γ 4, seed 7, new tokens {tokens}",
        "ngram, γ 2, seed 9, new tokens 99",
    )
    assert changed(shown(model), shown(drafted_by("none", None))) == ("model", "none")
