"""Captions say what is in the scene, in words of which each is grammar or decided by the picture."""

from collections import Counter
from random import Random

import pytest

from specviz.scenes.captions import (
    GROUNDED,
    PICTURE_IDS,
    PICTURE_TOKENS,
    caption,
    is_grounded,
    named,
    shown,
    spelt,
    talk,
    token_strings,
    words,
)
from specviz.scenes.scene import Scene, scene_of
from specviz.training.captions.train import tokenizer

TWO = Scene.parse("small blue square at 24,20; large red circle at 8,8")


def captions(scene: Scene, count: int = 300) -> set[str]:
    return {caption(scene, Random(seed)) for seed in range(count)}


def test_every_caption_names_every_shape_once() -> None:
    for seed in range(300):
        scene = scene_of("train", seed)
        assert named(caption(scene, Random(seed))) == shown(scene)


def test_a_scene_can_be_said_in_many_ways_and_shapes_come_from_left_to_right() -> None:
    ways = captions(TWO)
    assert "there is a large red circle left of a small blue square." in ways
    assert "the picture shows two shapes: a large red circle and a small blue square." in ways
    assert len(ways) > 40
    assert all(one.index("red") < one.index("blue") for one in ways)


@pytest.mark.parametrize(
    ("scene", "said"),
    [
        ("small red circle at 4,16; small blue circle at 20,18", "red circle left of a small blue"),
        ("small red circle at 14,4; small blue circle at 18,26", "red circle above a small blue"),
        ("small red circle at 14,26; small blue circle at 18,4", "red circle below a small blue"),
        ("small red circle at 16,16", "at the middle of the picture"),
        ("small red circle at 4,4", "at the top left of the picture"),
        ("small red circle at 28,16", "at the right of the picture"),
    ],
)
def test_relations_and_places_are_those_of_the_scene(scene: str, said: str) -> None:
    assert any(said in one for one in captions(Scene.parse(scene)))


def test_a_word_that_the_picture_decides_never_stands_where_it_does_not() -> None:
    """The grammar around the shapes has none of these words, so a word's kind is that of its token."""
    for seed in range(200):
        scene = Scene.parse("small red circle at 16,16")
        text = caption(scene, Random(seed)).replace("small red circle", "")
        assert {word for word in words(text) if word in GROUNDED} <= {"one", "middle"}


def test_a_text_names_what_it_says_in_full_and_as_often() -> None:
    found = named("a small red circle, a small red circle and a red cross left of a large blue square.")
    assert found == Counter({("small", "red", "circle"): 2, ("large", "blue", "square"): 1})


def test_every_word_of_captions_and_talk_is_one_token_and_no_text_brings_a_new_one() -> None:
    strings, words_of = token_strings(), tokenizer()
    assert len(strings) < 128
    assert strings[PICTURE_IDS[0] : PICTURE_IDS[-1] + 1] == list(PICTURE_TOKENS)
    for seed in range(5000, 5400):
        for text in (caption(scene_of("chance", seed), Random(seed)), talk(Random(seed))):
            encoding = words_of.encode(" " + text)
            assert encoding.tokens == [one if one in ",.:;?" else f" {one}" for one in words(text)]
            assert 1 not in encoding.ids


def test_a_beginning_typed_in_any_way_is_spelt_as_tokens_are() -> None:
    assert spelt("There is  a LARGE,red") == " there is a large, red"
    assert spelt("") == ""
    assert is_grounded(" red")
    assert not is_grounded(" there")
