"""A smaller draft head: what it covers, counted while a slider moves, and what alpha and step time were measured.

Place in the flow: the last step of `specviz frequencies`, and the fold of the Machine tab.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from specviz.bench.core.report import markdown_table, plain_data, spread
from specviz.errors import OptionError
from specviz.protocol.sweeps.points import Quartiles
from specviz.theory import token_frequencies as frequencies
from specviz.theory.repetition import NGRAM
from specviz.theory.token_frequencies import CALIBRATIONS, HELD_OUT, TITLES

WHOLE = 0
"""stands for the size of the whole head"""
Acceptance = Mapping[float, Mapping[tuple[str, int], float]]
"""temperature → (calibration text or empty, head size or `WHOLE`) → alpha"""


@dataclass(frozen=True, slots=True)
class HeadReport:
    """Everything a reader needs to judge the numbers."""

    vocab_size: int
    texts: Mapping[str, str]
    """name → what was counted"""
    sizes: Sequence[int]
    coverage: Mapping[str, Mapping[int, float]]
    """calibration text → head size → share of held-out tokens covered"""
    acceptance: Acceptance
    """empty where it was not measured"""
    step_ratio: Mapping[int, Quartiles]
    """head size → step time relative to the whole head; empty where it was not measured"""
    prompts: int
    """behind the acceptance"""
    tokens: int
    """after each of them"""
    repetition: Mapping[float, Sequence[float]]
    """temperature → of each of these texts, the share of repeated 4-grams"""
    origin: str
    """machine, versions, weights and date as a sentence"""
    created: str
    """UTC, ISO 8601"""


def to_data(report: HeadReport) -> dict[str, Any]:
    """Plain dicts; shares, alphas and ratios are fractions."""
    alpha = {
        f"{temperature:g}": {
            "whole": found["", WHOLE],
            **{name: {size: found[name, size] for size in report.sizes} for name in TITLES},
        }
        for temperature, found in report.acceptance.items()
    }
    found = {"sizes": report.sizes, "coverage": report.coverage, "alpha": alpha, "step_ratio": report.step_ratio}
    return dict(plain_data(found))


def markdown(report: HeadReport) -> str:
    """Coverage and step time by head size; below it alpha, where it was measured."""
    head = ["head size", *(f"covered by {title}" for title in TITLES.values()), "step time"]
    body = [
        [
            str(size),
            *(f"{report.coverage[name][size]:.1%}" for name in TITLES),
            spread(report.step_ratio[size]) if report.step_ratio else "–",
        ]
        for size in report.sizes
    ]
    parts = [markdown_table(head, body, words=0)]
    if report.acceptance:
        parts.append(_alpha_table(report))
    counted = "\n".join(f"- {name.replace('_', '-')}: {what}" for name, what in report.texts.items())
    return "\n\n".join([*parts, _provenance(report), f"Counted:\n\n{counted}"]) + "\n"


def _alpha_table(report: HeadReport) -> str:
    columns = [(temperature, name) for temperature in report.acceptance for name in TITLES]
    head = ["head size", *(f"α at T = {temperature:g}, {TITLES[name]}" for temperature, name in columns)]
    body = [
        [str(size), *(f"{report.acceptance[temperature][name, size]:.3f}" for temperature, name in columns)]
        for size in report.sizes
    ]
    whole = [f"{report.acceptance[temperature]['', WHOLE]:.3f}" for temperature, _ in columns]
    return markdown_table(head, [*body, [f"{report.vocab_size} (whole)", *whole]], words=0)


def measured(report: HeadReport) -> str:
    """What alpha was measured on, as a sentence."""
    return (
        f"α over {report.tokens} tokens that the target wrote after each of {report.prompts} prompts of the set, anew "
        f"at each temperature, the same places for all heads.{''.join(_repeated(report))}"
    )


def _repeated(report: HeadReport) -> Iterator[str]:
    """Of each temperature, how much its texts repeat themselves."""
    for temperature, shares in report.repetition.items():
        each = ", ".join(f"{share:.0%}" for share in shares)
        yield f" Repeated {NGRAM}-grams of each text at temperature {temperature:g}: {each}."


def _provenance(report: HeadReport) -> str:
    acceptance = f"{measured(report)} " if report.acceptance else ""
    return (
        f"Coverage of the held-out text. {acceptance}Step time relative to the whole head, median [quartiles] of "
        f"interleaved passes. {report.origin}"
    )


BUNDLED = "target.json"
"""the table of the bundled pair's tokenizer"""
POINTS = 32
Curve = tuple[tuple[int, float], ...]
"""(head size, share)"""


@dataclass(frozen=True, slots=True)
class HeadsView:
    size: int
    source: str
    vocab_size: int
    coverage: Mapping[str, Curve]
    """calibration text → counted, over all sizes"""
    covered: float
    """at the chosen size and text"""
    alpha: Mapping[float, Curve]
    """temperature → measured with heads cut down by the chosen text; the last is the whole head"""
    sentence: str
    measured: str


def vocab_size() -> int:
    return frequencies.read(frequencies.FOLDER / BUNDLED).vocab_size


@cache
def _coverage() -> Mapping[str, Curve]:
    """At sizes that grow by the same factor: most changes where heads are small."""
    table = frequencies.read(frequencies.FOLDER / BUNDLED)
    sizes = sorted({round(table.vocab_size ** (step / POINTS)) for step in range(POINTS // 4, POINTS + 1)})
    return {name: tuple(frequencies.coverage_curve(table, name, sizes)) for name in CALIBRATIONS}


def heads_view(size: int, source: str) -> HeadsView:
    """The head of `size` tokens that are the most frequent of the text `source`. Raises OptionError for others."""
    table = frequencies.read(frequencies.FOLDER / BUNDLED)
    if source not in CALIBRATIONS or not 1 <= size <= table.vocab_size:
        raise OptionError(
            f"a head of {size} tokens by '{source[:40]}' is not to be had; choose 1 to {table.vocab_size} tokens by "
            f"{', '.join(CALIBRATIONS)}."
        )
    measured = frequencies.measured_acceptance()
    alpha = {
        temperature: (*sorted(by[source].items()), (table.vocab_size, measured.whole[temperature]))
        for temperature, by in measured.alpha.items()
    }
    counts = table.texts[HELD_OUT].counts
    kept = frequencies.kept_by(table, source, size)
    inside, total = sum(counts[token] for token in kept), sum(counts)
    sentence = (
        f"{size} of {table.vocab_size} tokens, the most frequent of {TITLES[source]}, cover {inside} of {total} tokens "
        f"({inside / total:.1%}) of text that the target wrote after other prompts. {_nearest(size, alpha)}"
    )
    return HeadsView(
        size, source, table.vocab_size, _coverage(), inside / total, alpha, sentence, measured.measured
    )  # fmt: skip


def _nearest(size: int, alpha: Mapping[float, Curve]) -> str:
    """Measured alpha at the size nearest to the chosen one; nothing between measurements is made up."""
    parts = []
    for temperature, curve in alpha.items():
        near, value = min(curve, key=lambda point: abs(point[0] - size))
        parts.append(f"{value:.3f} at temperature {temperature:g} (whole head {curve[-1][1]:.3f})")
    return f"α measured with {near} tokens: {', '.join(parts)}."
