"""A lesson that is wrong is found: each fault in its file, and a moment or an answer that no run has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from specviz.errors import LessonError
from specviz.lessons.lesson import Lesson, read_lesson
from specviz.lessons.resolve import Read, lesson_json, lessons_json
from specviz.trace.events import Trace
from tests.app.doubles import sample

WHOLE = """
title = "A lesson"
goal = "To be read."
minutes = 3

[runs.any]
kinds = ["drafted"]

[[beat]]
title = "One"
text = "This round added {kept} tokens, {twice} with two more."
run = "any"
at = { kind = "rejection" }
values = { twice = { value = "kept", plus = 2 } }
[beat.question]
ask = "How many?"
right = "kept"
wrong = ["drafted", { value = "kept", plus = 1 }, 0]
why = "{kept}."
"""


def written(folder: Path, text: str) -> Lesson:
    path = folder / "1_lesson.toml"
    path.write_text(text, encoding="utf-8")
    return read_lesson(path)


def runs() -> Mapping[str, Read]:
    return {"sample.json.gz": sample}


def test_the_whole_one_is_read_and_filled(tmp_path: Path) -> None:
    played = lesson_json(written(tmp_path, WHOLE), runs())
    beat, trace = played["beats"][0], sample()
    this = next(one for one in trace.rounds if any(not trial.accepted for trial in one.judged.trials))
    kept = len(this.committed.tokens)
    assert played["id"] == "lesson"
    assert played["runs"]["any"] == {"file": "sample.json.gz", "run_id": trace.started.run_id}
    assert beat["text"] == f"This round added {kept} tokens, {kept + 2} with two more."
    assert beat["at"]["round"] == this.index
    assert [choice["text"] for choice in beat["question"]["choices"] if choice["right"]] == [str(kept)]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("title =", "titel =", "beat 1 has titel"),
        ("run = \"any\"", "run = \"other\"", "shows the run 'other'"),
        ("at = { kind = \"rejection\" }", "", "beat 1 is not whole"),
        ("{kept} tokens,", "{kept} " + "word " * 60, "60 are the most"),
        ("run = \"any\"", "run = \"any\"\nlit = [\"sky\"]", "the area 'sky'"),
        ("run = \"any\"", "run = \"any\"\nlink = { tab = \"Sky\", label = \"up\" }", "the tab 'Sky'"),
        ("wrong = [", "choices = { a = \"b\" }\nwrong = [", "either wrong answers or choices"),
        ("minutes = 3", "minutes = ", "is no TOML"),
    ],
)  # fmt: skip
def test_a_fault_in_the_file_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    head, beat = WHOLE.split("[[beat]]")
    text = WHOLE.replace(old, new) if old.startswith("minutes") else head + "[[beat]]" + beat.replace(old, new, 1)
    with pytest.raises(LessonError, match=r"1_lesson\.toml") as caught:
        written(tmp_path, text)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('kind = "rejection"', 'kind = "eclipse"', "no moment 'eclipse'"),
        ('kind = "rejection"', 'kind = "rejection", nth = 999', "number 999, which is not there"),
        ('kind = "rejection"', 'kind = "rejection", nth = 0', "nth = 0"),
        ('kinds = ["drafted"]', 'kinds = ["plain"]', "no recorded run (plain)"),
        ('kinds = ["drafted"]', 'kinds = ["big"]', "no kind of run 'big'"),
        ('kinds = ["drafted"]', 'drafters = ["nobody"]', "no recorded run (nobody)"),
        ('right = "kept"', 'right = "weight"', "no value 'weight'"),
        ('right = "kept"', 'right = { value = "kept", rows = 3 }', "does not take ['rows']"),
        ('right = "kept"', 'right = "drafter"', "write choices for it"),
        ("This round added {kept}", "This round added {shoes}", "no value 'shoes'"),
        ('wrong = ["drafted", { value = "kept", plus = 1 }, 0]', 'wrong = ["kept"]', "different answers here"),
        ('wrong = ["drafted", { value = "kept", plus = 1 }, 0]', 'choices = { a = "b" }', "none of the choices"),
        ("values = {", 'values = { x = { value = "drafter", plus = 1 },', ""),
    ],
)  # fmt: skip
def test_what_no_run_shows_is_said_in_words(tmp_path: Path, old: str, new: str, said: str) -> None:
    lesson = written(tmp_path, WHOLE.replace(old, new))
    if not said:  # a value that no sentence uses is not computed
        assert lesson_json(lesson, runs())
        return
    with pytest.raises(LessonError) as caught:
        lesson_json(lesson, runs())
    assert said in str(caught.value)


def test_the_page_keeps_the_other_lessons(tmp_path: Path) -> None:
    good, bad = written(tmp_path, WHOLE), written(tmp_path, WHOLE.replace("rejection", "eclipse"))
    told = lessons_json([replace(bad, id="bad"), good], runs())
    assert [one["id"] for one in told["lessons"]] == ["lesson"]
    assert [one["id"] for one in told["missing"]] == ["bad"]


def test_the_first_run_that_shows_everything_is_taken_and_read_once(tmp_path: Path) -> None:
    asked: list[str] = []

    def reader(name: str, trace: Trace) -> Read:
        def load() -> Trace:
            asked.append(name)
            return trace

        return load

    whole = sample()
    bare = replace(whole, rounds=whole.rounds[:0])
    known = {"bare": reader("bare", bare), "whole": reader("whole", whole), "never": reader("never", whole)}
    lesson = written(tmp_path, WHOLE)
    told = lessons_json([lesson, lesson], known)
    assert [one["runs"]["any"]["file"] for one in told["lessons"]] == ["whole", "whole"]
    assert sorted(asked) == ["bare", "whole"]
