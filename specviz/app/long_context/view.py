"""The study of long contexts as a chart and a table can draw it: one number by context, a line for each drafter.

Reads the shipped result; no model runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from specviz.app.parts.shipped_file import read_shipped
from specviz.errors import OptionError
from specviz.protocol import long_contexts
from specviz.protocol.long_contexts import Beyond, BeyondContext, ContextCost, LongContexts
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
BEYOND = Number("beyond", "acceptance beyond the target's context", "acceptance at depth 1")
NUMBERS = (BYTES, TIME, ACCEPTANCE, BEYOND)


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
    beside: tuple[tuple[str, Mapping[float, str]], ...] = ()
    """other rows of the table: name, and context → cell"""
    trained_context: int | None = None
    """of the target, where texts are longer"""


def shipped(file: Path = FILE) -> LongContexts | None:
    """The shipped result; None where there is none. A damaged one is only logged: the page can do without."""
    return read_shipped(file, long_contexts.read)


def numbers(study: LongContexts) -> tuple[Number, ...]:
    """What was measured."""
    return tuple(one for one in NUMBERS if one is not BEYOND or study.beyond is not None)


def long_context_view(study: LongContexts, number: str) -> LongContextView:
    """Raises OptionError for a number that was not measured."""
    measured = numbers(study)
    chosen = next((one for one in measured if one.name == number), None)
    if chosen is None:
        raise OptionError(f"'{number[:40]}' was not measured; choose {', '.join(one.name for one in measured)}.")
    if chosen is BEYOND and study.beyond is not None:
        return _beyond(study, study.beyond)
    if chosen is ACCEPTANCE:
        lines, sentence = _accepted(study)
        on = (
            f"The trained target within its own context of {study.trained_context} tokens, on text that it wrote; two "
            f"networks `longspec`, {study.trained_tokens:,} tokens each, in texts of {study.window}."
        )
        return LongContextView(chosen, lines, sentence, on, _acceptance_origin(study))
    scale: Callable[[ContextCost], float] = (lambda one: one.bytes / MIB) if chosen is BYTES else _median
    lines = _costs(study.costs, scale, quartiles=chosen is TIME)
    on = (
        f"Target and drafter with their context raised to {study.raised_context:,} tokens by a larger rotary base, "
        "random text, untrained networks: neither changes time or bytes."
    )
    return LongContextView(chosen, lines, _growth(lines, chosen), on, study.origin)


def _acceptance_origin(study: LongContexts) -> str:
    return study.acceptance_origin or study.origin


def _beyond(study: LongContexts, beyond: Beyond) -> LongContextView:
    """Against the raised target; how it does as it was trained, and its loss, stand in the table."""
    raised, plain = ([one for one in beyond.contexts if one.raised is is_raised] for is_raised in (True, False))

    def line(name: str, of: Callable[[BeyondContext], float]) -> Line:
        return Line(name, tuple(float(one.context) for one in raised), tuple(of(one) for one in raised))

    def row(said: Callable[[BeyondContext], str], measured: Sequence[BeyondContext]) -> Mapping[float, str]:
        return {float(one.context): said(one) for one in measured}

    lines = (
        line("without anchors", lambda one: one.without_anchors[0]),
        line("with anchors", lambda one: one.with_anchors[0]),
    )
    beside = (
        ("gain by anchors", row(lambda one: f"{one.gain.value:+.3f}", raised)),
        ("95 % of it, by texts", row(lambda one: f"{one.gain.low:+.3f} to {one.gain.high:+.3f}", raised)),
        ("loss when raised, nats per token", row(lambda one: f"{one.nats:.2f}", raised)),
        ("as trained: without anchors", row(lambda one: f"{one.without_anchors[0]:.3f}", plain)),
        ("as trained: with anchors", row(lambda one: f"{one.with_anchors[0]:.3f}", plain)),
        ("as trained: loss", row(lambda one: f"{one.nats:.2f}", plain)),
    )
    first, last = raised[0], raised[-1]
    sentence = (
        f"From {first.context:,} to {last.context:,} tokens of text the first drafted token's acceptance goes from "
        f"{first.with_anchors[0]:.3f} to {last.with_anchors[0]:.3f} with anchors, from {first.without_anchors[0]:.3f} "
        f"to {last.without_anchors[0]:.3f} without; at {last.context:,} anchors bring {last.gain.value:+.3f} "
        f"(95 % by texts: {last.gain.low:+.3f} to {last.gain.high:+.3f}; one network of each)."
    )
    on = (
        f"The target has a context of {study.trained_context:,} tokens; here its rotary base is raised to "
        f"{beyond.base:,.0f}, untrained, and its own loss goes from {first.nats:.2f} to {last.nats:.2f} nats per "
        "token. Acceptance is against that target: where its loss is higher it says something else, not something "
        f"better. {beyond.texts} held-out texts, half English, half Python, {beyond.drafts} drafts at the end of "
        "each; the same tokens at every context."
    )
    return LongContextView(BEYOND, lines, sentence, on, _acceptance_origin(study), beside, study.trained_context)


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
