"""Values that lessons take from the shipped measurement of prompt styles: tokens, accuracy, what a right answer costs.

Registered beside those of `answers`. Sums asked in words are meant, decoded plainly unless a drafter is named.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from specviz.errors import LessonError, TraceError
from specviz.lessons.answers import Here, Value, answer
from specviz.studies.styles.numbers import PLAIN, Group, StyleRow, group, names
from specviz.studies.styles.result import STUDY


@cache
def _sums(path: Path = STUDY.path) -> Group:
    """Raises LessonError where they were not measured."""
    assert STUDY.codec is not None
    try:
        file = STUDY.codec.read(path)
    except TraceError as error:
        raise LessonError(f"the measured prompt styles are missing: {error}") from error
    name = next((name for name, key in names(file).items() if key == ("sums", "words")), None)
    if name is None:
        raise LessonError("sums asked in words were not measured; `specviz study styles --write` measures them.")
    return group(file, name)


def _row(style: str, drafter: str) -> StyleRow:
    found = _sums().row(style, drafter)
    if found is None:
        raise LessonError(f"style '{style}' with '{drafter}' was not measured.")
    return found


@answer
def style_tokens(_here: Here, style: str) -> Value:
    """Tokens per answer to a sum asked in a prompt style, on average; measured"""
    return _row(style, PLAIN).tokens.value


@answer
def style_accuracy(_here: Here, style: str) -> Value:
    """Share of right answers to sums asked in a prompt style; measured"""
    return _row(style, PLAIN).accuracy.value or 0.0


@answer
def style_cost(_here: Here, style: str, drafter: str = PLAIN) -> Value:
    """Seconds per correct answer to sums asked in a prompt style; measured. Raises LessonError where none was right"""
    found = _row(style, drafter).cost
    if found is None:
        raise LessonError(f"no answer in style '{style}' was right, so none has a cost.")
    return found.value


@answer
def cheaper_style(_here: Here, one: str, other: str) -> Value:
    """Which of two prompt styles takes fewer seconds per correct answer, by its name; measured. Raises LessonError on a
    tie, and where one has no right answer"""
    costs = {style: style_cost(_here, style) for style in (one, other)}
    if costs[one] == costs[other]:
        raise LessonError("these two styles cost the same; choose others.")
    return min(costs, key=lambda style: costs[style])
