"""The texts behind a report: how much each repeats itself, and which outcomes belong to the class of those that do.

A text above the bound of `theory.repetition` is easy to copy, whatever the method, so its ratios are reported beside
the others and are in no headline. An outcome belongs there where its own text or the one it is compared with does.

Place in the flow: between the contest's outcomes and the rows of every experiment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from specviz.bench.core.contest import ContestRun, Measured
from specviz.bench.core.report import DASH, markdown_table
from specviz.bench.core.rows import Plain
from specviz.theory.repetition import MOST, repeats, repetition

NONE = "Not measured: there is no text here that does not repeat itself."


@dataclass(frozen=True, slots=True)
class Text:
    """What plain decoding wrote after one prompt in one repeat."""

    prompt: str
    family: str
    repeat: int
    tokens: int
    repetition: float


class Classes(NamedTuple):
    """Outcomes by the class of their texts."""

    varied: list[ContestRun]
    """the headline's"""
    repeating: list[ContestRun]


def texts(outcomes: Sequence[ContestRun], baseline: str) -> tuple[Text, ...]:
    """One per prompt and repeat of plain decoding, which may have run several times beside the others."""
    found = {
        (contest_run.prompt, contest_run.repeat): contest_run
        for contest_run in outcomes
        if contest_run.contestant == baseline
    }
    return tuple(
        Text(one.prompt, one.family, one.repeat, len(one.measured.output_ids), repetition(one.measured.output_ids))
        for one in found.values()
    )


def by_class(paired: Sequence[ContestRun], plain: Plain) -> Classes:
    """Outcomes that have a plain run beside them, in their order."""
    classes = Classes([], [])
    for contest_run in paired:
        looped = _repeats(contest_run.measured) or _repeats(plain[contest_run.prompt, contest_run.repeat][0])
        (classes.repeating if looped else classes.varied).append(contest_run)
    return classes


def _repeats(run: Measured) -> bool:
    return repeats(repetition(run.output_ids))


def varied_prompts(found: Sequence[Text]) -> set[str]:
    """Prompts none of whose texts of plain decoding repeats itself: where many cases are ranked on the same prompts,
    they decide for all of them, because lossless cases write texts of the same law."""
    return {text.prompt for text in found} - {text.prompt for text in found if repeats(text.repetition)}


def counted(found: Sequence[Text]) -> str:
    """How many texts are in each class, as a sentence."""
    above = sum(repeats(text.repetition) for text in found)
    return (
        f"Of the {len(found)} texts of plain decoding {len(found) - above} repeat at most {MOST:.0%} of their 4-grams "
        f"and are in the tables; {above} repeat more and {'are' if above != 1 else 'is'} reported apart."
    )


def texts_table(found: Sequence[tuple[float, Sequence[Text]]]) -> str:
    """(temperature, its texts) → a line per prompt: tokens and repetition of each of its texts."""
    head = ["prompt", *(f"temperature {temperature:g}: tokens, repeated 4-grams" for temperature, _ in found)]
    prompts = dict.fromkeys(one.prompt for _, part in found for one in part)
    body = [
        [prompt, *(_told([one for one in part if one.prompt == prompt]) for _, part in found)] for prompt in prompts
    ]
    return markdown_table(head, body)


def _told(found: Sequence[Text]) -> str:
    """`48, 3 %`; texts that came out the same once, those above the bound in bold."""
    each = dict.fromkeys((text.tokens, text.repetition) for text in found)
    return "; ".join(
        f"{tokens}, **{share:.0%}**" if repeats(share) else f"{tokens}, {share:.0%}" for tokens, share in each
    ) or DASH  # fmt: skip
