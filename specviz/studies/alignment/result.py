"""The alignment study: what each loss and each kind of text made of a drafter, measured on held-out prompts.

Place in the flow: `measure` makes it; the page, the documentation and the command show it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from specviz.errors import OptionError
from specviz.studies.chart import Axis, Chart, Panel, Series
from specviz.studies.study import STUDIES, THREADS, Choice, Codec, Flag, Remade, Study, Table, View, count, work_folder

DOMAINS = ("english", "python")
BOTH, BEFORE = "both", "before"


@dataclass(frozen=True, slots=True)
class AlignmentFigures:
    """One drafter on one domain at one temperature; exact for the given texts, no draft was drawn."""

    alpha: float
    """mean over written positions of sum_v min(p, q)"""
    block_efficiency: float
    """tau: written tokens / expected rounds"""
    mbsu: float
    """tau c / (gamma + c)"""
    coverage: float
    """share of p on the drafter's four most likely tokens"""
    by_position: tuple[float, ...]
    """[d-1] = probability that draft d is accepted once all before it were"""


Measured = Mapping[str, Mapping[str, AlignmentFigures]]
"""temperature as text → domain → figures"""


@dataclass(frozen=True, slots=True)
class AlignmentCell:
    """One alignment: from which drafter, with which loss, on which texts, and what came of it."""

    part: str
    """which question it belongs to: `grid` or `domains`"""
    start: str
    loss: str
    data: str
    domain: str
    temperatures: tuple[float, ...]
    """at which texts were written"""
    seconds: float
    after: Measured


@dataclass(frozen=True, slots=True)
class AlignmentStart:
    """A drafter before any alignment."""

    memory_ratio: float
    """c: bytes that a target pass reads / bytes that a drafter pass reads"""
    lr: float
    """peak learning rate of its alignments"""
    before: Measured


@dataclass(frozen=True, slots=True)
class AlignmentStudy:
    """The whole study; every cell learnt from the same number of tokens."""

    gamma: int
    tokens: int
    prompts: Mapping[str, int]
    """domain → held-out prompts"""
    starts: Mapping[str, AlignmentStart]
    cells: tuple[AlignmentCell, ...]
    planned: int
    """cells of a whole study"""
    models: Mapping[str, str]
    """model → SHA-256 of its weights"""
    command: str
    origin: str
    """machine, versions, weights and date as a sentence"""


def mean_over_domains(measured: Mapping[str, AlignmentFigures]) -> AlignmentFigures:
    """Both domains with equal weight, whatever the length of their texts."""
    ones = list(measured.values())
    depth = min(len(one.by_position) for one in ones)
    return replace(
        ones[0],
        **{
            name: sum(getattr(one, name) for one in ones) / len(ones)
            for name in ("alpha", "block_efficiency", "mbsu", "coverage")
        },
        by_position=tuple(sum(one.by_position[index] for one in ones) / len(ones) for index in range(depth)),
    )


@dataclass(frozen=True, slots=True)
class Number:
    """Something that was measured of every drafter."""

    name: str
    title: str
    of: Callable[[AlignmentFigures], float]


NUMBERS = (
    Number("alpha", "acceptance probability α", lambda one: one.alpha),
    Number("tau", "block efficiency τ, tokens per target pass", lambda one: one.block_efficiency),
    Number("mbsu", "MBSU, speedup if reading weights were all that costs", lambda one: one.mbsu),
    Number("coverage", "coverage, share of p on the drafter's four most likely tokens", lambda one: one.coverage),
    Number("last", "acceptance of the last draft once all before it were accepted", lambda one: one.by_position[-1]),
)


@dataclass(frozen=True, slots=True)
class AlignmentRow:
    """One alignment, or the drafter before any (`loss` is empty)."""

    start: str
    texts: str
    aligned_on: str
    loss: str
    value: float
    change: float | None
    """against the same drafter before; None for that itself"""

    @property
    def group(self) -> str:
        """The series it belongs to."""
        domain = "" if self.aligned_on == BOTH else f", {self.aligned_on} alone"
        return f"{self.start} on {self.texts} text{domain}"


def temperatures(study: AlignmentStudy) -> list[str]:
    """As they stand in the file."""
    return list(next(iter(study.starts.values())).before)


def choices(study: AlignmentStudy) -> tuple[Choice, ...]:
    return (
        Choice("number", "number", [(number.title, number.name) for number in NUMBERS], kind="dropdown", min_width=220),
        Choice("heat", "temperature", [(temperature, temperature) for temperature in temperatures(study)]),
        Choice(
            "domain",
            "measured on",
            (("both", BOTH), ("plain English", DOMAINS[0]), ("Python", DOMAINS[1])),
            min_width=220,
        ),
    )


def view(study: AlignmentStudy, number: str, temperature: str, domain: str) -> View:
    """Raises OptionError for a number, a temperature or a domain that was not measured."""
    wanted = next((one for one in NUMBERS if one.name == number), None)
    if wanted is None or temperature not in temperatures(study) or domain not in (BOTH, *DOMAINS):
        raise OptionError(
            f"'{number[:20]}' at temperature '{temperature[:20]}' on '{domain[:20]}' was not measured; choose one of "
            "the numbers, temperatures and domains that are offered."
        )
    found = rows(study, wanted, temperature, domain)
    caption = f"Recorded: {wanted.title}, temperature {temperature}"
    heads = ("drafter", "texts", "aligned on", "loss", "after", "change")
    table = Table(heads, [_cells(row) for row in found], caption)
    return View(_sentence(found, study), _chart(found, f"{wanted.title}, T = {temperature}"), (table,), study.origin)


def rows(study: AlignmentStudy, number: Number, temperature: str, domain: str) -> list[AlignmentRow]:
    """The drafters before, then every alignment."""
    before = {
        name: _value(number, alignment_start.before, temperature, domain)
        for name, alignment_start in study.starts.items()
    }
    alignment_rows = [AlignmentRow(name, "", "", "", value, None) for name, value in before.items()]
    for cell in study.cells:
        value = _value(number, cell.after, temperature, domain)
        texts = " + ".join(f"{part}-written" if part != "corpus" else part for part in cell.data.split("+"))
        alignment_rows.append(
            AlignmentRow(cell.start, texts, cell.domain, cell.loss, value, value - before[cell.start])
        )
    return alignment_rows


def _value(number: Number, measured: Measured, temperature: str, domain: str) -> float:
    by: Mapping[str, AlignmentFigures] = measured[temperature]
    return number.of(mean_over_domains(by) if domain == BOTH else by[domain])


def _sentence(rows: Sequence[AlignmentRow], study: AlignmentStudy) -> str:
    """Which alignment raised the number most, and how many lowered it."""
    after = [(row, row.change) for row in rows if row.change is not None]
    if not after:
        return "No alignment has been measured yet."
    best, gain = max(after, key=lambda one: one[1])
    lower = sum(change < 0 for _, change in after)
    begin = f"After {study.tokens:,} tokens each, {lower} of {len(after)} alignments are below where they began."
    if gain <= 0:
        return f"{begin} None is above."
    found = f"{best.start} with {best.loss} on {best.texts} text, {gain:+.3f} to {best.value:.3f}."
    return f"{begin} The largest gain: {found}"


def _cells(row: AlignmentRow) -> tuple[str, ...]:
    change = "–" if row.change is None else f"{row.change:+.3f}"
    return row.start, row.texts or "–", row.aligned_on or "–", row.loss or BEFORE, f"{row.value:.3f}", change


def _chart(alignment_rows: Sequence[AlignmentRow], title: str) -> Chart:
    """Losses from left to right, a series for each drafter, texts and domain; a dashed line where a drafter began."""
    losses = list(dict.fromkeys(row.loss for row in alignment_rows if row.loss))
    ends = (losses[0], losses[-1]) if losses else ()
    series = [
        Series(f"{row.start} before", ends, [row.value for _ in ends], mode="lines", hover=": %{y:.3f}", grey=True,
               dash="dash", width=1.5)
        for row in alignment_rows if not row.loss
    ]  # fmt: skip
    for index, group in enumerate(dict.fromkeys(row.group for row in alignment_rows if row.loss)):
        own = [row for row in alignment_rows if row.loss and row.group == group]
        series.append(
            Series(
                group,
                [row.loss for row in own],
                [row.value for row in own],
                index,
                "markers",
                hover="<br>%{x}: %{y:.3f} (%{customdata:+.3f})",
                extra=[row.change for row in own],
            )
        )
    return Chart(Axis("loss", categories=losses, angle=-40), (Panel(series, Axis(title)),), 460, legend="grown")


def markdown(study: AlignmentStudy) -> str:
    """The grid by data and loss at every temperature, the positions, the domains, and where the numbers come from."""
    parts = []
    for start, known in study.starts.items():
        grid = _by_texts([cell for cell in study.cells if cell.part == "grid" and cell.start == start])
        if grid:
            parts += [f"**From `{start}`, both domains (c = {known.memory_ratio:.2f})**", _grid(known.before, grid)]
            parts += [f"**Acceptance by position, from `{start}`, temperature 0**", _positions(known.before, grid)]
    for start, known in study.starts.items():
        domains = [cell for cell in study.cells if cell.part == "domains" and cell.start == start]
        if domains:
            parts += [
                f"**From `{start}` (c = {known.memory_ratio:.2f}): one domain alone**",
                _domains(known.before, domains),
            ]
    return "\n\n".join([*parts, _provenance(study)]) + "\n"


def _by_texts(cells: Sequence[AlignmentCell]) -> Sequence[AlignmentCell]:
    """Those on the same texts together; the study ran the most telling first."""
    met = list(dict.fromkeys(cell.data for cell in cells))
    return sorted(cells, key=lambda cell: met.index(cell.data))


def _grid(before: Measured, cells: Sequence[AlignmentCell]) -> str:
    head = ["texts", "loss"]
    for temperature in before:
        head += [f"{what} T={temperature}" for what in ("α", "τ", "MBSU", "coverage")]
    rows = [[BEFORE, "–", *_numbers(before)]]
    rows += [[_texts(cell), cell.loss, *_numbers(cell.after)] for cell in cells]
    return Table(head, rows, words=2).markdown()


def _numbers(measured: Measured) -> list[str]:
    cells = []
    for one in map(mean_over_domains, measured.values()):
        cells += [f"{one.alpha:.3f}", f"{one.block_efficiency:.2f}", f"{one.mbsu:.2f}", f"{one.coverage:.3f}"]
    return cells


def _positions(before: Measured, cells: Sequence[AlignmentCell]) -> str:
    first = next(iter(before))
    deepest = len(mean_over_domains(before[first]).by_position)
    head = ["texts", "loss", *(f"draft {index}" for index in range(1, deepest + 1))]
    rows = [[BEFORE, "–", *_by_position(before[first])]]
    rows += [[_texts(cell), cell.loss, *_by_position(cell.after[first])] for cell in cells]
    return Table(head, rows, words=2).markdown()


def _by_position(measured: Mapping[str, AlignmentFigures]) -> list[str]:
    return [f"{value:.3f}" for value in mean_over_domains(measured).by_position]


def _domains(before: Measured, cells: Sequence[AlignmentCell]) -> str:
    """alpha and tau on each domain, and what of alpha was gained or lost."""
    head = ["aligned on", "loss"]
    for temperature in before:
        head += [f"α {domain} T={temperature}" for domain in DOMAINS]
    rows = [[BEFORE, "–", *_each(before, lambda t, d: f"{before[t][d].alpha:.3f}")]]
    rows += [[cell.domain, cell.loss, *_each(before, _changes(before, cell))] for cell in cells]
    return Table(head, rows, words=2).markdown()


def _changes(before: Measured, cell: AlignmentCell) -> Callable[[str, str], str]:
    def text(temperature: str, domain: str) -> str:
        now = cell.after[temperature][domain].alpha
        return f"{now:.3f} ({now - before[temperature][domain].alpha:+.3f})"

    return text


def _each(before: Measured, text: Callable[[str, str], str]) -> list[str]:
    return [text(temperature, domain) for temperature in before for domain in DOMAINS]


def _texts(cell: AlignmentCell) -> str:
    return cell.data.replace("+", " + ")


def _provenance(study: AlignmentStudy) -> str:
    prompts = " and ".join(f"{count} {domain}" for domain, count in study.prompts.items())
    rates = ", ".join(f"{alignment_start.lr:g} for `{name}`" for name, alignment_start in study.starts.items())
    return (
        f"{len(study.cells)} of the study's {study.planned} cells. "
        f"Every row learnt from {study.tokens:,} tokens; peak learning rate {rates}. Measured on what the target "
        f"writes after {prompts} held-out prompts, drafts of γ = {study.gamma}, exactly; means of the two domains. "
        f"`{study.command}`. {study.origin}"
    )


INTRO = (
    "A drafter that was trained on text knows the text; *alignment* goes on training it on its target's distribution. "
    "Each mark is one alignment, all with equally many tokens; the dashed lines are where the drafters began. "
    "**Recorded**: measured exactly on held-out texts that the target wrote, no draw is in it. Losses and method: "
    "`docs/alignment.md`."
)
STUDY = STUDIES.add(
    Study(
        name="alignment",
        home=__package__,
        summary="align drafters with every loss on every kind of text for equally many tokens, and measure what it "
        "brings",
        question="Train on the target?",
        order=40,
        intro=INTRO,
        codec=Codec(AlignmentStudy, "alignment study", 4, "specviz study alignment --write", line_each="cells"),
        file="studies/alignment.json",
        page="alignment.md",
        section="alignment study",
        choices=choices,
        view=view,
        tables=markdown,
        flags=(
            work_folder("alignment", "texts and finished cells; a study goes on from it"),
            count("--tokens", None, "tokens that every cell learns from"),
            count("--cells", None, "only the first N cells"),
            Flag("--finished", "take the cells that the work folder has, and run no other"),
            THREADS,
        ),
        remade=Remade("what aligning the drafters with the target brings", 25, shares=True),
    )
)
