"""The study of long contexts as a chart and a table can draw it: one number by context, a line for each drafter.

Reads the shipped result; no model runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from specviz.app.parts.shipped_file import read_shipped
from specviz.errors import OptionError
from specviz.protocol import long_contexts
from specviz.protocol.long_contexts import ContextCost, LongContexts
from specviz.resources import ROOT

FILE = ROOT / "studies" / "long_context.json"
MIB = 2**20


@dataclass(frozen=True, slots=True)
class Number:
    """What is drawn against the context."""

    name: str
    label: str
    """as it is chosen"""
    axis: str


TIME = Number("time", "time of a drafting pass", "processor ms per pass over one token")
BYTES = Number("bytes", "bytes of its own cache", "MiB of its own")
ACCEPTANCE = Number("acceptance", "acceptance, with and without anchors", "acceptance at depth 1")
NUMBERS = (BYTES, TIME, ACCEPTANCE)


@dataclass(frozen=True, slots=True)
class Line:
    """One drafter or network."""

    name: str
    contexts: tuple[float, ...]
    values: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    """quartiles, where there are any"""


@dataclass(frozen=True, slots=True)
class LongContextView:
    """One number of the study."""

    number: Number
    lines: tuple[Line, ...]
    sentence: str
    measured_on: str
    """which numbers are from what"""
    origin: str


def shipped(file: Path = FILE) -> LongContexts | None:
    """The shipped result; None where there is none. A damaged one is only logged: the page can do without."""
    return read_shipped(file, long_contexts.read, "the recorded study of long contexts")


def long_context_view(study: LongContexts, number: str) -> LongContextView:
    """Raises OptionError for a number that was not measured."""
    chosen = next((one for one in NUMBERS if one.name == number), None)
    if chosen is None:
        raise OptionError(f"'{number[:40]}' was not measured; choose {', '.join(one.name for one in NUMBERS)}.")
    if chosen is ACCEPTANCE:
        lines, sentence = _accepted(study)
        on = (
            f"The trained target within its own context of {study.trained_context} tokens; two networks `longspec`, "
            f"{study.trained_tokens:,} tokens each, in texts of {study.window}."
        )
    else:
        scale: Callable[[ContextCost], float] = (lambda one: one.bytes / MIB) if chosen is BYTES else _median
        lines = _costs(study.costs, scale, quartiles=chosen is TIME)
        sentence = _growth(lines, chosen)
        on = (
            f"Target and drafter with their context raised to {study.raised_context:,} tokens by a larger rotary base, "
            "random text, untrained networks: neither changes time or bytes."
        )
    return LongContextView(chosen, lines, sentence, on, study.origin)


def _median(cost: ContextCost) -> float:
    return cost.median_ms


def _costs(costs: Sequence[ContextCost], value: Callable[[ContextCost], float], quartiles: bool) -> tuple[Line, ...]:
    found = []
    for name in dict.fromkeys(one.drafter for one in costs):
        own = [one for one in costs if one.drafter == name]
        line = Line(name, tuple(float(one.context) for one in own), tuple(value(one) for one in own))
        if quartiles:
            low, high = tuple(one.low_ms for one in own), tuple(one.high_ms for one in own)
            line = Line(line.name, line.contexts, line.values, low, high)
        found.append(line)
    return tuple(found)


def _growth(lines: Sequence[Line], number: Number) -> str:
    """How each grew from the shortest context to the longest."""
    first, last = lines[0].contexts[0], lines[0].contexts[-1]
    grown = ", ".join(f"{one.name} ×{one.values[-1] / one.values[0]:.1f}" for one in lines if one.values[0])
    return f"From {first:,.0f} to {last:,.0f} tokens of text, {number.label} grows: {grown}."


def _accepted(study: LongContexts) -> tuple[tuple[Line, ...], str]:
    """A line for each network, at the middle of each stretch of contexts."""
    lines = []
    for anchors, name in ((False, "without anchors"), (True, "with anchors")):
        own = [one for one in study.acceptance if one.anchors is anchors]
        middles = tuple((one.shortest + one.longest) / 2 for one in own)
        lines.append(Line(name, middles, tuple(one.acceptance[0] for one in own)))
    without, with_anchors = (one.values[-1] for one in lines)
    last = study.acceptance[-1]
    return tuple(lines), (
        f"At contexts of {last.shortest} to {last.longest} tokens the first drafted token is accepted with probability "
        f"{with_anchors:.3f} by the network trained with anchors, {without:.3f} by the one without."
    )
