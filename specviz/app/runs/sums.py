"""Sums that a text works out, and whether they are right: the example *the drafter cannot add* rests on it.

Place in the flow: `examples` → here. Pure; texts may hold anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

SIGNS = {"+": 1, "plus": 1, "-": -1, "minus": -1}
SIGN = r"\s*(\+|-|plus|minus)\s*"
NUMBER = r"(\d{1,6})"
ASKED = re.compile(rf"\b{NUMBER}{SIGN}{NUMBER}\b")
WORKED = re.compile(rf"\b{NUMBER}{SIGN}{NUMBER}(?:{SIGN}{NUMBER})?\s*(?:=|is)\s*{NUMBER}(?!\d)")
"""`61 - 35 = 26`, and with a carry `6 + 5 + 1 = 12`"""


@dataclass(frozen=True, slots=True)
class Sum:
    """One sum of a text, with its result where the text gives one."""

    terms: tuple[int, ...]
    """signed: 61 - 35 is (61, -35)"""
    result: int
    start: int
    """where the result's digits begin in the text"""
    end: int

    @property
    def right(self) -> bool:
        return sum(self.terms) == self.result


def asked_sum(text: str) -> tuple[int, ...] | None:
    """The signed terms of the last sum in a prompt; None: it asks for none."""
    found = list(ASKED.finditer(text))
    return (int(found[-1][1]), SIGNS[found[-1][2]] * int(found[-1][3])) if found else None


def worked_sums(text: str) -> list[Sum]:
    """Every sum with a result in the text, in its order."""
    sums = []
    for found in WORKED.finditer(text):
        terms = [int(found[1]), SIGNS[found[2]] * int(found[3])]
        terms += [SIGNS[found[4]] * int(found[5])] if found[4] else []
        sums.append(Sum(tuple(terms), int(found[6]), *found.span(6)))
    return sums
