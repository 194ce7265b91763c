"""A lesson as it is written: `assets/lessons/*.toml`, read and checked. What the fields mean: `docs/lessons.md`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from specviz.errors import LessonError
from specviz.resources import ROOT
from specviz.written_rules.language import RuleError, parse

FOLDER = ROOT / "lessons"
AREAS = ("badge", "text", "draft", "card", "caption", "transport", "exhibits", "costs", "counters", "tools")
"""areas of the player that a beat may light or hide"""
TABS = ("Race", "When it pays", "Studies", "Machine", "What if", "Proof", "About")
"""tabs that a beat may lead to"""
EXHIBITS = ("overlap", "clocks", "cheap")
"""what a beat may put under the visitor's fingers: `panels/touch.js`, `panels/clocks.js`, `page/cheap_panel.js`"""
WORDS = 60
"""a beat's text has at most so many"""

Spec = str | int | Mapping[str, Any]
"""a value: its name, a number, or a table with the name under `value`, parameters, and `plus` to add"""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Runs:
    """Which recorded run a key of the lesson stands for: the first that is all of this and shows every beat on it."""

    kinds: list[str] = field(default_factory=list)
    """what it must be, by the names in `runs.KINDS`"""
    drafters: list[str] = field(default_factory=list)
    """its drafter is one of these; empty: any"""
    names: list[str] = field(default_factory=list)
    """patterns of file names to look at first, in this order; all others come after them"""


@dataclass(frozen=True, slots=True)
class Place:
    """A moment by its name."""

    kind: str
    nth: int = 1
    back: int = 0
    """so many beats before it"""


@dataclass(frozen=True, slots=True)
class Question:
    """One question: `right` is computed and stands among `wrong` ones, or it names one of the written `choices`."""

    ask: str
    right: Spec
    why: str
    wrong: list[Spec] = field(default_factory=list)
    choices: dict[str, str] = field(default_factory=dict)
    plain: str = ""
    """`why` in plain words; empty where it is plain"""


@dataclass(frozen=True, slots=True)
class Live:
    """An exercise on a run of the visitor's own, ticked off by a check in `assets/js/page/live_checks.js`."""

    check: str
    ask: str


@dataclass(frozen=True, slots=True)
class Link:
    """Where the page proves or shows more."""

    tab: str
    label: str


@dataclass(frozen=True, slots=True)
class Write:
    """The editor of rules beside a beat: with a task of `written_rules/tasks.py`, or with a rule alone."""

    task: str = ""
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Beat:
    """One idea: a text, and what the player shows with it."""

    title: str
    text: str
    run: str
    at: Place
    claims: list[str] = field(default_factory=list)
    """what its sentences take for granted, tested on the run: see `claims`; at least one"""
    exercise: bool = False
    guess: bool = False
    lit: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    values: dict[str, Spec] = field(default_factory=dict)
    """names that the texts may use in addition to those of `answers.ANSWERS`"""
    question: Question | None = None
    live: Live | None = None
    link: Link | None = None
    plain: str = ""
    """the text in plain words; empty where it is plain"""
    write: Write | None = None
    touch: str = ""
    """one of `EXHIBITS`, with numbers of the visitor's own"""


@dataclass(frozen=True, slots=True)
class Lesson:
    id: str
    """file name without its number and ending"""
    title: str
    goal: str
    minutes: int
    runs: dict[str, Runs]
    beats: list[Beat]
    plain_words: dict[str, str] = field(default_factory=dict)
    """the lesson's titles, questions and choices as they are written → the same in plain words, where these differ"""


def read(folder: Path = FOLDER) -> list[Lesson]:
    """All lessons of a folder in the order of their file names. Raises LessonError with the file and the fault."""
    return [read_lesson(path) for path in sorted(folder.glob("*.toml"))]


def read_lesson(path: Path) -> Lesson:
    """One lesson. Raises LessonError with the file and the fault."""
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise LessonError(f"{path.name} is no TOML: {error}; mend that line.") from error
    try:
        return _lesson(path.stem.split("_", 1)[-1], given)
    except LessonError as error:
        raise LessonError(f"{path.name}: {error}") from error


def _lesson(name: str, given: dict[str, Any]) -> Lesson:
    runs = {key: _made(Runs, table, f"run '{key}'") for key, table in given.pop("runs", {}).items()}
    beats = [_beat(table, index) for index, table in enumerate(given.pop("beat", []), 1)]
    lesson = _made(Lesson, {"id": name, "runs": runs, "beats": beats, **given}, "the lesson")
    if not lesson.beats:
        raise LessonError("it has no beat; write at least one [[beat]].")
    strange = sorted(set(lesson.plain_words) - set(labels(lesson)))
    if strange:
        raise LessonError(f"its plain_words have “{strange[0]}”, which is no title, question or choice of it.")
    for index, beat in enumerate(lesson.beats, 1):
        _check(beat, runs, f"beat {index}")
    return lesson


def labels(lesson: Lesson) -> list[str]:
    """What stands around the lesson's texts: titles, its goal, questions with their choices, exercises."""
    return [lesson.title, lesson.goal, *(label for beat in lesson.beats for label in labels_of(beat))]


def labels_of(beat: Beat) -> list[str]:
    """The same of one beat."""
    asked = beat.question
    question = [asked.ask, *asked.choices.values()] if asked else []
    return [beat.title, *question, *([beat.live.ask] if beat.live else [])]


def _beat(given: dict[str, Any], number: int) -> Beat:
    where = f"beat {number}"
    parts = {"at": Place, "question": Question, "live": Live, "link": Link, "write": Write}
    made: dict[str, Any] = {
        key: _made(kind, given[key], f"{where}, {key}") for key, kind in parts.items() if key in given
    }
    return _made(Beat, {**given, **made}, where)


def _made(kind: type[T], given: Mapping[str, Any], where: str) -> T:
    """The record from a table. Raises LessonError for a field too many or too few."""
    names = [one.name for one in fields(kind)]  # type: ignore[arg-type]
    strange = sorted(set(given) - set(names))
    if strange:
        raise LessonError(f"{where} has {', '.join(strange)}; it may have {', '.join(names)}.")
    try:
        return kind(**given)
    except TypeError as error:
        raise LessonError(f"{where} is not whole: {error}.") from error


def _check(beat: Beat, runs: Mapping[str, Runs], where: str) -> None:
    if beat.run not in runs:
        raise LessonError(f"{where} shows the run '{beat.run}'; there are {', '.join(runs)}.")
    if not beat.claims:
        raise LessonError(f"{where} claims nothing; write under `claims` what its run must show, as kept > 1.")
    for text in (beat.text, beat.plain):
        if len(text.split()) > WORDS:
            raise LessonError(f"{where} has {len(text.split())} words; split it, {WORDS} are the most.")
    for area in (*beat.lit, *beat.hidden):
        if area not in AREAS:
            raise LessonError(f"{where} names the area '{area}'; there are {', '.join(AREAS)}.")
    if beat.link and beat.link.tab not in TABS:
        raise LessonError(f"{where} leads to the tab '{beat.link.tab}'; there are {', '.join(TABS)}.")
    if beat.touch and beat.touch not in EXHIBITS:
        raise LessonError(f"{where} lets touch '{beat.touch}'; there are {', '.join(EXHIBITS)}.")
    if beat.question and bool(beat.question.wrong) == bool(beat.question.choices):
        raise LessonError(f"{where} asks a question; give it either wrong answers or choices.")
    if beat.write:
        _check_write(beat.write, where)
    if sum(1 for asked in (beat.question, beat.live, beat.write) if asked) > 1:
        raise LessonError(f"{where} has more than one of question, live and write; make two beats of it.")


def _check_write(write: Write, where: str) -> None:
    if bool(write.task) == bool(write.rule):
        raise LessonError(f"{where} opens the editor of rules; give it either a task or a rule.")
    try:
        if write.rule:
            parse(write.rule)
    except RuleError as error:
        raise LessonError(f"{where} opens the editor with a rule that cannot be read: {error}") from error
