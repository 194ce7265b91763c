"""Claims of a beat: what its sentences take for granted of the run, tested when the lesson is resolved.

`rejected > 0`, `p != p_before`, `origin = 'bonus'`: a value, a comparison, and a number, a word or another value. Two
numbers that a reader sees as the same are the same here, so that nothing is called larger which looks equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from operator import gt, lt

from specviz.errors import LessonError
from specviz.lessons.answers import Value

CLAIM = re.compile(r"(\w+) (=|!=|<|<=|>|>=) (?:'(?P<word>[^']*)'|(?P<number>-?\d+(?:\.\d+)?)|(?P<name>[a-z_]\w*))")
Look = Callable[[str], Value]
"""what a name stands for at the beat"""
Shown = Callable[[Value], str]
ORDERS: Mapping[str, Callable[[float, float], bool]] = {"<": lt, ">": gt}


def check(claim: str, value_of: Look, shown: Shown) -> None:
    """Raises LessonError where the run does not show it, or where it is no claim."""
    parts = CLAIM.fullmatch(claim)
    if parts is None:
        raise LessonError(
            f"'{claim}' is no claim; write a value, one of = != < <= > >=, and a number, a 'word' or another value."
        )
    name, sign = parts[1], parts[2]
    left, right = value_of(name), _right(parts, value_of)
    if not _holds(sign, left, right, shown):
        beside = f" and {parts['name']} is {shown(right)}" if parts["name"] else ""
        raise LessonError(f"it claims {claim}, but here {name} is {shown(left)}{beside}.")


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
