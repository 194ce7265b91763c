"""A smaller draft head as the Machine tab shows it: what it covers, and what alpha was measured, by its size.

Coverage is counted from the shipped table while a slider moves; alpha was measured at a few sizes beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from specviz.errors import OptionError
from specviz.theory import token_frequencies as frequencies
from specviz.theory.token_frequencies import CALIBRATIONS, HELD_OUT, TITLES

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
