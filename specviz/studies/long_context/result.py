"""What a long text costs a drafter, as a file: time of a drafting pass and bytes of its cache by context, and how
acceptance goes with the context a network was trained for.

Place in the flow: `specviz study long-context` writes it, the documentation's tables and the page read it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from specviz.bench.core.report import DASH, markdown_table
from specviz.errors import BenchError, OptionError
from specviz.protocol.sweeps.intervals import Estimate
from specviz.resources import ROOT, without

TARGET = "target"
"""the target itself among those that are measured: one row, beside which a drafter's pass is seen"""


@dataclass(frozen=True, slots=True)
class ContextCost:
    """One pass over one new token at one context."""

    drafter: str
    context: int
    """tokens of the text"""
    median_ms: float
    """that the processor worked for the pass's thread"""
    low_ms: float
    """quartiles"""
    high_ms: float
    bytes: int
    """that it keeps of the text for itself"""


@dataclass(frozen=True, slots=True)
class ContextAcceptance:
    """One network on held-out texts of the target, from drafts begun within these contexts."""

    anchors: bool
    """whether it was trained at anchor-offset positions"""
    shortest: int
    longest: int
    acceptance: tuple[float, ...]
    """mean of Σ min(p, q) at depth 1, 2, …, given that the tokens before are the text's"""


@dataclass(frozen=True, slots=True)
class RaisedLoss:
    """The target's own held-out loss where its context is raised in one way."""

    base: float
    """of the rotary angles"""
    divided_by: float
    """what positions are divided by before they turn anything ("linear interpolation"); 1: they are not"""
    nats: tuple[float, ...]
    """per token, in each of the study's stretches of positions"""


@dataclass(frozen=True, slots=True)
class BeyondContext:
    """Drafts begun at one context, with the target raised: the same tokens are drafted at every context, only how much
    of their text stands before them differs."""

    context: int
    """tokens of the text, at the last of the drafts"""
    raised: bool
    """False: the target as it was trained"""
    nats: float
    """the target's own loss per token there"""
    without_anchors: tuple[float, ...]
    """as `ContextAcceptance.acceptance`, of the network without anchors"""
    with_anchors: tuple[float, ...]
    gain: Estimate
    """with anchors - without, at depth 1; the interval by resampling texts"""


@dataclass(frozen=True, slots=True)
class Beyond:
    """Acceptance beyond the context that the target was trained for: against the raised target, whose own loss stands
    beside it."""

    places: tuple[tuple[int, int], ...]
    """first and last position of the stretches that losses are of"""
    losses: tuple[RaisedLoss, ...]
    base: float
    """the one among them that acceptance was measured with"""
    texts: int
    """half of them English, half Python, held out"""
    drafts: int
    """begun in each text, at each context"""
    contexts: tuple[BeyondContext, ...]


@dataclass(frozen=True, slots=True)
class LongContexts:
    """The whole study."""

    costs: tuple[ContextCost, ...]
    repeats: int
    """drafts that the times are quartiles of"""
    acceptance: tuple[ContextAcceptance, ...]
    trained_tokens: int
    """of each network"""
    window: int
    """tokens of the texts that the networks were trained on"""
    trained_context: int
    """of the target"""
    raised_context: int
    """of target and drafter where time and bytes were measured"""
    models: Mapping[str, str]
    """model → SHA-256 of its weights"""
    command: str
    origin: str
    """machine, versions, weights and date as a sentence"""
    beyond: Beyond | None = None
    """None: not measured"""
    acceptance_origin: str = ""
    """of the acceptance, where it was measured apart from time and bytes"""


def write(study: LongContexts, path: Path) -> None:
    """As JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(study), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read(path: Path) -> LongContexts:
    """What `write` wrote. Raises BenchError for anything else."""
    try:
        return TypeAdapter(LongContexts).validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError, ValueError) as error:
        raise BenchError(
            f"{path.name} holds no study of long contexts ({' '.join(str(error).split())[:200]}); make it anew with "
            "`specviz study long-context --write`."
        ) from error


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
    return without(file, read, None) if file.is_file() else None


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
        return _beyond_view(study, study.beyond)
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


def _beyond_view(study: LongContexts, beyond: Beyond) -> LongContextView:
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


def markdown(study: LongContexts) -> str:
    """Both tables, what was measured on what, and the command."""
    contexts = list(dict.fromkeys(one.context for one in study.costs))
    names = list(dict.fromkeys(one.drafter for one in study.costs))
    found = {(one.drafter, one.context): one for one in study.costs}
    head = ["drafter", *(f"{context:,}".replace(",", " ") for context in contexts)]
    times = [[f"`{name}`", *(_time(found.get((name, context))) for context in contexts)] for name in names]
    sizes = [[f"`{name}`", *(_size(found.get((name, context))) for context in contexts)] for name in names]
    places = list(dict.fromkeys((one.shortest, one.longest) for one in study.acceptance))
    rows = {(one.anchors, one.shortest): one.acceptance for one in study.acceptance}
    accepted = [
        [
            f"{'with' if anchors else 'without'} anchors, depth {depth + 1}",
            *(f"{rows[anchors, shortest][depth]:.3f}" for shortest, _ in places),
        ]
        for depth in (0, len(study.acceptance[0].acceptance) - 1)
        for anchors in (False, True)
    ]
    return "\n\n".join(
        (
            f"Milliseconds that the processor works for one pass over one new token (one thread), median of "
            f"{study.repeats} drafts [quartiles], by context in tokens. Target and `model` have their context raised "
            f"to {study.raised_context} tokens by a larger rotary base; the text is random tokens and the networks are "
            "untrained, which changes neither time nor bytes.",
            markdown_table(head, times),
            "MiB that each keeps of the text for itself (the presets read the target's beside it).",
            markdown_table(head, sizes),
            f"Acceptance by the context of the draft, on held-out text of the trained target (context "
            f"{study.trained_context}, nothing raised): two fresh `longspec` networks, trained alike but for "
            f"the anchors, on {study.trained_tokens:,} tokens each in texts of {study.window}.",
            markdown_table(["network", *(f"{low}–{high}" for low, high in places)], accepted),
            *([] if study.beyond is None else _beyond_tables(study.beyond, study.trained_context)),
            *_origins(study),
        )
    )


def _origins(study: LongContexts) -> list[str]:
    if not study.acceptance_origin:
        return [f"{study.origin} Made by `{study.command}`."]
    return [
        f"Time and bytes: {study.origin} Made by `{study.command}`.",
        f"Acceptance: {study.acceptance_origin} Made by `{study.command} --keep-costs`.",
    ]


def _beyond_tables(beyond: Beyond, trained: int) -> list[str]:
    """How the target was raised, and what it accepts so."""
    rows = [
        [f"{one.base:,.0f}".replace(",", " "), _division(one.divided_by), *(f"{nats:.2f}" for nats in one.nats)]
        for one in beyond.losses
    ]
    depths = (0, len(beyond.contexts[0].with_anchors) - 1)
    head = ["context", "target", "target's loss"]
    head += [f"{which}, depth {depth + 1}" for depth in depths for which in ("without anchors", "with anchors")]
    accepted = [
        [
            f"{one.context:,}".replace(",", " "),
            "raised" if one.raised else "as trained",
            f"{one.nats:.2f}",
            *(f"{network[depth]:.3f}" for depth in depths for network in (one.without_anchors, one.with_anchors)),
            f"{one.gain.value:+.3f} [{one.gain.low:+.3f} to {one.gain.high:+.3f}]",
        ]
        for one in beyond.contexts
    ]
    return [
        f"Beyond its context of {trained} tokens the target was never trained: what follows is accepted by a raised "
        "target, which says other things than the trained one. Its own loss on held-out text, nats per token, by the "
        "base of its rotary positions and the stretch of positions. (Texts differ from one stretch to the next: "
        "compare within a column.)",
        markdown_table(["base", "positions", *(f"{first}–{last}" for first, last in beyond.places)], rows, words=2),
        f"Acceptance by context against the target raised by base {beyond.base:,.0f}".replace(",", " ")
        + f", the best of these beyond {trained}: {beyond.drafts} drafts at the end of each of {beyond.texts} held-out "
        "texts, half English, half Python. The same tokens are drafted in every row; only how much text stands before "
        "them differs. The networks' queries turn by the target's base. Last column: depth 1, with anchors less "
        "without [95 % by resampling texts; one network of each, so it says nothing about another training].",
        markdown_table([*head, "gain by anchors"], accepted, words=2),
    ]


def _division(by: float) -> str:
    return "as they are" if by == 1 else f"÷ {by:g}"


def _time(cost: ContextCost | None) -> str:
    return DASH if cost is None else f"{cost.median_ms:.2f} [{cost.low_ms:.2f}–{cost.high_ms:.2f}]"


def _size(cost: ContextCost | None) -> str:
    return DASH if cost is None else f"{cost.bytes / 2**20:.2f}"
