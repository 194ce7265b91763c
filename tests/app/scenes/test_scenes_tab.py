"""The Scenes tab: controls to a scene and a run."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from specviz.app.form.request import Limits, request_from
from specviz.app.runs.gallery import Gallery
from specviz.app.scenes import (
    NO_SHAPE,
    OPENING,
    Composer,
    ScenesActions,
    Stage,
    doubt,
    drawn,
    place,
    request_for,
    scene_from,
)
from specviz.app.step.actions import StepActions
from specviz.app.step.filling import asked_values
from specviz.errors import OptionError, PromptError
from tests.app.doubles import ReplaySource, catalog, sample

LIMITS = Limits()
VISITOR = SimpleNamespace(session_hash="me")


# --- the composer ----------------------------------------------------------------------------------------------------


def test_the_grid_reaches_from_edge_to_edge_for_either_size() -> None:
    assert [place(step, 3) for step in (1, 3, 5)] == [3, 15, 28]
    assert [place(step, 6) for step in (1, 3, 5)] == [6, 15, 25]


def test_every_choice_of_the_controls_is_a_scene() -> None:
    for size in ("small", "large"):
        for column in range(1, 6):
            scene_from([("cross", "white", size, str(column), str(6 - column))])


def test_the_opening_scene_has_two_shapes_and_none_at_all_is_refused() -> None:
    assert str(scene_from(OPENING)) == "large red circle at 10,10; small blue square at 21,21"
    third = ("triangle", *OPENING[2][1:])
    assert doubt(scene_from([*OPENING[:2], third])) == "", "one more shape, and the captioner still knows such pictures"
    with pytest.raises(PromptError, match="has 1 to 3 shapes, but this one has 0"):
        scene_from([(NO_SHAPE, "red", "small", "1", "1")] * 3)


def test_the_picture_is_drawn_from_the_shapes_alone() -> None:
    seen = json.loads(drawn(scene_from(OPENING)))[0]
    assert seen == {"size": "large", "colour": "red", "shape": "circle", "x": 10, "y": 10}


def test_a_run_names_its_drafters_weights_or_decodes_alone() -> None:
    scene = scene_from(OPENING)
    seeing = request_for(scene, "caption-drafter-eyes", 0.5)
    assert (seeing.target, seeing.drafter.name, seeing.drafter_model) == ("captioner", "model", "caption-drafter-eyes")
    assert (seeing.scene, seeing.prompt, seeing.temperature) == (str(scene), "", 0.5)
    assert request_for(scene, "none", 0).drafter.name == "none"


# --- the form --------------------------------------------------------------------------------------------------------


def test_the_steps_form_holds_the_picture_and_gives_it_back() -> None:
    values = asked_values(request_for(scene_from(OPENING), "none", 0.0)) | {"target": "target"}
    assert request_from(values, catalog(), LIMITS).scene == str(scene_from(OPENING))
    assert request_from({**values, "scene": "", "prompt": "abc"}, catalog(), LIMITS).scene == ""
    with pytest.raises(OptionError, match="the prompt is empty"):
        request_from({**values, "scene": " "}, catalog(), LIMITS)
    with pytest.raises(PromptError, match="is no shape of a scene"):
        request_from({**values, "scene": "<b>"}, catalog(), LIMITS)


class Refusing(ReplaySource):
    """Refuses everything by this sentence; with none, nothing."""

    def __init__(self, refuses: str = "") -> None:
        super().__init__(sample())
        self.refuses = refuses

    def explain(self, request):
        return self.refuses or None


def actions_on(source: Refusing) -> tuple[ScenesActions, Composer, Stage, dict[object, object]]:
    rows = [[f"{name}{index}" for name in "abcde"] for index in range(3)]
    composer = Composer(rows, "drafter", "temperature")
    given = {
        control: value
        for row, values in zip(rows, OPENING, strict=True)
        for control, value in zip(row, values, strict=True)
    }
    stage = Stage("tabs", list("123456"), {"scene": "form scene", "target": "form target"})
    step = StepActions(source, Gallery(Path(), (), None), LIMITS)
    return ScenesActions(step), composer, stage, given | {"drafter": "caption-drafter-eyes", "temperature": 0.5}


def test_run_fills_the_steps_form_shows_that_tab_and_runs_the_scene() -> None:
    source = Refusing()
    actions, composer, stage, given = actions_on(source)
    first, *rest = actions.run(composer, stage, "message")(given, VISITOR)
    assert first["form scene"] == "large red circle at 10,10; small blue square at 21,21"
    assert first["form target"] == "captioner"
    assert first["tabs"].selected == "watch"
    assert source.requests[0][0].scene == first["form scene"]
    assert "tokens in" in rest[-1]["4"]
    assert rest[-1]["5"].interactive


def test_what_cannot_run_is_said_beside_the_composer_and_nothing_is_filled() -> None:
    source = Refusing(refuses="the captioner is missing; restore it.")
    actions, composer, stage, given = actions_on(source)
    (only,) = actions.run(composer, stage, "message")(given, VISITOR)
    assert list(only) == ["message"]
    assert "The captioner is missing" in only["message"]
    assert source.requests == []


def test_a_scene_without_shapes_leaves_the_picture_and_says_why() -> None:
    actions, composer, _, given = actions_on(Refusing())
    picture, message = actions.draw(composer)(given)
    assert json.loads(picture)[1]["colour"] == "blue"
    assert "sv-" in message
    picture, message = actions.draw(composer)(given | {"a0": NO_SHAPE, "a1": NO_SHAPE})
    assert not isinstance(picture, str)
    assert "this one has 0" in message


@pytest.mark.parametrize(
    ("column", "line", "is_doubted"),
    [("4", "4", False), ("2", "5", True), ("3", "2", True)],
    ids=["apart", "right below the other", "touching"],
)
def test_a_picture_unlike_those_of_training_is_drawn_with_a_word_of_doubt(
    column: str, line: str, is_doubted: bool
) -> None:
    actions, composer, _, given = actions_on(Refusing())
    picture, message = actions.draw(composer)(given | {"d1": column, "e1": line})
    assert isinstance(picture, str)
    assert ("may be wrong" in message) == is_doubted


@pytest.mark.parametrize("column", ["3.5", "0", "6", "x", "9" * 5_000])
def test_a_place_that_the_grid_has_not_is_one_sentence(column: str) -> None:
    with pytest.raises(PromptError, match=r"^a shape's place is '.+, but must be one of 1, 2, 3, 4, 5\.$"):
        scene_from([("circle", "red", "small", column, "1")])
