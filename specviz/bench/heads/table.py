"""What `specviz frequencies` found out about smaller heads, as Markdown and as plain data for JSON.

Place in the flow: last step of the command.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from specviz.bench.core.provenance import Origin
from specviz.bench.core.report import markdown_table, plain_data, spread
from specviz.protocol.sweeps.points import Quartiles
from specviz.theory.repetition import NGRAM
from specviz.theory.token_frequencies import TITLES

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
    origin: Origin


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
