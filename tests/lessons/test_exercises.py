"""The tests and the homework that ship: one right answer each, the same subjects before and after, three a lesson."""

from pathlib import Path
from typing import Any

import pytest

from specviz.errors import LessonError
from specviz.lessons import values_beyond_run
from specviz.lessons.exercises import FOLDER, read_sets, sets_json, shipped_sets
from specviz.lessons.lesson import Question, read
from specviz.lessons.resolve import question_json

SETS: dict[str, dict[str, Any]] = {one["id"]: one for one in sets_json(read_sets())}
RIGHT = {
    "before": ["6", "0.50"],
    "after": ["8", "0.25"],
    "homework-guess_and_check": ["72"],
    "homework-four_verdicts": ["0.75", "1", "8"],
    "homework-the_law_stays": ["0.60", "0.75"],
    "homework-when_it_pays": ["1.88", "2.27", "0"],
    "homework-trees": ["21"],
    "homework-other_drafters": [],
    "homework-stopping_and_truth": [],
    "homework-write_the_rule": ["0.70"],
}
"""the numbers among the right answers, worked out by hand"""


def right(chosen: dict[str, Any]) -> list[str]:
    return [choice["text"] for one in chosen["exercises"] for choice in one["choices"] if choice["right"]]


def test_every_question_has_one_right_answer_among_three_or_more() -> None:
    for chosen in SETS.values():
        for asked in chosen["exercises"]:
            assert [choice["right"] for choice in asked["choices"]].count(True) == 1, asked["ask"]
            assert 3 <= len(asked["choices"]) <= 4, asked["ask"]
            assert len({choice["text"] for choice in asked["choices"]}) == len(asked["choices"])


def test_the_numbers_are_what_they_are_by_hand() -> None:
    numbers = {
        name: [text for text in right(chosen) if text.replace(".", "").isdigit()] for name, chosen in SETS.items()
    }
    assert numbers == RIGHT


def test_both_tests_ask_about_the_same_ten_things_in_the_same_order() -> None:
    about = {name: [asked["about"] for asked in SETS[name]["exercises"]] for name in ("before", "after")}
    assert about["before"] == about["after"]
    assert len(set(about["before"])) == 10
    asked = [{one["ask"] for one in SETS[name]["exercises"]} for name in ("before", "after")]
    assert not asked[0] & asked[1]


def test_every_lesson_has_three_exercises_as_homework() -> None:
    homework = {name: len(chosen["exercises"]) for name, chosen in SETS.items() if name.startswith("homework-")}
    assert homework == {f"homework-{lesson.id}": 3 for lesson in read()}
    titles = {name: chosen["title"] for name, chosen in SETS.items() if name.startswith("homework-")}
    assert titles == {f"homework-{lesson.id}": f"Homework: {lesson.title}" for lesson in read()}


def test_the_right_answer_is_not_always_in_one_place() -> None:
    places = [
        [choice["right"] for choice in asked["choices"]].index(True)
        for chosen in SETS.values()
        for asked in chosen["exercises"]
    ]
    assert max(places.count(place) for place in range(3)) <= len(places) // 2


def test_a_value_of_a_run_is_refused_without_one() -> None:
    with pytest.raises(LessonError, match="'kept' is one of a run"):
        question_json(Question("How many?", {"value": "kept"}, "So.", [1, 2]))


def test_a_set_that_is_wrong_is_refused_with_its_place(tmp_path: Path) -> None:
    for name in ("before", "after", "homework"):
        (tmp_path / f"{name}.toml").write_text((FOLDER / f"{name}.toml").read_text(encoding="utf-8"), encoding="utf-8")
    broken = tmp_path / "after.toml"
    whole = broken.read_text(encoding="utf-8")
    for text, fault in (
        (whole.replace("about =", "abuot =", 1), "after.toml, exercise 1 has abuot"),
        (whole.replace('why = "', 'wrong = [1]\nwhy = "', 1), "exercise 1 asks a question; give it either"),
        ("title = 3 4", "after.toml is no TOML"),
        ('title = "Empty"', "needs a title, a goal and at least one"),
    ):
        broken.write_text(text, encoding="utf-8")
        with pytest.raises(LessonError, match=fault):
            read_sets(tmp_path)


def test_what_ships_is_what_the_page_gets() -> None:
    assert shipped_sets() == list(SETS.values())


def test_the_modelled_pace_is_on_either_side_of_plain_decoding() -> None:
    here: Any = None
    assert values_beyond_run.modelled_pace(here, alpha=0.9, gamma=4, cost_ratio=0.9) == "slower"
    assert values_beyond_run.modelled_pace(here, alpha=0.6, gamma=4, cost_ratio=0.05) == "faster"
    assert values_beyond_run.modelled_pace(here, alpha=0.0, gamma=0, cost_ratio=0.5) == "equal"
