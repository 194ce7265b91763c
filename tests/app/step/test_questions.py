"""The chips under the player: what each runs, and what it says where nothing can run."""

from pathlib import Path
from typing import Any

import pytest

from specviz.app.form.request import Limits, request_from
from specviz.app.runs.deferred import DeferredSource
from specviz.app.runs.gallery import Gallery, gallery
from specviz.app.step.actions import StepActions
from specviz.app.step.asked import QUESTIONS
from specviz.app.step.controls import Controls, bar_controls, method_controls, model_controls, sampling_controls
from specviz.app.step.opening import OpeningActions
from specviz.app.step.questions import QuestionActions, question_chips
from specviz.errors import ModelError
from specviz.live.catalog import saved
from specviz.protocol.runs import RunRequest, TraceSource
from specviz.resources import ROOT as ASSETS
from specviz.trace import codec
from tests.app.doubles import ReplaySource, catalog, sample, unserved

BY_LABEL = {one.label: one for one in QUESTIONS}
STANDING: dict[str, Any] = {
    "prompt": "abc", "drafter": "ngram", "verifier": "naive", "tree_policy": "levels", "temperature": 0.8, "top_k": 0,
    "top_p": 1.0, "seed": 7, "max_new_tokens": 20, "target": "target", "drafter_model": "drafter",
    "drafter.model.gamma": 9, "drafter.model.branching": "2,2",
}  # fmt: skip
"""what a visitor has left in the controls"""


def asked(label: str) -> list[RunRequest]:
    return [request_from({**STANDING, **step}, saved(), Limits()) for step in BY_LABEL[label].steps]


def actions_over(source: TraceSource, recorded: Gallery, limits: Limits | None = None) -> QuestionActions:
    limits = limits or Limits()
    step, controls = StepActions(source, recorded, limits), Controls()
    with unserved():
        bar_controls(controls, catalog())
        method_controls(controls, catalog(), limits)
        sampling_controls(controls, limits, RunRequest(""))
        model_controls(controls, catalog(), limits)
    return QuestionActions(step, OpeningActions.over(recorded, catalog(), limits, controls), controls)


def without_engine() -> DeferredSource:
    def fail() -> TraceSource:
        raise ModelError("there are no weights here; reinstall.")

    source = DeferredSource(fail, catalog())
    source.start(0)
    source.warm()
    return source


def test_a_chip_is_offered_where_its_drafter_is() -> None:
    with unserved():
        everywhere, few = question_chips(saved(), "target"), question_chips(catalog(), "target")
    assert [one.label for one, _ in everywhere.chips] == [
        "random drafter",
        "γ 20",
        "temperature 2",
        "chain against tree",
        "what would Medusa do",
        "what would token recycling do",
        "with a real model",
    ]
    assert [one.label for one, _ in few.chips] == ["γ 20", "temperature 2", "chain against tree", "with a real model"]


@pytest.mark.parametrize(
    ("label", "runs"),
    [
        ("random drafter", [("random", {"gamma": 4}, 0.8)]),
        ("γ 20", [("model", {"gamma": 20}, 0.8)]),
        ("temperature 2", [("model", {"gamma": 9}, 2.0)]),
        ("chain against tree", [("model", {"gamma": 3}, 0.8), ("model", {"branching": (3, 2, 1)}, 0.8)]),
        ("what would Medusa do", [("medusa", {}, 0.8)]),
        ("what would token recycling do", [("token_recycling", {}, 0.8)]),
        ("with a real model", []),
    ],
)
def test_a_chip_asks_for_its_runs_whatever_stood_in_the_controls(label: str, runs: list[Any]) -> None:
    found = asked(label)
    assert [(one.drafter.name, one.temperature) for one in found] == [(drafter, at) for drafter, _, at in runs]
    for request, (_, options, _) in zip(found, runs, strict=True):
        given = {name: tuple(one) if isinstance(one, list) else one for name, one in request.drafter.options.items()}
        assert options.items() <= given.items()
        assert ("branching" in options) == bool(given.get("branching"))
        assert (request.tree_policy.name, request.stop_policy.name, request.verifier.name) == ("auto", "fixed", "auto")


def test_what_a_chip_fills_in_are_the_values_that_it_runs(tmp_path: Path) -> None:
    codec.write(sample(), tmp_path / "sample.json.gz")
    asks = actions_over(ReplaySource(sample()), gallery(tmp_path))
    filled = asks.fill(BY_LABEL["γ 20"].steps[0])()
    assert (filled["drafter"], filled["gamma"], filled["verifier"]) == ("model", 20, "auto")
    assert "prompt" not in filled


def test_without_an_engine_a_chip_opens_the_recording_that_answers_it() -> None:
    asks = actions_over(without_engine(), gallery(ASSETS / "traces"))
    question = BY_LABEL["random drafter"]
    said = asks.said(question)
    assert "this run was recorded" in said
    assert "nearly all are rejected" in said
    player = asks.open_recording(question)()["player"]
    assert codec.loads(str(player)).started.drafter.name == "random"
    assert asks.fill(question.steps[0])() == {}


def test_without_engine_and_recording_a_chip_says_so_and_changes_nothing() -> None:
    asks = actions_over(without_engine(), gallery(ASSETS / "traces"))
    assert "no recorded run answers this" in asks.said(BY_LABEL["γ 20"])
    assert asks.open_recording(BY_LABEL["γ 20"])() == {}


def test_every_recording_that_a_chip_names_ships() -> None:
    files = {card.file for card in gallery(ASSETS / "traces").cards}
    assert {f"{one.recording}.json.gz" for one in QUESTIONS if one.recording} <= files


def test_with_a_real_model_says_how_and_on_a_public_page_why_not(tmp_path: Path) -> None:
    codec.write(sample(), tmp_path / "sample.json.gz")
    source, question = ReplaySource(sample()), BY_LABEL["with a real model"]
    assert "SmolLM2-135M-Instruct stands under the bar" in actions_over(source, gallery(tmp_path)).said(question)
    public = actions_over(source, gallery(tmp_path), Limits(any_model=False)).said(question)
    assert "public page" in public
    assert "--target FOLDER --chat" in public
