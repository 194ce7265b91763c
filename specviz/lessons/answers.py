"""Named values of a run at a moment: what fills a lesson's sentences and what its questions have for right answers.

The values themselves stand in `values_of_run` and `values_beyond_run`.

Whole numbers are counts, fractions are probabilities, ratios or milliseconds, words are one of the words listed.
A value that the trace does not tell raises LessonError, so no sentence is filled with a guess.

Claims of a beat are what its sentences take for granted of the run, tested when the lesson is resolved: `rejected > 0`,
`p != p_before`, `origin = 'bonus'`: a value, a comparison, and a number, a word or another value. Two numbers that a
reader sees as the same are the same here, so that nothing is called larger which looks equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from operator import gt, lt
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


BEYOND_RUN = "specviz.lessons.values_beyond_run"
"""the module whose values need no run"""


def computed(here: Here | None, name: str, parameters: dict[str, Any]) -> Value:
    """The named value. Raises LessonError for a name or a parameter that there is not, and without a run for a value of
    one."""
    if name not in ANSWERS:
        raise LessonError(f"there is no value '{name}'; choose one of {', '.join(sorted(ANSWERS))}.")
    if here is None and ANSWERS[name].__module__ != BEYOND_RUN:
        raise LessonError(f"the value '{name}' is one of a run, and here is none.")
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


CLAIM = re.compile(r"(\w+) (=|!=|<|<=|>|>=) (?:'(?P<word>[^']*)'|(?P<number>-?\d+(?:\.\d+)?)|(?P<name>[a-z_]\w*))")
Look = Callable[[str], Value]
"""what a name stands for at the beat"""
Shown = Callable[[Value], str]
ORDERS: Mapping[str, Callable[[float, float], bool]] = {"<": lt, ">": gt}


def check_claim(claim: str, value_of: Look, shown: Shown) -> None:
    """Raises LessonError where the run does not show it, or where it is no claim."""
    parts = CLAIM.fullmatch(claim)
    if parts is None:
        raise LessonError(
            f"'{claim}' is no claim; write a value, one of = != < <= > >=, and a number, a 'word' or another value."
        )
    name, sign = parts[1], parts[2]
    left, right = value_of(name), _right(parts, value_of)
    if not _holds(sign, left, right, shown):
        other = f" and {parts['name']} is {shown(right)}" if parts["name"] else ""
        raise LessonError(f"it claims {claim}, but here {name} is {shown(left)}{other}.")


def _right(parts: re.Match[str], value_of: Look) -> Value:
    if parts["word"] is not None:
        return parts["word"]
    return float(parts["number"]) if parts["number"] else value_of(parts["name"])


def _holds(sign: str, left: Value, right: Value, shown: Shown) -> bool:
    if isinstance(left, str) != isinstance(right, str):
        raise LessonError(f"'{left}' and '{right}' are a word and a number; compare two of one kind.")
    same = _read(shown(left)) == _read(shown(right))
    if sign in ("=", "!="):
        return same == (sign == "=")
    if isinstance(left, str) or isinstance(right, str):
        raise LessonError(f"'{left}' and '{right}' are words; they are equal or not, write = or !=.")
    return sign.endswith("=") if same else ORDERS[sign[0]](left, right)


def _read(text: str) -> str | float:
    """What a reader takes a shown value for: 1.00 and 1 are one number."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return text
