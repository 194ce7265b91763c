"""Named values of a run at a moment: what fills a lesson's sentences and what its questions have for right answers.

The values themselves stand in `of_run`, `of_round` and `modelled`.

Whole numbers are counts, fractions are probabilities, ratios or milliseconds, words are one of the words listed.
A value that the trace does not tell raises LessonError, so no sentence is filled with a guess.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any

from specviz.errors import LessonError
from specviz.lessons.moments import Moment
from specviz.trace.events import Node, Round, Trace, Trial

Value = int | float | str


@dataclass(frozen=True, slots=True)
class Here:
    """A run and a moment of it."""

    trace: Trace
    moment: Moment

    @property
    def this(self) -> Round:
        return self.trace.rounds[self.moment.round]

    @property
    def trial(self) -> Trial:
        if self.moment.trial is None:
            raise LessonError(f"round {self.moment.round + 1} is shown at no trial; give the beat a trial's moment.")
        return self.this.judged.trials[self.moment.trial]

    @property
    def node(self) -> Node:
        if not isinstance(self.moment.node, int):
            raise LessonError("the beat is about the round's last token, which is no candidate.")
        return self.this.nodes[self.moment.node]


Answer = Callable[..., Value]
ANSWERS: dict[str, Answer] = {}
"""name → value of a `Here`, with numbers of the lesson's own as keywords where it takes any"""


def answer(value: Answer) -> Answer:
    """Register a value under its own name."""
    ANSWERS[value.__name__] = value
    return value


def computed(here: Here, name: str, parameters: dict[str, Any]) -> Value:
    """The named value. Raises LessonError for a name or a parameter that there is not."""
    if name not in ANSWERS:
        raise LessonError(f"there is no value '{name}'; choose one of {', '.join(sorted(ANSWERS))}.")
    try:
        signature(ANSWERS[name]).bind(here, **parameters)
    except TypeError as error:
        raise LessonError(f"the value '{name}' does not take {sorted(parameters)}: {error}.") from error
    return ANSWERS[name](here, **parameters)


def known(value: Value | None, what: str) -> Value:
    """The value. Raises LessonError where the trace has none."""
    if value is None:
        raise LessonError(f"this run does not tell {what}.")
    return value
