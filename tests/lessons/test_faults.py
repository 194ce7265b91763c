"""A lesson that is wrong is found: each fault in its file, and a moment or an answer that no run has."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from specviz.errors import LessonError
from specviz.lessons.answers import Value, check_claim
from specviz.lessons.lesson import Lesson, read_lesson
from specviz.lessons.resolve import Read, lesson_json, lessons_json, shown, stands_in
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
text = "This round drafted {drafted} candidates; it added {twice} tokens with two more."
run = "any"
at = { kind = "rejection" }
claims = ["rejected > 0"]
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
    drafted = len(this.nodes) - 1
    assert beat["text"] == f"This round drafted {drafted} candidates; it added {kept + 2} tokens with two more."
    assert beat["at"]["round"] == this.index
    assert [choice["text"] for choice in beat["question"]["choices"] if choice["right"]] == [str(kept)]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("title =", "titel =", "beat 1 has titel"),
        ('run = "any"', 'run = "other"', "shows the run 'other'"),
        ('at = { kind = "rejection" }', "", "beat 1 is not whole"),
        ("{drafted} candidates;", "{drafted} " + "word " * 60, "60 are the most"),
        ('run = "any"', 'run = "any"\nlit = ["sky"]', "the area 'sky'"),
        ('run = "any"', 'run = "any"\nlink = { tab = "Sky", label = "up" }', "the tab 'Sky'"),
        ("wrong = [", 'choices = { a = "b" }\nwrong = [', "either wrong answers or choices"),
        ('run = "any"', 'run = "any"\nwrite = { rule = "accept = P" }', "'P' is not known here"),
        ('run = "any"', 'run = "any"\nwrite = { task = "exact", rule = "accept = 1" }', "either a task or a rule"),
        ('run = "any"', 'run = "any"\nwrite = { task = "exact" }', "more than one of question, live and write"),
        ('run = "any"', f'run = "any"\nplain = "{"word " * 61}"', "61 words; split it, 60 are the most"),
        ('claims = ["rejected > 0"]', "claims = []", "beat 1 claims nothing"),
        ("minutes = 3", "minutes = ", "is no TOML"),
    ],
)
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
        ("This round drafted {drafted}", "This round drafted {shoes}", "no value 'shoes'"),
        ("This round drafted {drafted}", "This round drafted {drafted", "a placeholder that cannot be filled"),
        ('wrong = ["drafted", { value = "kept", plus = 1 }, 0]', 'wrong = ["kept"]', "different answers here"),
        ('wrong = ["drafted", { value = "kept", plus = 1 }, 0]', 'choices = { a = "b" }', "none of the choices"),
        ("values = {", 'values = { x = { value = "drafter", plus = 1 },', ""),
    ],
)
def test_what_no_run_shows_is_said_in_words(tmp_path: Path, old: str, new: str, said: str) -> None:
    lesson = written(tmp_path, WHOLE.replace(old, new))
    if not said:  # a value that no sentence uses is not computed
        assert lesson_json(lesson, runs())
        return
    with pytest.raises(LessonError) as caught:
        lesson_json(lesson, runs())
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("rejected = 0", "it claims rejected = 0, but here rejected is 1."),
        ("kept > drafted", "it claims kept > drafted, but here kept is 3 and drafted is 4."),
        ("origin = 'bonus'", "it claims origin = 'bonus', but here origin is correction."),
        ("origin != origin", "it claims origin != origin, but here origin is correction and origin is correction."),
        ("twice < 5", "it claims twice < 5, but here twice is 5."),
        ("shoes > 1", "there is no value 'shoes'"),
        ("origin > 1", "are a word and a number"),
        ("origin < 'bonus'", "are words; they are equal or not"),
        ("kept", "'kept' is no claim"),
        ("kept > 1 and more", "is no claim"),
    ],
)
def test_a_claim_that_the_run_does_not_show_refuses_the_lesson(tmp_path: Path, claim: str, said: str) -> None:
    lesson = written(tmp_path, WHOLE.replace('["rejected > 0"]', f'["rejected > 0", "{claim}"]'))
    with pytest.raises(LessonError) as caught:
        lesson_json(lesson, runs())
    assert said in str(caught.value)


def test_an_editor_with_a_task_that_there_is_not_is_refused(tmp_path: Path) -> None:
    bare = WHOLE.partition("[beat.question]")[0]
    told = lesson_json(written(tmp_path, bare + 'write = { task = "exact" }\n'), runs())
    assert told["beats"][0]["write"] == {"task": "exact", "rule": ""}
    with pytest.raises(LessonError, match="the task 'fly'; there are exact, more"):
        lesson_json(written(tmp_path, bare + 'write = { task = "fly" }\n'), runs())


def test_claims_that_the_run_shows_are_held(tmp_path: Path) -> None:
    claims = ["rejected = 1", "kept < drafted", "kept <= 3", "twice >= 5", "origin = 'correction'", "origin != 'bonus'"]
    assert lesson_json(written(tmp_path, WHOLE.replace('["rejected > 0"]', json.dumps(claims))), runs())


def test_numbers_that_read_the_same_are_the_same() -> None:
    values: dict[str, Value] = {"a": 1.0004, "b": 1, "c": 1.01}
    check_claim("a = b", values.__getitem__, shown)
    check_claim("c > b", values.__getitem__, shown)
    for claim in ("a > b", "a != b", "b < a"):
        with pytest.raises(LessonError, match="it claims"):
            check_claim(claim, values.__getitem__, shown)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "This round drafted {drafted}",
            "This round kept {kept} of {drafted}",
            "the answer '3' stands in its own text",
        ),
        ("How many?", "How many but {kept}?", "the answer '3' stands in its own text"),
        (
            'right = "kept"\nwrong = ["drafted", { value = "kept", plus = 1 }, 0]',
            'right = "origin"\nchoices = { correction = "{round_number}", bonus = "{round_number}", target = "none" }',
            "two choices of 'How many?' read the same here",
        ),
    ],
)
def test_a_question_that_answers_itself_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(LessonError) as caught:
        lesson_json(written(tmp_path, WHOLE.replace(old, new)), runs())
    assert said in str(caught.value)


def test_an_answer_is_found_as_a_number_or_words_of_its_own() -> None:
    assert stands_in("3", "It kept 3 of 4.")
    assert stands_in("0.35", "Together: 0.35, which is p.")
    assert stands_in("from the target", "It comes From the target.")
    assert not stands_in("3", "It kept 13 of 3.5, at p3.")
    assert not stands_in("1", "min(p, q) = 0.1")


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
