"""What the captioner's eyes are taught before captions: answers for every cell, and things that have no name."""

import math
from random import Random

import pytest
import torch

from specviz.scenes.scene import COLOURS, GROUND, HELD_OUT, RGB, SHAPES, Scene, covered, pixels, scene_of
from specviz.training.captions.lessons import FAR, KINDS, NOT_ASKED, Lessons, answers_of, shown
from specviz.training.captions.train import EYES_ALONE, fresh, waves

TWO = Scene.parse("large red circle at 9,8; small blue square at 24,20")
RED_CIRCLE = Scene.parse("large red circle at 9,8")


def test_a_cell_answers_for_the_shape_whose_centre_lies_in_it_and_the_others_say_none() -> None:
    answers = answers_of(TWO, dict.fromkeys(TWO.shapes, "nothing"))
    # 1 + colour, shape, size, order from the left, pixels from the cell's left edge and from its top
    assert answers[1 * 4 + 1].tolist() == [1, 1, 2, 1, 2, 1]
    assert answers[2 * 4 + 3].tolist() == [3, 2, 1, 2, 1, 5]
    assert int((answers.sum(-1) > 0).sum()) == 2


def test_what_has_no_name_is_not_asked_and_all_else_is() -> None:
    met = set()
    for seed in range(60):
        picture, nameless = shown(RED_CIRCLE, Random(seed))
        answers = answers_of(RED_CIRCLE, nameless)
        (colour,) = {tuple(one) for one in picture.reshape(-1, 3).tolist()} - {GROUND}
        is_red = colour == RGB["red"]
        is_circle = bool(((picture != GROUND).any(-1) == covered(RED_CIRCLE.shapes[0])).all())
        assert answers[5].tolist() == [1 if is_red else NOT_ASKED, 1 if is_circle else NOT_ASKED, 2, 1, 2, 1]
        assert is_red or all(math.dist(colour, known) >= FAR for known in RGB.values())
        met.add((is_red, is_circle))
    assert met == {(True, True), (False, True), (True, False)}


def test_no_lesson_shows_a_pair_that_is_kept_out_of_training() -> None:
    lessons = Lessons(32, seed=3)
    asked = {
        (COLOURS[colour - 1], SHAPES[shape - 1])
        for step in range(8)
        for colour, shape, *_ in lessons.batch(step).answers.flatten(0, 1).tolist()
        if min(colour, shape) > 0
    }
    assert len(asked) > 15
    assert asked.isdisjoint(HELD_OUT)


def test_a_lesson_follows_from_its_step_and_starts_from_training_scenes() -> None:
    lessons = Lessons(4, seed=2)
    assert torch.equal(lessons.batch(3).pictures, lessons.batch(3).pictures)
    assert not torch.equal(lessons.batch(3).pictures, lessons.batch(4).pictures)
    assert lessons.batch(3).n_tokens == 4
    scene = scene_of("train", (2 << 32) + 3 * 4)
    unchanged = torch.tensor(pixels(scene)) == lessons.batch(3).pictures[0]
    assert float(unchanged.all(-1).float().mean()) > 0.5  # the ground at least


def test_fresh_eyes_guess_and_what_is_not_asked_costs_nothing() -> None:
    model = fresh(EYES_ALONE, 77)
    lesson = Lessons(8, seed=1).batch(0)
    loss = model.reading_loss(lesson)
    assert loss.item() == pytest.approx(sum(math.log(count + 1) for count in KINDS), abs=2.5)
    loss.backward()
    assert model.eyes is not None
    assert model.eyes.patches.weight.grad is not None
    assert float(model.eyes.patches.weight.grad.abs().sum()) > 0
    assert model.language.lm_head.weight.grad is None
    lesson.answers[..., 0] = NOT_ASKED
    lesson.answers[0, 0, 0] = 0  # one question about a colour remains
    model.zero_grad()
    model.reading_loss(lesson).backward()
    assert model.reader is not None
    assert model.reader.bias.grad is not None
    assert float(model.reader.bias.grad[: KINDS[0] + 1].abs().sum()) <= 2


def test_the_position_table_begins_with_neighbours_alike() -> None:
    table = waves(grid=8, width=64)
    assert table.shape == (64, 64)
    near, far = (float((table[0] - table[place]).norm()) for place in (1, 7))
    assert near < far
    assert torch.allclose(table[8, 32:], table[0, 32:])  # one row further down: the same column
    assert not torch.allclose(table[8, :32], table[0, :32])
