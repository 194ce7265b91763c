"""Right answers against tokens per pass, rule by rule: what forgiving buys, and with which error.

Place in the flow: `measure` makes the file; the page, the command and the documentation show it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from specviz.errors import OptionError
from specviz.studies.chart import Axis, Chart, Level, Panel, Series
from specviz.studies.study import STUDIES, Choice, Codec, Remade, Study, Table, View, count
from specviz.theory.analysis.rates import rate

SUMS, FACTS = "sums", "facts"
KINDS = {SUMS: "sums of two numbers", FACTS: "capitals of countries"}
LOSSLESS = ("greedy", "sequential")
HEAD = ("T", "rule", "law", "right", "95 %", "lost", "gained", "tokens per pass")
INTRO = (
    "A lossy rule accepts more than the target would have drawn. Every mark is one rule, on the same questions and "
    "with the same drafter: to the right of the lossless rule is what it **buys** in tokens per pass of the target, "
    "below it what it **costs** in right answers. Counted, not timed, so every machine finds the same."
)


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule on one kind of questions."""

    temperature: float
    verifier: str
    options: dict[str, float | int | str]
    kind: str
    asked: int
    right: int
    lost: int
    """right under the lossless rule of this temperature and wrong here"""
    gained: int
    """the other way round"""
    tokens: int
    rounds: int

    @property
    def label(self) -> str:
        options = ", ".join(
            f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in self.options.items()
        )
        return f"{self.verifier} ({options})" if options else self.verifier

    @property
    def lossless(self) -> bool:
        return self.verifier in LOSSLESS

    @property
    def per_pass(self) -> float:
        return self.tokens / self.rounds if self.rounds else 0.0


@dataclass(frozen=True, slots=True)
class LossyFile:
    rows: tuple[RuleRow, ...]
    gamma: int
    seed: int
    max_new_tokens: int
    created: str
    models: dict[str, str]
    """role → SHA-256 of the weights"""

    def of(self, kind: str, temperature: float) -> list[RuleRow]:
        return [row for row in self.rows if (row.kind, row.temperature) == (kind, temperature)]

    @property
    def groups(self) -> list[tuple[str, float]]:
        return list(dict.fromkeys((row.kind, row.temperature) for row in self.rows))


def problems(file: LossyFile) -> Iterator[str]:
    for row in file.rows:
        if not 0 <= row.right <= row.asked or row.rounds < 1:
            yield f"{row.label} has {row.right} right answers of {row.asked} in {row.rounds} passes"
    for kind, temperature in file.groups:
        plain = [row for row in file.of(kind, temperature) if row.lossless]
        if len(plain) != 1:
            yield f"{kind} at temperature {temperature:g} have {len(plain)} lossless rules to compare with"
            continue
        for row in file.of(kind, temperature):
            if row.right != plain[0].right - row.lost + row.gained:
                yield f"{row.label} has {row.right} right {kind}, but lost {row.lost} and gained {row.gained}"


def choices(file: LossyFile) -> tuple[Choice, ...]:
    options = [
        (f"{KINDS[kind]}, temperature {temperature:g}", f"{kind} {temperature:g}") for kind, temperature in file.groups
    ]
    return (Choice("group", "questions", options, kind="dropdown", min_width=260),)


def view(file: LossyFile, group: str) -> View:
    """One kind of question at one temperature. Raises OptionError for one that was not measured."""
    known = {f"{kind} {temperature:g}": (kind, temperature) for kind, temperature in file.groups}
    if group not in known:
        raise OptionError(f"'{group[:40]}' was not measured; choose {', '.join(known)}.")
    rows = file.of(*known[group])
    return View(sentence(rows), chart(rows), (Table(HEAD[1:], [_line(row)[1:] for row in rows], words=2),), how(file))


def sentence(rows: Sequence[RuleRow]) -> str:
    """Which rule buys most, and what that cost; which bought something for nothing."""
    plain = next(row for row in rows if row.lossless)
    lossy = [row for row in rows if not row.lossless]
    most = max(lossy, key=lambda row: row.per_pass)
    free = [row for row in lossy if row.right >= plain.right and row.per_pass > plain.per_pass]
    best = max(free, key=lambda row: row.per_pass, default=None)
    said = (
        f"The lossless rule has {plain.right} of {plain.asked} right at {plain.per_pass:.2f} tokens per pass. Most "
        f"bought: {most.label}, {most.per_pass:.2f} tokens per pass and {most.right} right. "
    )
    if best is None:
        return f"{said}No lossy rule was faster without an answer less."
    return f"{said}Fastest with no fewer right: {best.label}, {best.per_pass:.2f}."


def chart(rows: Sequence[RuleRow]) -> Chart:
    """A mark per rule with its interval; the lossless rule's share as a line."""
    plain = next(row for row in rows if row.lossless)
    series = []
    for index, row in enumerate(rows):
        share = rate(row.right, row.asked)
        ends = [end for end in (share.value, share.low, share.high) if end is not None]
        hover = (row.label, _law(row), f"{row.right} of {row.asked} right, {row.per_pass:.2f} tokens per pass")
        series.append(Series(row.label, [row.per_pass], ends[:1], index, "markers", ends[1:2], ends[2:], told=[hover]))
    level = Level(plain.right / plain.asked, f"{plain.verifier}: lossless")
    return Chart(
        Axis("tokens per pass of the target: what is bought"),
        (Panel(series, Axis("right answers", range=(0, 1.02), form=".0%")),),
        460,
        legend="below",
        levels=(level,),
    )


def how(file: LossyFile) -> str:
    return (
        f"The bundled pair, drafter `model` with a chain of {file.gamma}, at most {file.max_new_tokens} tokens an "
        f"answer, seed {file.seed}; sums are held out from training, facts are not. Counted {file.created}; "
        + ", ".join(f"{name} sha256 {weights[:12]}" for name, weights in file.models.items())
        + "."
    )


def _law(row: RuleRow) -> str:
    return "the target's" if row.lossless else "lossy"


def _line(row: RuleRow) -> tuple[str, ...]:
    share = rate(row.right, row.asked)
    interval = f"{share.low or 0:.0%}–{share.high or 0:.0%}"
    law = _law(row) if row.lossless else f"**{_law(row)}**"
    counts = (f"{row.right}/{row.asked}", interval, str(row.lost), str(row.gained))
    return f"{row.temperature:g}", row.label, law, *counts, f"{row.per_pass:.2f}"


def markdown(file: LossyFile) -> str:
    parts = [how(file)]
    for kind, temperature in file.groups:
        rows = file.of(kind, temperature)
        table = Table(HEAD, [_line(row) for row in rows], words=3).markdown()
        parts += [f"### {KINDS[kind].capitalize()}, temperature {temperature:g}", sentence(rows), table]
    return "\n\n".join(parts)


STUDY = STUDIES.add(
    Study(
        name="lossy",
        home=__package__,
        summary="right answers on sums and facts against tokens per pass, under lossless and lossy rules",
        question="What does a lossy rule buy?",
        order=65,
        intro=INTRO,
        codec=Codec(LossyFile, "study of lossy rules", 6, "specviz study lossy --write", problems=problems),
        file="studies/lossy.json",
        page="lossy.md",
        section="lossy study",
        choices=choices,
        view=view,
        tables=markdown,
        flags=(
            count("--questions", 20, "questions of each kind"),
            count("--max-new-tokens", 64, "tokens per answer, where it does not end before"),
        ),
        shared_flags="pair",
        remade=Remade("what lossy rules buy", 3, ("--dtype", "float32")),
    )
)
