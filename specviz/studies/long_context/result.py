"""What a long text costs a drafter: time of a drafting pass and bytes of its cache by context, and how acceptance goes
with the context a network was trained for.

Place in the flow: `measure` computes it; the page, the documentation's tables and `specviz study` follow from `STUDY`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from specviz.bench.core.report import DASH
from specviz.errors import OptionError
from specviz.protocol.sweeps.intervals import Estimate
from specviz.studies.chart import Axis, Chart, Panel, Series, Upright
from specviz.studies.study import NICE, STUDIES, THREADS, Choice, Codec, Flag, Remade, Study, Table, View, work_folder

TARGET = "target"
"""the target itself among those that are measured: one row, with which a drafter's pass is compared"""


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


def numbers(study: LongContexts) -> tuple[Number, ...]:
    """What was measured."""
    return tuple(number for number in NUMBERS if number is not BEYOND or study.beyond is not None)


def choices(study: LongContexts) -> tuple[Choice]:
    return (Choice("number", "number", [(number.label, number.name) for number in numbers(study)]),)


def view(study: LongContexts, number: str) -> View:
    """One number by context, a line for each drafter or network. Raises OptionError for one that was not measured."""
    measured = numbers(study)
    chosen = next((one for one in measured if one.name == number), None)
    if chosen is None:
        raise OptionError(f"'{number[:40]}' was not measured; choose {', '.join(one.name for one in measured)}.")
    if chosen is BEYOND and study.beyond is not None:
        return _beyond(study, study.beyond)
    return _acceptance(study) if chosen is ACCEPTANCE else _costs(study, chosen)


def _costs(study: LongContexts, number: Number) -> View:
    """Times with their quartiles, or bytes; how each grew from the shortest context to the longest."""
    lines = list[Series]()
    for name in dict.fromkeys(cost.drafter for cost in study.costs):
        own = [cost for cost in study.costs if cost.drafter == name]
        values = [cost.bytes / MIB if number is BYTES else cost.median_ms for cost in own]
        quartiles = ([cost.low_ms for cost in own], [cost.high_ms for cost in own]) if number is TIME else ((), ())
        lines.append(_line(len(lines), name, [cost.context for cost in own], values, *quartiles))
    first, last = lines[0].x[0], lines[0].x[-1]
    grown = ", ".join(f"{line.name} ×{line.y[-1] / line.y[0]:.1f}" for line in lines if line.y[0])
    sentence = (
        f"From {first:,.0f} to {last:,.0f} tokens of text, {number.label} grows: {grown}. Target and drafter with "
        f"their context raised to {study.raised_context:,} tokens by a larger rotary base, random text, untrained "
        "networks: neither changes time or bytes."
    )
    return View(sentence, _chart(number, lines), (_table(number, lines),), study.origin)


def _acceptance(study: LongContexts) -> View:
    """Within the target's context: a line for each network, at the middle of each stretch of contexts."""
    lines = list[Series]()
    for anchors, name in ((False, "without anchors"), (True, "with anchors")):
        own = [one for one in study.acceptance if one.anchors is anchors]
        middles = [(one.shortest + one.longest) / 2 for one in own]
        lines.append(_line(len(lines), name, middles, [one.acceptance[0] for one in own]))
    without, with_anchors = (line.y[-1] for line in lines)
    last = study.acceptance[-1]
    sentence = (
        f"At contexts of {last.shortest} to {last.longest} tokens the first drafted token is accepted with probability "
        f"{with_anchors:.3f} by the network trained with anchors, {without:.3f} by the one without. The trained target "
        f"within its own context of {study.trained_context} tokens, on text that it wrote; two networks `longspec`, "
        f"{study.trained_tokens:,} tokens each, in texts of {study.window}."
    )
    return View(sentence, _chart(ACCEPTANCE, lines), (_table(ACCEPTANCE, lines),), _acceptance_origin(study))


def _acceptance_origin(study: LongContexts) -> str:
    return study.acceptance_origin or study.origin


def _beyond(study: LongContexts, beyond: Beyond) -> View:
    """Against the raised target; how it does as it was trained, and its loss, stand in the table."""
    raised, plain = (
        [context for context in beyond.contexts if context.raised is is_raised] for is_raised in (True, False)
    )
    contexts = [one.context for one in raised]
    lines = [
        _line(0, "without anchors", contexts, [one.without_anchors[0] for one in raised]),
        _line(1, "with anchors", contexts, [one.with_anchors[0] for one in raised]),
    ]

    def row(name: str, cell: Callable[[BeyondContext], str], measured: Sequence[BeyondContext]) -> list[str]:
        cells = {beyond_context.context: cell(beyond_context) for beyond_context in measured}
        return [name, *(cells.get(context, "–") for context in contexts)]

    beside = [
        row("gain by anchors", lambda one: f"{one.gain.value:+.3f}", raised),
        row("95 % of it, by texts", lambda one: f"{one.gain.low:+.3f} to {one.gain.high:+.3f}", raised),
        row("loss when raised, nats per token", lambda one: f"{one.nats:.2f}", raised),
        row("as trained: without anchors", lambda one: f"{one.without_anchors[0]:.3f}", plain),
        row("as trained: with anchors", lambda one: f"{one.with_anchors[0]:.3f}", plain),
        row("as trained: loss", lambda one: f"{one.nats:.2f}", plain),
    ]
    first, last = raised[0], raised[-1]
    sentence = (
        f"From {first.context:,} to {last.context:,} tokens of text the first drafted token's acceptance goes from "
        f"{first.with_anchors[0]:.3f} to {last.with_anchors[0]:.3f} with anchors, from {first.without_anchors[0]:.3f} "
        f"to {last.without_anchors[0]:.3f} without; at {last.context:,} anchors bring {last.gain.value:+.3f} "
        f"(95 % by texts: {last.gain.low:+.3f} to {last.gain.high:+.3f}; one network of each). "
        f"The target has a context of {study.trained_context:,} tokens; here its rotary base is raised to "
        f"{beyond.base:,.0f}, untrained, and its own loss goes from {first.nats:.2f} to {last.nats:.2f} nats per "
        "token. Acceptance is against that target: where its loss is higher it says something else, not something "
        f"better. {beyond.texts} held-out texts, half English, half Python, {beyond.drafts} drafts at the end of "
        "each; the same tokens at every context."
    )
    chart = _chart(BEYOND, lines, (Upright(study.trained_context, "the target's context"),))
    return View(sentence, chart, (_table(BEYOND, lines, beside),), _acceptance_origin(study))


def _line(
    index: int,
    name: str,
    contexts: Sequence[float],
    values: Sequence[float],
    low: Sequence[float] = (),
    high: Sequence[float] = (),
) -> Series:
    return Series(
        name, contexts, values, index, low=low, high=high, hover="<br>%{x:,.0f} tokens: %{y:.3g}", size=8, error_width=1
    )


def _chart(number: Number, lines: Sequence[Series], uprights: Sequence[Upright] = ()) -> Chart:
    """The context doubling from left to right; costs doubling upwards too, so that what grows with the text is a slope
    and what does not is flat."""
    across = Axis("tokens of the text", log=True, ticks=[(context, f"{context:,.0f}") for context in lines[0].x])
    is_cost = number in (TIME, BYTES)
    up = Axis(number.axis, log=is_cost, spacing=1 if is_cost else None, from_zero=number is BEYOND)
    return Chart(across, (Panel(lines, up),), 440, legend="higher", uprights=uprights)


def _table(number: Number, lines: Sequence[Series], beside: Sequence[Sequence[str]] = ()) -> Table:
    rows = [[line.name, *(f"{value:.3g}" for value in line.y)] for line in lines]
    heads = ("tokens of the text", *(f"{context:,.0f}" for context in lines[0].x))
    return Table(heads, [*rows, *beside], f"Recorded: {number.axis}")


def markdown(study: LongContexts) -> str:
    """Both tables, what was measured on what, and the command."""
    contexts = list(dict.fromkeys(context_cost.context for context_cost in study.costs))
    names = list(dict.fromkeys(context_cost.drafter for context_cost in study.costs))
    found = {(context_cost.drafter, context_cost.context): context_cost for context_cost in study.costs}
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
            Table(head, times).markdown(),
            "MiB that each keeps of the text for itself (the presets read the target's beside it).",
            Table(head, sizes).markdown(),
            f"Acceptance by the context of the draft, on held-out text of the trained target (context "
            f"{study.trained_context}, nothing raised): two fresh `longspec` networks, trained alike but for "
            f"the anchors, on {study.trained_tokens:,} tokens each in texts of {study.window}.",
            Table(["network", *(f"{low}–{high}" for low, high in places)], accepted).markdown(),
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
        [f"{loss.base:,.0f}".replace(",", " "), _division(loss.divided_by), *(f"{nats:.2f}" for nats in loss.nats)]
        for loss in beyond.losses
    ]
    depths = (0, len(beyond.contexts[0].with_anchors) - 1)
    head = ["context", "target", "target's loss"]
    head += [f"{which}, depth {depth + 1}" for depth in depths for which in ("without anchors", "with anchors")]
    accepted = [
        [
            f"{context.context:,}".replace(",", " "),
            "raised" if context.raised else "as trained",
            f"{context.nats:.2f}",
            *(
                f"{network[depth]:.3f}"
                for depth in depths
                for network in (context.without_anchors, context.with_anchors)
            ),
            f"{context.gain.value:+.3f} [{context.gain.low:+.3f} to {context.gain.high:+.3f}]",
        ]
        for context in beyond.contexts
    ]
    return [
        f"Beyond its context of {trained} tokens the target was never trained: what follows is accepted by a raised "
        "target, which says other things than the trained one. Its own loss on held-out text, nats per token, by the "
        "base of its rotary positions and the stretch of positions. (Texts differ from one stretch to the next: "
        "compare within a column.)",
        Table(["base", "positions", *(f"{first}–{last}" for first, last in beyond.places)], rows, words=2).markdown(),
        f"Acceptance by context against the target raised by base {beyond.base:,.0f}".replace(",", " ")
        + f", the best of these beyond {trained}: {beyond.drafts} drafts at the end of each of {beyond.texts} held-out "
        "texts, half English, half Python. The same tokens are drafted in every row; only how much text stands before "
        "them differs. The networks' queries turn by the target's base. Last column: depth 1, with anchors less "
        "without [95 % by resampling texts; one network of each, so it says nothing about another training].",
        Table([*head, "gain by anchors"], accepted, words=2).markdown(),
    ]


def _division(by: float) -> str:
    return "as they are" if by == 1 else f"÷ {by:g}"


def _time(cost: ContextCost | None) -> str:
    return DASH if cost is None else f"{cost.median_ms:.2f} [{cost.low_ms:.2f}–{cost.high_ms:.2f}]"


def _size(cost: ContextCost | None) -> str:
    return DASH if cost is None else f"{cost.bytes / 2**20:.2f}"


INTRO = (
    "A drafter with a model of its own keeps keys and values of the whole text beside the target's. `cross_kv` reads "
    "the target's: as LongSpec it keeps a window of its own and no more. **Recorded**: measured once, on the models "
    "and the machine named below. Method: `docs/methods/cross_kv.md`."
)
STUDY = STUDIES.add(
    Study(
        name="long_context",
        home=__package__,
        summary="time drafting passes and weigh caches from 256 to 8,192 tokens, and measure anchor-offset training",
        question="Long texts?",
        order=50,
        intro=INTRO,
        codec=Codec(LongContexts, "study of long contexts", None, "specviz study long-context --write", indented=True),
        file="studies/long_context.json",
        page="methods/cross_kv.md",
        section="long context study",
        choices=choices,
        view=view,
        tables=markdown,
        flags=(
            Flag("--repeats", "drafts timed at each context (default %(default)s)", 12, int, "N"),
            work_folder("train", "texts and checkpoints; the training goes on from it"),
            THREADS,
            Flag("--keep-costs", "measure acceptance alone: times and bytes stay those of the kept result", alone=True),
            Flag("--costs", "measure times and bytes alone: acceptance stays that of the kept result", alone=True),
            NICE,
        ),
        remade=Remade("what a long text costs drafters, and what anchor-offset training brings", 12),
    )
)
