"""The button that brings a real model to this machine, called as Gradio calls it, over a source that sends megabytes by
hand."""

from pathlib import Path
from typing import Any

import pytest

from specviz.app.form.request import Limits
from specviz.app.runs.deferred import DeferredSource
from specviz.app.runs.gallery import gallery
from specviz.app.step import fetching
from specviz.app.step.actions import StepActions
from specviz.app.step.fetching import FetchActions, FetchParts
from specviz.app.step.opening import OpeningActions
from specviz.app.step.tab import step_tab
from specviz.errors import ModelError
from specviz.protocol.runs import FetchableModel
from tests.app.doubles import LACKING, MB, FetchingSource, ReplaySource, sample, unserved
from tests.app.step.test_actions import Visitor


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> FetchingSource:
    monkeypatch.setattr(fetching, "LOOK_S", 0.01)
    return FetchingSource()


def buttons(folder: Path, source: ReplaySource, limits: Limits) -> list[FetchParts]:
    with unserved():
        return step_tab(StepActions(source, gallery(folder), limits)).bar.fetches


def pressed(actions: FetchActions, visitor: Visitor, model: FetchableModel = LACKING) -> list[dict[str, Any]]:
    """What the page is told from a press to its end."""
    actions.arm(visitor)
    return list(actions.get(model)(visitor))


def test_the_button_names_the_model_and_its_size_and_the_line_its_licence_and_source(
    tmp_path: Path, source: FetchingSource
) -> None:
    (parts,) = buttons(tmp_path, source, Limits())
    assert (parts.get.value, parts.stop.interactive) == ("Get SmolLM2-135M-Instruct, 3 MB", False)
    assert "Licence: Apache-2.0. Source: a test&#x27;s own hands." in parts.line.value


def test_strangers_are_offered_none_and_neither_is_who_has_it(tmp_path: Path, source: FetchingSource) -> None:
    assert buttons(tmp_path, source, Limits(any_model=False)) == []
    source.here = 3 * MB
    assert buttons(tmp_path, source, Limits()) == []


def test_the_model_that_has_come_is_listed_as_there_and_the_button_goes(source: FetchingSource) -> None:
    actions = FetchActions(source)
    assert ("smollm2 (not installed)", "smollm2") in actions.opened(LACKING)()["target"].choices
    source.go.set()
    last = pressed(actions, Visitor())[-1]
    assert ("smollm2 (135.0 M)", "smollm2") in last["target"].choices
    assert last["row"].visible is False
    assert "SmolLM2-135M-Instruct came from a test&#x27;s own hands (Apache-2.0). Press Run." in last["line"]


def test_the_button_is_in_sight_where_the_models_pair_is_chosen(tmp_path: Path, source: FetchingSource) -> None:
    (parts,) = buttons(tmp_path, source, Limits())
    assert parts.box.visible is False
    opens = OpeningActions(gallery(tmp_path), source.catalog(), Limits(), ())
    assert opens.choose("smollm2")["fetch-smollm2"].visible is True
    assert opens.choose("bundled")["fetch-smollm2"].visible is False


def test_a_stopped_download_says_how_much_is_kept_and_the_next_press_goes_on(source: FetchingSource) -> None:
    actions, visitor, answers = FetchActions(source), Visitor(), []
    actions.arm(visitor)
    for answer in actions.get(LACKING)(visitor):
        answers.append(answer)
        if "1 of 3 MB" in answer["line"]:
            actions.stop(visitor)
    assert "Stopped. 1 of 3 MB are kept; the next press goes on from there." in answers[-1]["line"]
    assert (answers[-1]["get"].interactive, answers[-1]["stop"].interactive) == (True, False)
    assert "target" not in answers[-1]
    source.go.set()
    assert pressed(actions, visitor)[-1]["row"].visible is False
    assert source.began == [0, MB]


def test_who_leaves_the_page_stops_its_download(tmp_path: Path, source: FetchingSource) -> None:
    step, visitor = StepActions(source, gallery(tmp_path), Limits()), Visitor()
    step.leave(visitor)
    assert "Stopped. 1 of 3 MB are kept" in list(step.fetching.get(LACKING)(visitor))[-1]["line"]


def test_no_network_is_one_sentence_and_the_button_stays(source: FetchingSource) -> None:
    source.problem = ModelError("it cannot be fetched <here>; check the network.")
    last = pressed(FetchActions(source), Visitor())[-1]
    assert (
        'sv-message-error" role="status" aria-live="polite">It cannot be fetched &lt;here&gt;; check the'
        in last["line"]
    )
    assert (last["get"].interactive, "row" in last) == (True, False)


def test_a_page_that_opens_later_offers_what_has_come_meanwhile(source: FetchingSource) -> None:
    opened = FetchActions(source).opened(LACKING)
    assert (opened()["row"].visible, opened()["line"].visible) == (True, True)
    source.here = 3 * MB
    answer = opened()
    assert answer["line"].visible is False
    assert (answer["row"].visible, ("smollm2 (135.0 M)", "smollm2") in answer["target"].choices) == (False, True)


def test_a_download_waits_for_the_engine_and_a_source_that_keeps_nothing_says_so(source: FetchingSource) -> None:
    deferred = DeferredSource(lambda: source, source.catalog())
    assert list(deferred.fetch("smollm2", lambda: True)) == []
    deferred.start(0)
    source.go.set()
    assert list(deferred.fetch("smollm2"))[-1].sentence
    recorded = FetchActions(ReplaySource(sample()))
    assert "no machine behind this page" in pressed(recorded, Visitor())[-1]["line"]
