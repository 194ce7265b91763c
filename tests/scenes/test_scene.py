"""Scenes in words, their pictures, their numbers."""

import re
from pathlib import Path

import pytest

from specviz.errors import PromptError
from specviz.scenes.scene import APART, GROUND, HELD_OUT, RGB, PlacedShape, Scene, pixels, scene_of

ROOT = Path(__file__).parents[2]
TWO = "large red circle at 8,8; small blue square at 24,20"


def test_a_scene_in_words_is_read_back_the_same() -> None:
    scene = Scene.parse(TWO)
    assert scene.shapes == (PlacedShape("large", "red", "circle", 8, 8), PlacedShape("small", "blue", "square", 24, 20))
    assert str(scene) == TWO
    assert Scene.of(scene.cards()) == scene
    assert Scene.parse(" Large RED circle at 8 , 8 ;") == Scene(scene.shapes[:1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has 1 to 3 shapes, but this one has 0"),
        ("; ".join(["small red circle at 8,8"] * 4), "this one has 4"),
        ("a red circle", "'a red circle' is no shape of a scene; write it like 'large red circle at 8,8"),
        ("huge red circle at 8,8", "no size 'huge' in a scene; choose one of small, large"),
        ("small pink circle at 8,8", "no colour 'pink'"),
        ("small red star at 8,8", "no shape 'star'"),
        ("large red circle at 5,8", "large circle at 5,8 does not fit into the picture; choose both numbers between 6"),
        ("small red circle at 8,29", "between 3 and 28"),
    ],
)
def test_what_is_no_scene_is_refused_with_the_cure(text: str, message: str) -> None:
    with pytest.raises(PromptError, match=re.escape(message)):
        Scene.parse(text)


def test_captions_name_shapes_from_left_to_right_and_then_from_the_top() -> None:
    scene = Scene.parse("small red cross at 20,4; small blue cross at 4,20; small green cross at 4,4")
    assert [one.colour for one in scene.in_order()] == ["green", "blue", "red"]


@pytest.mark.parametrize(
    ("shape", "rows"),
    [
        ("square", ["#######"] * 7),
        ("triangle", ["   #   ", "   #   ", "  ###  ", "  ###  ", " ##### ", " ##### ", "#######"]),
        ("cross", ["  ###  ", "  ###  ", "#######", "#######", "#######", "  ###  ", "  ###  "]),
        ("circle", ["  ###  ", " ##### ", "#######", "#######", "#######", " ##### ", "  ###  "]),
    ],
)
def test_a_small_shape_covers_these_pixels(shape: str, rows: list[str]) -> None:
    picture = pixels(Scene.parse(f"small white {shape} at 10,20"))
    found = ["".join("#" if tuple(one) == RGB["white"] else " " for one in row) for row in picture[17:24, 7:14]]
    assert found == rows
    assert (picture == GROUND).all(-1).sum() == 32 * 32 - sum(row.count("#") for row in rows)


def test_a_later_shape_is_painted_over_an_earlier_one() -> None:
    picture = pixels(Scene.parse("large red square at 10,10; small blue square at 10,10"))
    assert tuple(picture[10, 10]) == RGB["blue"]
    assert tuple(picture[4, 4]) == RGB["red"]


def test_the_page_paints_with_the_same_colours() -> None:
    sheet = (ROOT / "assets" / "css" / "tokens.css").read_text(encoding="utf-8")
    told = dict(re.findall(r"--sv-scene-(\w+): (#\w{6});", sheet))
    assert told == {name: "#{:02x}{:02x}{:02x}".format(*rgb) for name, rgb in {**RGB, "ground": GROUND}.items()}


def test_a_number_means_one_scene_and_another_one_in_another_split() -> None:
    assert scene_of("train", 5) == scene_of("train", 5)
    assert len({str(scene_of("train", seed)) for seed in range(50)}) == 50
    assert scene_of("chance", 5) != scene_of("train", 5)


def test_held_out_pairs_never_stand_in_training_and_always_in_their_own_split() -> None:
    def pairs(split: str, seed: int) -> set[tuple[str, str]]:
        return {(one.colour, one.shape) for one in scene_of(split, seed).shapes}

    assert all(pairs("train", seed).isdisjoint(HELD_OUT) for seed in range(400))
    assert all(pairs("chance", seed).isdisjoint(HELD_OUT) for seed in range(400))
    assert all(len(pairs("combination", seed) & HELD_OUT) == 1 for seed in range(100))
    assert {len(scene_of("train", seed).shapes) for seed in range(40)} == {1, 2, 3}


def test_shapes_of_a_drawn_scene_neither_touch_nor_leave_left_and_right_in_doubt() -> None:
    for seed in range(200):
        shapes = scene_of("train", seed).shapes
        for place, one in enumerate(shapes):
            for other in shapes[:place]:
                assert not one.touches(other)
                assert abs(one.x - other.x) >= APART
