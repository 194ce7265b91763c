"""Whether lossless drafters wrote what plain decoding wrote: asserted at temperature 0 in float32.

There the text is the target's most probable one, whoever drafts. At higher temperatures lossless means the same law,
not the same text: the rules draw acceptances where plain decoding draws tokens, so equality is only counted. In other
number formats a wider pass rounds differently, and near-ties may part.

Place in the flow: after the contest; a report names everyone concerned, and its command fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from specviz.bench.core.contest import ContestRun
from specviz.protocol.sweeps.points import BASELINE

ASSERTED = "float32"


def unequal(
    dtype: str, temperature: float, outcomes: Sequence[ContestRun], lossless: Iterable[str], baseline: str = BASELINE
) -> list[str]:
    """Who broke the assertion, a sentence each; nobody where equality is not asserted."""
    return different(outcomes, baseline, lossless) if dtype == ASSERTED and temperature == 0.0 else []


def different(outcomes: Sequence[ContestRun], baseline: str, lossless: Iterable[str]) -> list[str]:
    """One sentence per contestant of `lossless` that wrote another text than plain decoding; runs without a plain one
    beside them say nothing."""
    plain = {(one.prompt, one.repeat): one.measured.output_ids for one in outcomes if one.contestant == baseline}
    found: dict[str, list[str]] = {}
    for one in outcomes:
        expected = plain.get((one.prompt, one.repeat), one.measured.output_ids)
        if one.measured.output_ids != expected:
            found.setdefault(one.contestant, []).append(one.prompt)
    held = set(lossless)
    return [
        f"{name} wrote another text than plain decoding at temperature 0 on {', '.join(dict.fromkeys(prompts))}."
        for name, prompts in found.items()
        if name in held
    ]
