"""A smaller draft head: what it covers, counted while a slider moves, and what α and step times were measured.

Place in the flow: `measure` computes it; the fold of the Machine tab, the documentation's tables and `specviz study`
follow from `STUDY`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from specviz.bench.core.report import DASH, spread
from specviz.errors import OptionError
from specviz.protocol.sweeps.points import Quartiles
from specviz.studies.chart import Axis, Chart, Panel, Series
from specviz.studies.study import STUDIES, Choice, Codec, Flag, Remade, Slider, Study, Table, View, count
from specviz.theory import token_frequencies as frequencies
from specviz.theory.rows import NGRAM
from specviz.theory.token_frequencies import CALIBRATIONS, HELD_OUT, RAW, TITLES

Curve = Sequence[tuple[int, float]]
"""(head size, share)"""


@dataclass(frozen=True, slots=True)
class HeadsStudy:
    """Shares and α are fractions; α is by temperature, and empty where it was not measured."""

    vocab_size: int
    sizes: tuple[int, ...]
    texts: Mapping[str, str]
    """name → what was counted"""
    coverage: Mapping[str, Mapping[int, float]]
    """calibration text → head size → share of the held-out tokens that it covers"""
    alpha: Mapping[float, Mapping[str, Mapping[int, float]]]
    """calibration text → head size → α"""
    whole: Mapping[float, float]
    """α of the whole head"""
    step_ratio: Mapping[int, Quartiles]
    """head size → step time relative to the whole head, rounded to hundredths; empty where it was not measured"""
    prompts: int
    """that α was measured after"""
    tokens: int
    """that the target wrote after each of them"""
    repetition: Mapping[float, tuple[float, ...]]
    """of each of these texts the share of repeated 4-grams, rounded to hundredths"""
    models: Mapping[str, str]
    """model → SHA-256 of its weights"""
    origin: str
    """machine, versions, weights and date as a sentence"""
    created: str
    """UTC, ISO 8601"""


BUNDLED = frequencies.FOLDER / "target.json"
"""the table of the bundled pair's tokenizer"""
POINTS = 32
"""of a counted curve"""
DASHES = ("solid", "dash", "dot")
OPENING, STEP = 1024, 16
"""head size that the page opens with, and by how much the slider moves"""


def choices(study: HeadsStudy) -> tuple[Slider, Choice]:
    return (
        Slider(
            "size", "head size: tokens that can be drafted", STEP, study.vocab_size, OPENING, min_width=260, step=STEP
        ),
        Choice(
            "source",
            "text whose most frequent tokens are kept",
            [(TITLES[name], name) for name in CALIBRATIONS],
            RAW,
            "dropdown",
            220,
        ),
    )


def view(study: HeadsStudy, size: int, source: str) -> View:
    """The head of `size` tokens that are the most frequent of the text `source`. Raises OptionError for any other."""
    table = frequencies.read(BUNDLED)
    if source not in CALIBRATIONS or not 1 <= size <= table.vocab_size:
        raise OptionError(
            f"there is no head of {size} tokens by '{source[:40]}'; choose 1 to {table.vocab_size} tokens by "
            f"{', '.join(CALIBRATIONS)}."
        )
    alpha = {
        temperature: [*sorted(by_text[source].items()), (study.vocab_size, study.whole[temperature])]
        for temperature, by_text in study.alpha.items()
    }
    counts = table.texts[HELD_OUT].counts
    inside, total = sum(counts[token] for token in frequencies.kept_by(table, source, size)), sum(counts)
    sentence = (
        f"{size} of {table.vocab_size} tokens, the most frequent of {TITLES[source]}, cover {inside} of {total} tokens "
        f"({inside / total:.1%}) of text that the target wrote after other prompts.{_nearest(size, alpha)}"
    )
    origin = f"{_measured(study)} Measured {study.created[:10]}." if alpha else ""
    return View(sentence, _chart(size, source, inside / total, alpha), origin=origin)


def _nearest(size: int, alpha: Mapping[float, Curve]) -> str:
    """Measured α at the size nearest to the chosen one; nothing between measurements is made up."""
    parts = []
    near = size
    for temperature, curve in alpha.items():
        near, value = min(curve, key=lambda point: abs(point[0] - size))
        parts.append(f"{value:.3f} at temperature {temperature:g} (whole head {curve[-1][1]:.3f})")
    return f" α measured with {near} tokens: {', '.join(parts)}." if parts else ""


@cache
def _coverage() -> Mapping[str, Curve]:
    """Counted at sizes that grow by the same factor, because most changes where heads are small."""
    table = frequencies.read(BUNDLED)
    sizes = sorted({round(table.vocab_size ** (step / POINTS)) for step in range(POINTS // 4, POINTS + 1)})
    return {name: frequencies.coverage_curve(table, name, sizes) for name in CALIBRATIONS}


def _chart(size: int, source: str, covered: float, alpha: Mapping[float, Curve]) -> Chart:
    """Coverage by all three texts, the chosen one strong; α of the chosen one; the chosen size upright."""
    lines = [
        Series(
            f"covered by {TITLES[name]}, counted",
            [size for size, _ in curve],
            [share for _, share in curve],
            index,
            "lines",
            hover=f"{TITLES[name]}, %{{x}} tokens: %{{y:.1%}} covered",
            hover_alone=True,
            dash=DASHES[index],
            width=3 if name == source else 1.2,
        )
        for index, (name, curve) in enumerate(_coverage().items())
    ]
    marks = [
        Series(
            f"α at temperature {temperature:g}, measured",
            [size for size, _ in curve],
            [value for _, value in curve],
            len(lines) + index,
            "markers",
            hover=f"%{{x}} tokens: α = %{{y:.3f}} at temperature {temperature:g}",
            hover_alone=True,
            mark=index,
        )
        for index, (temperature, curve) in enumerate(alpha.items())
    ]
    chosen = Series(
        f"chosen: {size} tokens",
        [size, size],
        [0, 1],
        mode="lines",
        hover=f"{size} tokens: {covered:.1%} covered",
        hover_alone=True,
        dash="dash",
        grey=True,
        width=1.5,
    )
    most = max(size for size, _ in _coverage()[source])
    ticks = [(2**power, str(2**power)) for power in range(3, 20) if 2**power <= most]
    across, up = Axis("head size, tokens", log=True, ticks=ticks), Axis("share covered; α", range=(0, 1.02))
    return Chart(across, (Panel([*lines, *marks, chosen], up),), legend="below")


def markdown(study: HeadsStudy) -> str:
    """Coverage and step time by head size, then α where it was measured, and what was counted."""
    heads = ("head size", *(f"covered by {title}" for title in TITLES.values()), "step time")
    rows = [
        (
            str(size),
            *(f"{study.coverage[name][size]:.1%}" for name in TITLES),
            spread(study.step_ratio[size]) if study.step_ratio else DASH,
        )
        for size in study.sizes
    ]
    measured = f"{_measured(study)} " if study.alpha else ""
    said = (
        f"Coverage of the held-out text. {measured}Step time relative to the whole head, median [quartiles] of "
        f"interleaved passes. {study.origin}"
    )
    counted = "\n".join(f"- {name.replace('_', '-')}: {what}" for name, what in study.texts.items())
    alpha = [_alpha_table(study).markdown()] if study.alpha else []
    return "\n\n".join([Table(heads, rows, words=0).markdown(), *alpha, said, f"Counted:\n\n{counted}"])


def _alpha_table(study: HeadsStudy) -> Table:
    columns = [(temperature, name) for temperature in study.alpha for name in TITLES]
    heads = ("head size", *(f"α at T = {temperature:g}, {TITLES[name]}" for temperature, name in columns))
    rows = [
        (str(size), *(f"{study.alpha[temperature][name][size]:.3f}" for temperature, name in columns))
        for size in study.sizes
    ]
    whole = (f"{study.vocab_size} (whole)", *(f"{study.whole[temperature]:.3f}" for temperature, _ in columns))
    return Table(heads, [*rows, whole], words=0)


def _measured(study: HeadsStudy) -> str:
    """What α was measured on."""
    repeated = "".join(
        f" Repeated {NGRAM}-grams of each text at temperature {temperature:g}: "
        f"{', '.join(f'{share:.0%}' for share in shares)}."
        for temperature, shares in study.repetition.items()
    )
    return (
        f"α over {study.tokens} tokens that the target wrote after each of {study.prompts} prompts of the set, anew "
        f"at each temperature, the same places for all heads.{repeated}"
    )


def problems(study: HeadsStudy) -> Iterator[str]:
    """What cannot be so."""
    texts = [study.coverage, *study.alpha.values()]
    if any(set(study.sizes) - set(by_size) for by_text in texts for by_size in by_text.values()):
        yield "a head size has no share or no α"
    if any(set(by_text) != set(TITLES) for by_text in texts) or set(study.whole) != set(study.alpha):
        yield "a text or a temperature is missing"


INTRO = (
    "The drafter `vocabtrim` keeps the rows of the most frequent tokens only. Lines are **counted**: the share of the "
    "target's held-out text that the kept tokens cover. Marks are **measured**: α, the probability that one candidate "
    "is accepted. A token outside the head can never be drafted, so coverage bounds what is lost."
)
STUDY = STUDIES.add(
    Study(
        name="heads",
        home=__package__,
        summary="measure what a smaller draft head covers, how often its drafts are accepted, and what it saves",
        question="How small a head?",
        order=None,
        formerly=("frequencies",),
        intro=INTRO,
        codec=Codec(
            HeadsStudy, "study of smaller heads", None, "specviz study heads --write", indented=True, problems=problems
        ),
        file="studies/heads.json",
        page="methods/vocabtrim.md",
        section="heads study",
        choices=choices,
        view=view,
        tables=markdown,
        flags=(
            Flag("--sizes", "head sizes (default %(default)s)", "128,256,512,1024,2048", str, "N,N,…"),
            Flag("--count", "count the tokens anew and keep the table in assets/frequencies"),
            count("--texts", 80, "with --count: beginnings that each model goes on from"),
            count("--tokens", 64, "tokens that a model writes after each beginning and each prompt"),
            Flag(
                "--prompts",
                "prompts per family along which α is measured; 0: it is not (default %(default)s)",
                2,
                int,
                "N",
                least=0,
            ),
            Flag("--no-times", "measure no step times"),
            Flag("--drafter-model", "drafts (default %(default)s)", "drafter", str, "NAME"),
        ),
        shared_flags="target",
        remade=Remade(
            "the tokens the pair writes, for vocabtrim, and what a smaller head costs",
            4,
            ("--count", "--dtype", "float32"),
            also=("assets/frequencies/target.json",),
            last=False,
        ),
    )
)
