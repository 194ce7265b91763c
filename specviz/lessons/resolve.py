"""Lessons against recorded runs: moments become rounds and beats, placeholders become numbers, answers are computed.

What comes out is plain JSON that `assets/js/page/lesson.js` plays without asking anybody: on the page, in an exported
file, on a static site.
"""

from __future__ import annotations

import fnmatch
import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from specviz.errors import LessonError
from specviz.lessons import values_beyond_run, values_of_run  # noqa: F401 - they register
from specviz.lessons.answers import Here, Value, check_claim, computed
from specviz.lessons.lesson import Beat, Lesson, Question, Spec, Write, labels_of
from specviz.lessons.moments import found, is_kind
from specviz.trace import codec
from specviz.trace.events import Trace
from specviz.written_rules.verdict import for_the_page

LEAST_CHOICES = 3
VERSION = 1
"""of the JSON that the page's script reads"""

Read = Callable[[], Trace]


def lessons_json(lessons: Sequence[Lesson], traces: Mapping[str, Read]) -> dict[str, Any]:
    """All lessons that these runs can teach, and the reason for each that they cannot.

    `traces`: file name → the run, read when it is first looked at, once.
    """
    known = _once(traces)
    playable, missing = [], []
    for lesson in lessons:
        try:
            playable.append(lesson_json(lesson, known))
        except LessonError as error:
            missing.append({"id": lesson.id, "title": lesson.title, "why": str(error)})
    return {"version": VERSION, "lessons": playable, "missing": missing}


def lesson_json(lesson: Lesson, traces: Mapping[str, Read]) -> dict[str, Any]:
    """One lesson, ready to be played. Raises LessonError where no run shows all that it teaches."""
    chosen = {key: _choose(lesson, key, traces) for key in lesson.runs}
    beats = [chosen[beat.run][2].pop(0) for beat in lesson.beats]
    runs = {key: {"file": file, "run_id": trace.started.run_id} for key, (file, trace, _) in chosen.items()}
    return {
        "id": lesson.id,
        "title": lesson.title,
        "goal": lesson.goal,
        "plain_words": {text: lesson.plain_words.get(text, text) for text in (lesson.title, lesson.goal)},
        "minutes": lesson.minutes,
        "runs": runs,
        "beats": beats,
    }


def lesson_file(lesson: Lesson, traces: Mapping[str, Read], beat: int = 0) -> dict[str, Any]:
    """One lesson with all its runs, as `SpecViz.playLesson` plays it without a server from `beat` (from 0) on.

    Raises LessonError where no run shows all that it teaches.
    """
    told = lesson_json(lesson, traces)
    files = sorted({run["file"] for run in told["runs"].values()})
    texts = {file: codec.dumps(traces[file]()) for file in files}
    return {"data": {"lessons": [told], "missing": []}, "texts": texts, "id": lesson.id, "beat": beat}


def _once(traces: Mapping[str, Read]) -> dict[str, Read]:
    read: dict[str, Trace] = {}

    def reader(file: str) -> Read:
        return lambda: read[file] if file in read else read.setdefault(file, traces[file]())

    return {file: reader(file) for file in traces}


def _choose(lesson: Lesson, key: str, traces: Mapping[str, Read]) -> tuple[str, Trace, list[dict[str, Any]]]:
    """(file, run, its beats of the lesson), of the first run that is and shows all that is asked for."""
    wanted = lesson.runs[key]
    first_reason = ""
    for file in _in_order(wanted.names, list(traces)):
        trace = traces[file]()
        fits = not wanted.drafters or trace.started.drafter.name in wanted.drafters
        if not fits or not trace.rounds or not all(is_kind(trace, kind) for kind in wanted.kinds):
            continue
        try:
            return file, trace, [_played(beat, trace, lesson.plain_words) for beat in lesson.beats if beat.run == key]
        except LessonError as error:
            first_reason = first_reason or f" The nearest is {file}: {error}"
    kinds = ", ".join([*wanted.kinds, *wanted.drafters]) or "of any kind"
    raise LessonError(f"no recorded run ({kinds}) shows what the lesson '{lesson.id}' teaches on it.{first_reason}")


def _in_order(patterns: Sequence[str], files: Sequence[str]) -> list[str]:
    named = [file for pattern in patterns for file in files if fnmatch.fnmatch(file, pattern)]
    return list(dict.fromkeys([*named, *files]))


def _played(beat: Beat, trace: Trace, plain_words: Mapping[str, str]) -> dict[str, Any]:
    at = found(trace, beat.at.kind, beat.at.nth)
    if at is None:
        raise LessonError(f"“{beat.title}” needs the moment '{beat.at.kind}' number {beat.at.nth}, which is not there.")
    here = Here(trace, at)
    try:
        fill = _Fill(here, beat.values)
        for claim in beat.claims:
            check_claim(claim, fill.value, shown)
        return {
            "title": fill(beat.title),
            "plain_words": {fill(text): fill(plain_words[text]) for text in labels_of(beat) if text in plain_words},
            "text": fill(beat.text),
            "plain": fill(beat.plain or beat.text),
            "run": beat.run,
            "exercise": beat.exercise,
            "at": {**asdict(at), "back": beat.at.back},
            "guess": beat.guess,
            "lit": beat.lit,
            "hidden": beat.hidden,
            "question": None if beat.question is None else _asked_here(beat, beat.question, fill),
            "live": None if beat.live is None else {"check": beat.live.check, "ask": fill(beat.live.ask)},
            "link": None if beat.link is None else asdict(beat.link),
            "touch": beat.touch,
            "write": None if beat.write is None else _editor(beat.write),
        }
    except LessonError as error:
        raise LessonError(f"“{beat.title}”: {error}") from error


class _Fill:
    """Sentences with their placeholders filled: `{kept}` is a named value, `{ratio:.1f}` a formatted one."""

    def __init__(self, here: Here | None, values: Mapping[str, Spec]) -> None:
        self.here = here
        self._values = values

    def __call__(self, text: str) -> str:
        """Raises LessonError where a placeholder is damaged or cannot be told."""
        try:
            return "".join(self._parts(text))
        except ValueError as error:
            raise LessonError(f"“{text[:60]}” has a placeholder that cannot be filled ({error}).") from error

    def _parts(self, text: str) -> Iterator[str]:
        for before, name, form, _ in string.Formatter().parse(text):
            yield before
            if name is not None:
                value = self.value(name)
                yield format(value, form) if form else shown(value)

    def value(self, name: str) -> Value:
        """What a name stands for here: a value of the beat's own, or one of `answers.ANSWERS`."""
        return evaluate(self.here, self._values.get(name, name))


def evaluate(here: Here | None, spec: Spec) -> Value:
    """A value from its name, its number, or its table. Raises LessonError where it cannot be told. Without a run a
    name is a word of its own."""
    if isinstance(spec, int):
        return spec
    if isinstance(spec, str):
        return computed(here, spec, {}) if here else spec
    given = dict(spec)
    plus: int | float = given.pop("plus", 0)
    value = computed(here, str(given.pop("value", "")), given)
    if not plus:
        return value
    if isinstance(value, str):
        raise LessonError(f"'{value}' is a word; nothing can be added to it.")
    return value + plus


def shown(value: Value) -> str:
    """A value as a reader sees it: counts as they are, other numbers with the digits that count."""
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    if value == int(value):
        return f"{int(value):,}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.2g}"


def question_json(question: Question) -> dict[str, Any]:
    """A question that stands without a run: its values are those of `values_beyond_run.py`. Raises LessonError where
    it asks for another."""
    return _asked(question, "", _Fill(None, {}))


def _editor(write: Write) -> dict[str, str]:
    known = [given["id"] for given in for_the_page()["tasks"]]
    if write.task and write.task not in known:
        raise LessonError(f"its editor is to give the task '{write.task}'; there are {', '.join(known) or 'none'}.")
    return asdict(write)


def _asked_here(beat: Beat, question: Question, fill: _Fill) -> dict[str, Any]:
    """A beat's question, its explanation in technical and in plain words."""
    beside = " ".join(fill(text) for text in (beat.title, beat.text, beat.plain))
    return {**_asked(question, beside, fill), "plain": fill(question.plain or question.why)}


def _asked(question: Question, text: str, fill: _Fill) -> dict[str, Any]:
    """`text`: what is read beside the question, and may not tell its answer."""
    here = fill.here
    right = evaluate(here, question.right)
    choices = _written(question, right, fill) if question.choices else _numbers(question, right, here)
    ask, answer = fill(question.ask), next(choice["text"] for choice in choices if choice["right"])
    if stands_in(answer, f"{text} {ask}"):
        raise LessonError(f"the answer '{answer}' stands in its own text already; ask for something else.")
    return {"ask": ask, "choices": choices, "why": fill(question.why)}


def stands_in(answer: str, text: str) -> bool:
    """Whether an answer can be read off a text: the number as a number of its own, or the very words."""
    return re.search(rf"(?<![\w.,−-]){re.escape(answer)}(?![\w]|[.,]\d)", text, re.IGNORECASE) is not None


def _written(question: Question, right: Value, fill: _Fill) -> list[dict[str, Any]]:
    if right not in question.choices:
        raise LessonError(f"the answer is '{right}', which is none of the choices {', '.join(question.choices)}.")
    texts = {key: fill(text) for key, text in question.choices.items()}
    if len(set(texts.values())) < len(texts):
        raise LessonError(f"two choices of '{question.ask}' read the same here, so none of them is the answer.")
    return [{"text": text, "right": key == right} for key, text in texts.items()]


def _numbers(question: Question, right: Value, here: Here | None) -> list[dict[str, Any]]:
    """The right number among wrong ones, ascending. Where a wrong one happens to be right in this run, it is left out,
    and counts next to the right one fill up."""
    if isinstance(right, str):
        raise LessonError(f"the answer is the word '{right}'; write choices for it.")
    numbers = {shown(right): right}
    more = [right + 1, right + 2] if isinstance(right, int) else []
    for spec in [*question.wrong, *more]:
        value = spec if isinstance(spec, int) else evaluate(here, spec)
        if isinstance(value, str):
            raise LessonError(f"the wrong answer '{value}' is a word and the right one a number.")
        if len(numbers) <= len(question.wrong) and value >= 0:
            numbers.setdefault(shown(value), value)
    if len(numbers) < LEAST_CHOICES:
        raise LessonError(f"'{question.ask}' has {len(numbers)} different answers here; {LEAST_CHOICES} are the least.")
    return [
        {"text": text, "right": text == shown(right)} for text, _ in sorted(numbers.items(), key=lambda one: one[1])
    ]
