"""What a rule says when a trace breaks it: a place, a sentence, a severity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One broken rule. `str()` gives the whole sentence, place first."""

    place: str
    """where in the trace, e.g. `rounds[3].nodes[5].parent`"""
    sentence: str
    """what is there and what should be, e.g. `is 9, but only nodes 0 to 4 come before it`"""
    severity: Severity = "error"
    """`error`: the trace contradicts itself; `warning`: a number drifted, or a soft expectation failed"""

    def __str__(self) -> str:
        return f"{self.place} {self.sentence}."
