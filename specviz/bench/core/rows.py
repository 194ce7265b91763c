"""From a contest's outcomes to numbers: statistics and ratios of rows, and the texts behind them.

A text above the bound of `theory.rows` is easy to copy, whatever the method, so its ratios are reported beside the
others and are in no headline. An outcome belongs there where its own text or the one it is compared with does.

Place in the flow: between the contest's outcomes and the rows of every experiment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from specviz.bench.core.contest import ContestRun, Measured
from specviz.bench.core.report import DASH, markdown_table
from specviz.errors import BenchError
from specviz.protocol.sweeps.intervals import Estimate, Parts, differences, ratio_of_sums
from specviz.protocol.sweeps.points import Quartiles, quartiles
from specviz.theory.rows import MOST, RowStatistics, RunCounts, repeats, repetition, statistics
from specviz.theory.speedup import speed_ratio

Plain = Mapping[tuple[str, int], Sequence[Measured]]
"""(prompt id, repeat) → plain decoding's runs there"""
Speed = Callable[[Measured], float]


def row_statistics(group: Sequence[ContestRun], plain: Plain | None = None, seed: int = 0) -> RowStatistics:
    """Of one contestant's outcomes. Raises BenchError where there are none."""
    by_prompt: dict[str, list[RunCounts]] = {}
    for contest_run in group:
        by_prompt.setdefault(contest_run.prompt, []).append(contest_run.measured.counts)
    same = None if plain is None else sum(_same_output(contest_run, plain) for contest_run in group)
    return statistics(by_prompt, same, seed)


def _same_output(contest_run: ContestRun, plain: Plain) -> bool:
    return contest_run.measured.output_ids == plain[contest_run.prompt, contest_run.repeat][0].output_ids


def beside_plain(outcomes: Sequence[ContestRun], baseline: str) -> tuple[list[ContestRun], Plain]:
    """The outcomes that have a plain run of the same prompt and repeat (of a cancelled bench not all have), and these.

    Raises BenchError where none is left."""
    plain: dict[tuple[str, int], list[Measured]] = {}
    for contest_run in outcomes:
        if contest_run.contestant == baseline:
            plain.setdefault((contest_run.prompt, contest_run.repeat), []).append(contest_run.measured)
    paired = [contest_run for contest_run in outcomes if (contest_run.prompt, contest_run.repeat) in plain]
    if not paired:
        raise BenchError("not a single plain run was finished, so there is nothing to compare with; give it more time.")
    return paired, plain


def ratios(group: Sequence[ContestRun], plain: Plain, speed: Speed) -> dict[str, list[float]]:
    """Prompt id → of each repeat the speed over the median of plain decoding's on that prompt in that repeat."""
    by_prompt: dict[str, list[float]] = {}
    for contest_run in group:
        base = median(map(speed, plain[contest_run.prompt, contest_run.repeat]))
        ratio = speed_ratio(speed(contest_run.measured), base)
        assert ratio is not None, "plain decoding that was timed has a speed."
        by_prompt.setdefault(contest_run.prompt, []).append(ratio)
    return by_prompt


def over_prompts(group: Sequence[ContestRun], plain: Plain, speed: Speed) -> Quartiles:
    """Quartiles over the prompts of the median ratio of each one's repeats, in every bench: repeats of a prompt
    resemble each other, and prompts with many of them do not count more. Raises BenchError where there are none."""
    return quartiles([median(of_prompt) for of_prompt in ratios(group, plain, speed).values()])


def decode_speed(run: Measured) -> float:
    """Tokens per second of decoding alone."""
    return run.decode_tokens_per_s


def whole_speed(run: Measured) -> float:
    """Tokens per second of the whole call."""
    return run.tokens_per_s


def engine_speed(run: Measured) -> float:
    """Tokens per second of the rounds, by the engine's clock."""
    assert run.engine_s, "only our own runs have an engine's clock, and they have rounds."
    return len(run.output_ids) / run.engine_s


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
    plain = {
        (contest_run.prompt, contest_run.repeat): contest_run
        for contest_run in outcomes
        if contest_run.contestant == baseline
    }
    return tuple(
        Text(run.prompt, run.family, run.repeat, len(run.measured.output_ids), repetition(run.measured.output_ids))
        for run in plain.values()
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


def varied_prompts(every: Sequence[Text]) -> set[str]:
    """Prompts none of whose texts of plain decoding repeats itself: where many cases are ranked on the same prompts,
    they decide for all of them, because lossless cases write texts of the same law."""
    return {text.prompt for text in every} - {text.prompt for text in every if repeats(text.repetition)}


def counted(every: Sequence[Text]) -> str:
    """How many texts are in each class, as a sentence."""
    above = sum(repeats(text.repetition) for text in every)
    return (
        f"Of the {len(every)} texts of plain decoding {len(every) - above} repeat at most {MOST:.0%} of their 4-grams "
        f"and are in the tables; {above} repeat more and {'are' if above != 1 else 'is'} reported apart."
    )


def texts_table(by_temperature: Sequence[tuple[float, Sequence[Text]]]) -> str:
    """(temperature, its texts) → a line per prompt: tokens and repetition of each of its texts."""
    head = ["prompt", *(f"temperature {temperature:g}: tokens, repeated 4-grams" for temperature, _ in by_temperature)]
    prompts = dict.fromkeys(text.prompt for _, part in by_temperature for text in part)
    body = [
        [prompt, *(_told([text for text in part if text.prompt == prompt]) for _, part in by_temperature)]
        for prompt in prompts
    ]
    return markdown_table(head, body)


def _told(of_prompt: Sequence[Text]) -> str:
    """`48, 3 %`; texts that came out the same once, those above the bound in bold."""
    each = dict.fromkeys((text.tokens, text.repetition) for text in of_prompt)
    return (
        "; ".join(
            f"{tokens}, **{share:.0%}**" if repeats(share) else f"{tokens}, {share:.0%}" for tokens, share in each
        )
        or DASH
    )


FEWEST_PROMPTS = 10
"""resampling fewer makes intervals too short (the spread of n prompts stands for that of all), so nothing is ranked"""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A ratio over prompts and its place in a table."""

    value: Estimate | None
    """with the interval of this row alone"""
    rank: int | None
    """1 + the rows shown to be higher; None where there are too few prompts to compare on"""
    behind: Estimate | None
    """the highest value of the table - this one, paired over the prompts; None for that row itself, and where there is
    no rank"""


def ranked(rows: Sequence[Parts], seed: int) -> list[Ranked]:
    """One per row, which are over the same prompts in the same order; prompts with a denominator of 0 are left out."""
    shared = [index for index in range(len(rows[0])) if all(row[index][1] > 0.0 for row in rows)] if rows else []
    values = [ratio_of_sums(row, seed) if row else None for row in rows]
    if len(shared) < FEWEST_PROMPTS:
        return [Ranked(value, None, None) for value in values]
    table = differences([[row[prompt] for prompt in shared] for row in rows], seed)
    first = max(range(len(rows)), key=lambda row: table[row][0].value)
    return [
        Ranked(
            value,
            rank=1 + sum(table[other][row].low > 0.0 for other in range(len(rows))),
            behind=None if row == first else table[first][row],
        )
        for row, value in enumerate(values)
    ]
