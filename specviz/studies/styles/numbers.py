"""The same questions asked in several prompt styles: what was written, and its numbers by style and drafter.

    seconds per correct answer = N · (time ÷ token) ÷ accuracy = seconds of all answers ÷ right ones

Place in the flow: `measure` makes a `StyleFile`; `result` says and draws what these numbers say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from specviz.bench.core.report import CLOCKS
from specviz.protocol.sweeps.intervals import Estimate, ratio_of_sums
from specviz.theory.analysis.rates import Rate, rate
from specviz.trace.header import Machine, ModelCard

FORMAT = "specviz-styles"
VERSION = "1.0"
PLAIN = "plain"
"""the drafter's name where nothing drafts"""
DIRECT, CHAIN, TREE, SEARCH, SKETCH, DRAFT = "direct", "chain", "tree", "search", "sketch", "draft"
TITLES = {
    DIRECT: "no style",
    CHAIN: "CoT",
    TREE: "ToT",
    SEARCH: "AoT",
    SKETCH: "SoT",
    DRAFT: "CoD",
}
"""style → its name in tables and charts; the first asks for none and is what the others are held against"""
KINDS = {"sums": "sums", "problems": "word problems"}
ASKED = {"words": "asked in words", "tag": "asked by the corpus's tag", "message": "asked as a message"}
MOSTLY = 0.5
"""a style is followed where more of its texts than this have its form; nothing is said of others"""
NO_ANSWER = "none correct"


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One question asked in one style."""

    kind: str
    asked: str
    style: str
    number: int
    """of the question; the same in every style"""


@dataclass(frozen=True, slots=True)
class StyleAnswer:
    """What plain decoding wrote."""

    cell: Cell
    prompt: str
    truth: int
    text: str
    followed: bool
    """whether the text has the form that its style asks for; True where none is asked for"""


@dataclass(frozen=True, slots=True)
class StyleRun:
    """One answer by one drafter."""

    cell: Cell
    drafter: str
    repeat: int
    seconds: float
    """of the whole call, the prompt's pass included"""
    tokens: int
    """of output: N"""
    drafts: int
    """rounds that drafted"""
    drafted: int
    accepted: int
    tested: int
    """candidates that were judged; unreached ones are none"""
    right: bool
    """it ended, and its last number is the question's answer"""
    same: bool
    """token for token plain decoding's text in the same repeat"""


@dataclass(frozen=True, slots=True)
class StyleFile:
    """One measurement."""

    format: str
    version: str
    machine: Machine
    target: ModelCard
    drafters: tuple[ModelCard, ...]
    """the models that drafted"""
    created: str
    """UTC, ISO 8601"""
    clock: str
    """`process`: seconds that the processor worked for this process, so that other programs disturb less; `wall`"""
    load: float | None
    """of the machine as it ended, averaged over a minute, this program included; None where the system does not tell"""
    command: str
    seed: int
    """of the questions"""
    max_new_tokens: int
    answers: tuple[StyleAnswer, ...]
    runs: tuple[StyleRun, ...]


def problems(file: StyleFile) -> Iterator[str]:
    """What cannot be so."""
    cells = [answer.cell for answer in file.answers]
    known, runs = set(cells), [(run.cell, run.drafter, run.repeat) for run in file.runs]
    there = set(runs)
    if file.clock not in CLOCKS:
        yield "its clock is neither of the two"
    if not any(run.drafter != PLAIN for run in file.runs):
        yield "nothing but plain decoding was measured"
    if len(known) < len(cells) or len(there) < len(runs):
        yield "an answer or a run is there twice"
    for cell in known:
        if cell.kind not in KINDS or cell.asked not in ASKED or cell.style not in TITLES:
            yield f"{_named(cell)} is of no kind, way or style that there is"
    for run in file.runs:
        where = f"{run.drafter[:40]} on {_named(run.cell)}, repeat {run.repeat + 1},"
        if run.cell not in known:
            yield f"{where} has no answer of plain decoding"
        if (run.cell, PLAIN, run.repeat) not in there:
            yield f"{where} has no plain decoding to compare with"
        if not (run.seconds > 0 and run.tokens > 0 and 0 <= run.accepted <= run.tested <= run.drafted):
            yield f"{where} has impossible times or counts"
        if run.drafts > run.drafted or (run.drafter == PLAIN and run.drafted):
            yield f"{where} has impossible drafts"


def _named(cell: Cell) -> str:
    return f"{cell.kind[:20]} {cell.number + 1} {cell.asked[:20]} {cell.style[:20]}"


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds per correct answer. The interval has no upper end where some resamples have no right answer."""

    value: float
    low: float
    high: float | None


@dataclass(frozen=True, slots=True)
class StyleRow:
    """One drafter on one style of a group. Intervals are central 95 % over resampled questions; accuracy's is
    Wilson's."""

    style: str
    drafter: str
    answers: int
    followed: Rate
    """texts of plain decoding that have the style's form"""
    accuracy: Rate
    tokens: Estimate
    """N, per answer"""
    alpha: Estimate | None
    """accepted ÷ tested"""
    length: Estimate | None
    """τ, mean acceptance length"""
    tokens_per_s: Estimate
    speedup: Estimate | None
    """seconds of plain decoding on the same questions ÷ its own; None of plain decoding"""
    cost: Cost | None
    """None where no answer was right"""
    same: int
    """runs whose text is plain decoding's, of all"""
    runs: int

    @property
    def follows(self) -> bool:
        """Whether anything may be said of the style itself."""
        return (self.followed.value or 0.0) > MOSTLY


@dataclass(frozen=True, slots=True)
class Group:
    """Questions of one kind, asked in one way, in every style."""

    name: str
    kind: str
    asked: str
    rows: tuple[StyleRow, ...]
    """by style, each with plain decoding first"""

    def row(self, style: str, drafter: str) -> StyleRow | None:
        return next((one for one in self.rows if (one.style, one.drafter) == (style, drafter)), None)

    @property
    def drafters(self) -> tuple[str, ...]:
        """Plain decoding first."""
        return tuple(dict.fromkeys(one.drafter for one in self.rows))

    @property
    def styles(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.style for one in self.rows))


def names(file: StyleFile) -> dict[str, tuple[str, str]]:
    """Name of a group → its kind and way of asking, in the file's order."""
    keys = dict.fromkeys((run.cell.kind, run.cell.asked) for run in file.runs)
    return {f"{KINDS[kind]}, {ASKED[asked]}": (kind, asked) for kind, asked in keys}


def group(file: StyleFile, name: str) -> Group:
    """One of `names`; its intervals take a fraction of a second."""
    kind, asked = names(file)[name]
    return Group(name, kind, asked, _rows(file, kind, asked))


def groups(file: StyleFile) -> tuple[Group, ...]:
    """All of them."""
    return tuple(group(file, name) for name in names(file))


def example(file: StyleFile, kind: str, asked: str) -> tuple[StyleAnswer, ...]:
    """What was written to one question of a group in every style: to the first one of those with the most different
    texts."""
    found: dict[int, list[StyleAnswer]] = {}
    for answer in file.answers:
        if (answer.cell.kind, answer.cell.asked) == (kind, asked):
            found.setdefault(answer.cell.number, []).append(answer)
    return tuple(max(found.values(), key=lambda answers: len({answer.text for answer in answers}), default=()))


def _rows(file: StyleFile, kind: str, asked: str) -> tuple[StyleRow, ...]:
    runs = [run for run in file.runs if (run.cell.kind, run.cell.asked) == (kind, asked)]
    form = {answer.cell: answer.followed for answer in file.answers}
    drafters = sorted(dict.fromkeys(run.drafter for run in runs), key=lambda name: name != PLAIN)
    return tuple(
        _row(
            own,
            [run for run in runs if (run.cell.style, run.drafter) == (style, PLAIN)],
            [form[cell] for cell in dict.fromkeys(one.cell for one in own)],
        )
        for style in TITLES
        for drafter in drafters
        if (own := [run for run in runs if (run.cell.style, run.drafter) == (style, drafter)])
    )


def _row(own: Sequence[StyleRun], plain: Sequence[StyleRun], forms: Sequence[bool]) -> StyleRow:
    first, seconds = own[0], {(style_run.cell, style_run.repeat): style_run.seconds for style_run in plain}
    tokens = ratio_of_sums([(style_run.tokens, 1.0) for style_run in own])
    speed = ratio_of_sums([(style_run.tokens, style_run.seconds) for style_run in own])
    assert tokens is not None, "every run counts once."
    assert speed is not None, "every run took some time."
    return StyleRow(
        first.cell.style,
        first.drafter,
        len(forms),
        rate(sum(forms), len(forms)),
        rate(sum(style_run.right for style_run in own), len(own)),
        tokens,
        ratio_of_sums([(style_run.accepted, style_run.tested) for style_run in own]),
        ratio_of_sums([(style_run.accepted + style_run.drafts, style_run.drafts) for style_run in own]),
        speed,
        None
        if first.drafter == PLAIN
        else ratio_of_sums([(seconds[style_run.cell, style_run.repeat], style_run.seconds) for style_run in own]),
        cost(own),
        sum(style_run.same for style_run in own),
        len(own),
    )


def cost(own: Sequence[StyleRun]) -> Cost | None:
    """Seconds per correct answer; None where none is right. Resampled as right answers per second, since a resample
    may hold no right one."""
    estimate = ratio_of_sums([(float(style_run.right), style_run.seconds) for style_run in own])
    if estimate is None or estimate.value == 0.0:
        return None
    return Cost(1 / estimate.value, 1 / estimate.high, 1 / estimate.low if estimate.low > 0.0 else None)


def told(one: Cost | None) -> str:
    """`0.31 [0.28–0.40]`, open upwards where no end is known, or that none was right."""
    if one is None:
        return NO_ANSWER
    return f"{digits(one.value)} [{digits(one.low)}–{'' if one.high is None else digits(one.high)}]"


def digits(value: float) -> str:
    """Two decimals, and three of what is below a tenth."""
    return f"{value:.{2 if value >= 0.1 else 3}f}"


def cheapest(group: Group) -> StyleRow | None:
    """The fewest seconds per correct answer among styles that are followed; None where nothing was right."""
    found = [row for row in group.rows if row.follows and row.cost is not None]
    return min(found, key=lambda one: one.cost.value if one.cost else 0.0, default=None)


def unequal(file: StyleFile) -> list[str]:
    """A sentence for each drafter that wrote another text than plain decoding, where none may."""
    apart: dict[str, list[str]] = {}
    for run in file.runs:
        if not run.same and file.target.dtype == "float32":
            cell = run.cell
            apart.setdefault(run.drafter, []).append(f"{cell.kind} {cell.number + 1} ({TITLES[cell.style]})")
    return [
        f"{name} wrote another text than plain decoding on {', '.join(dict.fromkeys(cells))}."
        for name, cells in apart.items()
    ]
