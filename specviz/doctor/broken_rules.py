"""Which rule of lossless speculation did a recorded run break? From the first thing in its trace that does not hold.

A trace contradicts itself (`trace.check`), or the checkpoints do not give what it records (`live.audit`), or the engine
handed out other tokens than the run committed. Each says by its place in the trace which rule it is; the first one in
the order of the run is the cause as far as the trace shows it, what comes after may follow from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from specviz.protocol.audits import Audit
from specviz.trace.structure import Problem

RULES: Mapping[str, str] = {
    "cache": "the target's cache holds the committed text and nothing else, each row at its own position",
    "tree": "a row of the draft sees the text, its own ancestors and itself, and stands at its depth",
    "verdict": "a candidate is accepted as the verifier's rule says, from the target's row at its parent",
    "last token": "the token that ends a round comes from the row of the last accepted one, or from the residual there",
    "roll-back": "after a round the cache keeps the text and the accepted path, and drops every other row",
    "end": "the text ends with the first end-of-text token, stop string or limit among the committed tokens",
    "draft": "what a candidate was drawn from is what the rule is told",
    "output": "what is handed out is what was committed",
    "record": "the record is true to itself",
}
"""key → what must hold"""
PLACES: Sequence[tuple[str, str]] = (
    (r"committed\.cache_", "roll-back"),
    (r"judged\.(token|residual|origin|u\b|final)", "last token"),
    (r"judged\.", "verdict"),
    (r"nodes\[0\]\.target", "cache"),
    (r"nodes\[\d+\]\.(target|rank|entropy|agreement)", "tree"),
    (r"nodes\[\d+\]\.", "draft"),
    (r"eos_ids|finished\.reason|committed\.trimmed", "end"),
    (r"finished\.output_ids|finished\.text", "output"),
)
"""patterns of a path in the trace, asked in this order → the rule"""


@dataclass(frozen=True, slots=True)
class Broken:
    """One broken rule."""

    rule: str
    """a key of `RULES`"""
    evidence: str
    """a sentence: what stands in the trace, and what should"""

    def __str__(self) -> str:
        return f"Broken rule: {RULES[self.rule]} ({self.evidence.rstrip('.')})."


def rule_of(path: str) -> str:
    """The rule that a value at this path of a trace, such as `rounds[3].judged.token`, belongs to."""
    return next((rule for pattern, rule in PLACES if re.search(pattern, path)), "record")


def from_problems(problems: Sequence[Problem]) -> Broken | None:
    """Of the first contradiction, in the order of the rounds."""
    first = min(problems, key=lambda problem: _round(problem.place), default=None)
    return None if first is None else Broken(rule_of(first.place), str(first))


def from_audit(audit: Audit) -> Broken | None:
    """Of the first recorded value that the checkpoints do not give."""
    first = next(iter(audit.differences), None)
    return None if first is None else Broken(rule_of(first.place), str(first))


def from_output(committed: Sequence[int], answer: Sequence[int]) -> Broken | None:
    """Where the engine handed out other tokens than its run committed."""
    if list(committed) == list(answer):
        return None
    index = next(
        (index for index, (left, right) in enumerate(zip(committed, answer, strict=False)) if left != right),
        min(len(committed), len(answer)),
    )
    return Broken(
        "output", f"{len(committed)} tokens were committed and {len(answer)} handed out; they part at {index}"
    )


def _round(path: str) -> int:
    """Number of the round in a path; what belongs to none comes last."""
    match = re.search(r"rounds\[(\d+)\]", path)
    return int(match[1]) if match else 10**9
