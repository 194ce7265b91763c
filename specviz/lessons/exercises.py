"""Sets of questions that stand by themselves: the test before the lessons, the one after them, and each lesson's
homework (`assets/exercises`), read and resolved as plain JSON for the page.

No run is needed: what is not chosen by its words is computed from the numbers in the question, by the values of
`values_beyond_run.py`. How to write one: `docs/teaching.md`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from specviz.errors import LessonError
from specviz.lessons.lesson import FOLDER as LESSONS
from specviz.lessons.lesson import Question, Spec, read_lesson
from specviz.lessons.resolve import question_json
from specviz.resources import ROOT, without

FOLDER = ROOT / "exercises"
TESTS = ("before", "after")
"""sets with the same subjects in the same order, so that one can be held against the other"""
HOMEWORK = "homework"
"""the file with the homework of every lesson"""


@dataclass(frozen=True, slots=True)
class Exercise:
    """One question, with the words of `Question`."""

    about: str
    """its subject in a few words"""
    ask: str
    right: Spec
    why: str
    wrong: list[Spec] = field(default_factory=list)
    choices: dict[str, str] = field(default_factory=dict)
    lesson: str = ""
    """whose homework it is"""

    @property
    def question(self) -> Question:
        return Question(self.ask, self.right, self.why, self.wrong, self.choices)


@dataclass(frozen=True, slots=True)
class ExerciseSet:
    """What is answered in one sitting and handed in as one line."""

    id: str
    """`before`, `after` or `homework-LESSON`"""
    title: str
    goal: str
    exercises: list[Exercise]


def read_sets(folder: Path = FOLDER) -> list[ExerciseSet]:
    """The tests, then the homework lesson by lesson. Raises LessonError with the file and the fault."""
    tests = [_read(folder / f"{name}.toml") for name in TESTS]
    whole = _read(folder / f"{HOMEWORK}.toml")
    lessons = list(dict.fromkeys(exercise.lesson for exercise in whole.exercises))
    homework = [
        ExerciseSet(
            f"{HOMEWORK}-{lesson}",
            f"{whole.title}: {_title_of(lesson)}",
            whole.goal,
            [exercise for exercise in whole.exercises if exercise.lesson == lesson],
        )
        for lesson in lessons
    ]
    return [*tests, *homework]


def _title_of(lesson: str) -> str:
    """Its id where its file is missing or damaged."""
    files = sorted(LESSONS.glob(f"*_{lesson}.toml"))
    return without(files[0], lambda file: read_lesson(file).title, lesson) if files else lesson


def _read(path: Path) -> ExerciseSet:
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise LessonError(f"{path.name} is no TOML: {error}; mend that line.") from error
    tables: Sequence[Mapping[str, Any]] = given.get("exercise", [])
    exercises = [_exercise(table, f"{path.name}, exercise {number}") for number, table in enumerate(tables, 1)]
    if not exercises or "title" not in given or "goal" not in given:
        raise LessonError(f"{path.name} needs a title, a goal and at least one [[exercise]].")
    return ExerciseSet(path.stem, str(given["title"]), str(given["goal"]), exercises)


def _exercise(table: Mapping[str, Any], where: str) -> Exercise:
    names = {described.name for described in fields(Exercise)}
    strange = sorted(set(table) - names)
    if strange:
        raise LessonError(f"{where} has {', '.join(strange)}; it may have {', '.join(sorted(names))}.")
    try:
        exercise = Exercise(**table)
    except TypeError as error:
        raise LessonError(f"{where} is not whole: {error}.") from error
    if bool(exercise.wrong) == bool(exercise.choices):
        raise LessonError(f"{where} asks a question; give it either wrong answers or choices.")
    return exercise


def sets_json(sets: Sequence[ExerciseSet]) -> list[dict[str, Any]]:
    """The sets as the page's script reads them. Raises LessonError where an answer cannot be computed."""
    return [
        {
            "id": chosen.id,
            "title": chosen.title,
            "goal": chosen.goal,
            "exercises": [
                {"about": exercise.about, **question_json(exercise.question)} for exercise in chosen.exercises
            ],
        }
        for chosen in sets
    ]


def shipped_sets() -> list[dict[str, Any]]:
    """Of the shipped folder; none where a file of it is damaged."""
    return without(FOLDER, lambda folder: sets_json(read_sets(folder)), [])
