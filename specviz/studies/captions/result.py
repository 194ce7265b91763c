"""Acceptance on captions: per drafter, of grammar tokens and of tokens that the picture decides.

Place in the flow: `measure` makes it; the Scenes tab, the documentation and the command show it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from specviz.bench.core.report import with_interval
from specviz.errors import OptionError
from specviz.protocol.sweeps.intervals import Estimate
from specviz.studies.chart import Axis, Bars, Chart, Panel
from specviz.studies.study import STUDIES, Choice, Codec, Remade, Study, Table, View, count

INTRO = (
    "Share of judged places accepted, by what decides the token. **Recorded** on held-out scenes, greedy; lines are "
    "central 95 % intervals over scenes."
)
DRAFTERS = {
    "caption-drafter-text": "text alone",
    "caption-drafter-tuned": "text, tuned on captions",
    "caption-drafter-eyes": "image adapter",
}
"""bundled name → what it is called in tables and charts, in the order shown"""
SPLITS = {"chance": "new scenes", "combination": "scenes with a pair that training never had"}


@dataclass(frozen=True, slots=True)
class CaptionRow:
    """One drafter on one kind of scenes; intervals are central 95 % over resampled scenes."""

    drafter: str
    split: str
    scenes: int
    grammar: Estimate | None
    """accepted / judged places whose token is grammar; see `measure.split`"""
    grounded: Estimate | None
    """the same where the picture decides the token"""
    judged: tuple[int, int]
    """places of grammar, and of those that the picture decides"""
    tokens_per_pass: Estimate | None
    speedup: Estimate | None
    """plain decoding's seconds after the prompt over the drafter's, where the caption is the same"""
    same_output: int
    """scenes whose caption is plain decoding's"""


@dataclass(frozen=True, slots=True)
class CaptionReport:
    gamma: int
    rows: tuple[CaptionRow, ...]
    models: Mapping[str, str]
    """model → SHA-256 of its weights"""
    command: str
    origin: str
    """machine, versions, weights and date as a sentence"""


def choices(report: CaptionReport) -> tuple[Choice, ...]:
    splits = dict.fromkeys(row.split for row in report.rows)
    return (Choice("split", "scenes", [(title, name) for name, title in SPLITS.items()], next(iter(splits))),)


def view(report: CaptionReport, scenes: str) -> View:
    """One kind of scenes. Raises OptionError for one that was not measured."""
    rows = rows_of(report, scenes)
    if not rows:
        raise OptionError(f"'{scenes[:40]}' was not measured; choose {', '.join(SPLITS)}.")
    bars = [
        _bars("grammar", [(row, row.grammar) for row in rows], 0, ""),
        _bars("decided by the picture", [(row, row.grounded) for row in rows], 1, "/"),
    ]
    y = Axis("accepted, of judged", range=(0, 1.02), form=".0%")
    return View(sentence(rows), Chart(Axis(), (Panel(bars, y),), 340), origin=f"Recorded: {report.origin}")


def rows_of(report: CaptionReport, scenes: str) -> list[CaptionRow]:
    """Of one kind of scenes, in the order of the drafters."""
    order = list(DRAFTERS)
    return sorted((row for row in report.rows if row.split == scenes), key=lambda row: order.index(row.drafter))


def _bars(name: str, values: Sequence[tuple[CaptionRow, Estimate | None]], index: int, pattern: str) -> Bars:
    known = [(row, value) for row, value in values if value is not None]
    return Bars(
        name,
        [DRAFTERS[row.drafter] for row, _ in known],
        [value.value for _, value in known],
        [value.low for _, value in known],
        [value.high for _, value in known],
        index,
        pattern,
        f"%{{x}}<br>{name}: %{{y:.1%}}",
    )


def sentence(rows: Sequence[CaptionRow]) -> str:
    """What the image adapter gains over the drafter that read captions without pictures, on either kind of token."""
    by_name = {row.drafter: row for row in rows}
    blind, seeing = (_rates(by_name.get(f"caption-drafter-{kind}")) for kind in ("tuned", "eyes"))
    if blind is None or seeing is None:
        return ""
    return (
        f"Without seeing the picture, a drafter that read captions has {blind[0]:.0%} of its grammar accepted and "
        f"{blind[1]:.0%} of what the picture decides; with a small image adapter it is {seeing[0]:.0%} and "
        f"{seeing[1]:.0%}." + _speeds(by_name)
    )


def _speeds(by_name: Mapping[str, CaptionRow]) -> str:
    """How fast either makes the captioner."""
    speeds = [by_name[f"caption-drafter-{kind}"].speedup for kind in ("tuned", "eyes")]
    known = [speed.value for speed in speeds if speed is not None]
    if len(known) < len(speeds):
        return ""
    return (
        f" When this was recorded, captions came {known[0]:.2f} and {known[1]:.2f} times as fast as by plain decoding."
    )


def _rates(row: CaptionRow | None) -> tuple[float, float] | None:
    """Shares accepted, of grammar and of what the picture decides; None where one of them is not known."""
    if row is None or row.grammar is None or row.grounded is None:
        return None
    return row.grammar.value, row.grounded.value


def markdown(report: CaptionReport) -> str:
    """Rows and where they come from."""
    heads = (
        "drafter",
        "scenes",
        "grammar",
        "decided by the picture",
        "places judged",
        "tokens per pass",
        "× plain",
        "same caption",
    )
    body = [
        (
            DRAFTERS[row.drafter],
            SPLITS[row.split],
            with_interval(row.grammar),
            with_interval(row.grounded),
            f"{row.judged[0]} + {row.judged[1]}",
            with_interval(row.tokens_per_pass),
            with_interval(row.speedup),
            f"{row.same_output}/{row.scenes}",
        )
        for row in report.rows
    ]
    return (
        f"Greedy, γ = {report.gamma}, {report.rows[0].scenes} held-out scenes of each kind. Shares accepted of the "
        "places where a candidate was judged, by the token that came out; × plain is plain decoding's time after the "
        "prompt over the drafter's, in turns on every scene; in brackets the central 95 % over resampled "
        f"scenes.\n\n{Table(heads, body, words=2).markdown()}\n\n{report.origin} `{report.command}`"
    )


def complaints(report: CaptionReport) -> list[str]:
    """A sentence for each drafter that wrote another caption than plain decoding."""
    return [
        f"'{DRAFTERS[row.drafter]}' wrote another caption than plain decoding on {row.scenes - row.same_output} of "
        f"{row.scenes} {SPLITS[row.split]}."
        for row in report.rows
        if row.same_output < row.scenes
    ]


STUDY = STUDIES.add(
    Study(
        name="captions",
        home=__package__,
        summary="captions of pictures: acceptance of grammar tokens and of tokens that the picture decides, by drafter",
        question="What can be drafted without seeing the picture?",
        order=None,
        link="scene",
        formerly=("bench captions",),
        intro=INTRO,
        codec=Codec(CaptionReport, "report on captions", 4, "specviz study captions --write", line_each="rows"),
        file="studies/captions.json",
        page="scenes.md",
        section="bench captions",
        choices=choices,
        view=view,
        tables=markdown,
        flags=(count("--scenes", 60, "held-out scenes of each kind"), count("--gamma", 4, "tokens drafted per round")),
        complaints=complaints,
        remade=Remade("what can be drafted without seeing the picture", 3, rests_on=("captioner",)),
    )
)
