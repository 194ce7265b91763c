"""Numbers of prompt styles: tokens, acceptance, accuracy and seconds per correct answer, by style and drafter.

    seconds per correct answer = N · (time ÷ token) ÷ accuracy = seconds of all answers ÷ right ones

Place in the flow: reads what `specviz bench styles` measured; its table, the page's chart and the
sentences of `style_findings` come from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specviz.protocol.styles import ASKED, KINDS, PLAIN, TITLES, StyleAnswer, StyleFile, StyleRun
from specviz.protocol.sweeps.intervals import Estimate, ratio_of_sums
from specviz.theory.analysis.rates import Rate, rate

MOSTLY = 0.5
"""a style is followed where more of its texts than this have its form; nothing is said of others"""
NO_ANSWER = "none correct"


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
    keys = dict.fromkeys((one.cell.kind, one.cell.asked) for one in file.runs)
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
    for one in file.answers:
        if (one.cell.kind, one.cell.asked) == (kind, asked):
            found.setdefault(one.cell.number, []).append(one)
    return tuple(max(found.values(), key=lambda answers: len({one.text for one in answers}), default=()))


def _rows(file: StyleFile, kind: str, asked: str) -> tuple[StyleRow, ...]:
    runs = [one for one in file.runs if (one.cell.kind, one.cell.asked) == (kind, asked)]
    form = {one.cell: one.followed for one in file.answers}
    drafters = sorted(dict.fromkeys(one.drafter for one in runs), key=lambda name: name != PLAIN)
    return tuple(
        _row(own, [one for one in runs if (one.cell.style, one.drafter) == (style, PLAIN)],
             [form[cell] for cell in dict.fromkeys(one.cell for one in own)])
        for style in TITLES for drafter in drafters
        if (own := [one for one in runs if (one.cell.style, one.drafter) == (style, drafter)])
    )  # fmt: skip


def _row(own: Sequence[StyleRun], plain: Sequence[StyleRun], forms: Sequence[bool]) -> StyleRow:
    first, seconds = own[0], {(one.cell, one.repeat): one.seconds for one in plain}
    tokens = ratio_of_sums([(one.tokens, 1.0) for one in own])
    speed = ratio_of_sums([(one.tokens, one.seconds) for one in own])
    assert tokens is not None, "every run counts once."
    assert speed is not None, "every run took some time."
    return StyleRow(
        first.cell.style, first.drafter, len(forms), rate(sum(forms), len(forms)),
        rate(sum(one.right for one in own), len(own)), tokens,
        ratio_of_sums([(one.accepted, one.tested) for one in own]),
        ratio_of_sums([(one.accepted + one.drafts, one.drafts) for one in own]),
        speed,
        None if first.drafter == PLAIN
        else ratio_of_sums([(seconds[one.cell, one.repeat], one.seconds) for one in own]),
        cost(own), sum(one.same for one in own), len(own),
    )  # fmt: skip


def cost(own: Sequence[StyleRun]) -> Cost | None:
    """Seconds per correct answer; None where none is right. Resampled as right answers per second, since a resample
    may hold no right one."""
    found = ratio_of_sums([(float(one.right), one.seconds) for one in own])
    if found is None or found.value == 0.0:
        return None
    return Cost(1 / found.value, 1 / found.high, 1 / found.low if found.low > 0.0 else None)


def told(one: Cost | None) -> str:
    """`0.31 [0.28–0.40]`, open upwards where no end is known, or that none was right."""
    if one is None:
        return NO_ANSWER
    return f"{one.value:.2f} [{one.low:.2f}–{'' if one.high is None else f'{one.high:.2f}'}]"


def cheapest(group: Group) -> StyleRow | None:
    """The fewest seconds per correct answer among styles that are followed; None where nothing was right."""
    found = [one for one in group.rows if one.follows and one.cost is not None]
    return min(found, key=lambda one: one.cost.value if one.cost else 0.0, default=None)
