"""What follows from a record: findings in sentences, each with its number, its formula and the lesson that explains it.

Measured and modelled never mix: what the record tells is *measured there*; what another speculation length would bring
is *modelled* from its acceptance by position and a cost that is given or told, and says so.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from specviz.doctor.record import Record
from specviz.theory.formulas import StepTimes
from specviz.theory.what_if import Clock, Shape, alpha_for, chains

Level = Literal["alarm", "advice", "fact", "untold"]
SIGNS: dict[Level, tuple[str, str]] = {
    "alarm": ("!", "look at this"),
    "advice": ("→", "advice"),
    "fact": ("·", "fact"),
    "untold": ("?", "not told"),
}
"""sign and word of each level"""
LESSONS = {
    "acceptance": ("1", "Guess and check"),
    "verdicts": ("2", "Accepted, rejected, corrected, bonus"),
    "law": ("3", "Why the text stays the target's"),
    "pays": ("4", "When it pays, and when not"),
    "stopping": ("7", "Stopping early, lossy rules, and what is measured"),
}
TOO_LOW = 0.15
"""of drafts accepted: no drafter that was made for its target does so badly on ordinary text"""
TOO_HIGH = 0.97
"""of drafts accepted: hardly anything but repetition is foreseen so well"""
ENOUGH = 50
"""candidates from which a rate is an alarm"""
STEEP = 0.15
"""by how much acceptance must fall from one position to the next to be called a place where drafts fail"""
MANY = 0.1
"""share of the steps that must end there: what few steps reach says little"""
LONGEST = 16
"""speculation lengths that are looked at"""
WORTH = 0.02
"""by how much another length must be faster to be advised"""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that follows from a record."""

    level: Level
    title: str
    sentence: str
    formula: str = ""
    """with the record's numbers put in; empty where nothing was worked out"""
    lesson: str = ""
    """a key of `LESSONS`"""


@dataclass(frozen=True, slots=True)
class Costs:
    """What a step costs there, as far as somebody says it."""

    cost_ratio: float | None = None
    """c: one drafter pass in target passes"""
    plain_tokens_per_s: float | None = None
    """of the same engine and target without speculation"""
    times: StepTimes | None = None
    """a curve of the target's passes; None: passes of any width cost the same"""

    def clock(self, record: Record) -> Clock | None:
        """For what-if: the curve, or Leviathan's clock. c is the one given, else what the record's own seconds of
        drafting say; None where neither is there."""
        ratio = self.cost_ratio if self.cost_ratio is not None else stated_cost_ratio(record)
        if ratio is None:
            return None
        return Clock(self.times, ratio * self.times.at(1)) if self.times else Clock.of_ratio(ratio)


def stated_cost_ratio(record: Record) -> float | None:
    """c from a record that tells seconds of drafting: draft ÷ (steps γ) over the rest ÷ steps. The rest is the target's
    passes and everything else, so that c is a little too small."""
    if not (record.draft_s and record.decode_s and record.steps and record.gamma):
        return None
    rest = record.decode_s - record.draft_s
    return record.draft_s / record.gamma / rest if rest > 0 else None


def diagnose(record: Record, costs: Costs | None = None) -> list[Finding]:
    """What follows, most important first. A record that contradicts itself yields nothing else."""
    costs = costs or Costs()
    if record.broken:
        return [
            Finding("alarm", "The record contradicts itself", f"{sentence} Nothing else is concluded from it.")
            for sentence in record.broken
        ]
    off = _off(record)
    if off:
        return [off, *_untold(record)]
    findings = [
        *_alarms(record),
        *_pays(record, costs),
        *_length(record, costs),
        *_positions(record),
        *_counts(record),
    ]
    return [*findings, *_untold(record)]


def _off(record: Record) -> Finding | None:
    """Speculation that is off, or on and idle; None where drafts are told, or where nothing is said of it."""
    if record.drafted or record.stated_length or record.stated_rate:
        return None
    if record.speculates is None and record.drafted is None:
        return Finding(
            "untold",
            "Whether speculation is on",
            f"{record.form.capitalize()} of {record.engine} do not say whether anything was drafted: measure the same "
            "prompts with speculation switched off; if the speed is the same, it is off, idle or useless.",
        )
    number = f" for {record.output_tokens:,} tokens of output" if record.output_tokens else ""
    return Finding(
        "alarm",
        "Speculation is off or idle",
        f"No token was drafted{number}. Look whether a drafter is named and its length is above 0, whether "
        f"the server's "
        "start says that it was loaded, and whether this kind of request switches it off (batch size, "
        "grammar, images).",
        "drafted = 0",
        "acceptance",
    )


def _alarms(record: Record) -> list[Finding]:
    rate, drafted = record.rate, record.drafted
    if rate is None or (drafted is not None and drafted < ENOUGH):
        return []
    formula = _ratio("accepted ÷ drafted", record.accepted, drafted, rate)
    if rate < TOO_LOW and not record.branches:  # of siblings one can be accepted
        return [
            Finding(
                "alarm",
                "Acceptance is too low for a matching drafter",
                f"{rate:.1%} of the drafts were accepted. Look first at the chat template (drafter and target "
                f"must be given "
                "the same prompt), then at the tokenizer (same vocabulary, same special tokens), then at whether "
                "the drafter "
                "was made for this very target; garbled answers lower acceptance too.",
                formula,
                "acceptance",
            )
        ]
    if rate > TOO_HIGH:
        return [
            Finding(
                "alarm",
                "Acceptance is near one",
                f"{rate:.1%} of the drafts were accepted. Read some answers: text that repeats itself is "
                f"foreseen without "
                "fail. If they are sound, longer drafts would pay.",
                formula,
                "acceptance",
            )
        ]
    return []


def _pays(record: Record, costs: Costs) -> list[Finding]:
    """Measured against plain decoding where both speeds are told; else modelled."""
    plain, speed = costs.plain_tokens_per_s, record.tokens_per_s
    if plain and speed:
        ratio = speed / plain
        word = "faster" if ratio > 1 else "slower"
        sentence = f"It is {ratio:.2f} times as fast as plain decoding there, so {word} (both measured)."
        formula = f"{speed:.1f} ÷ {plain:.1f} tokens per second"
        return [
            Finding(
                "fact" if ratio > 1 else "alarm",
                "It pays" if ratio > 1 else "It does not pay",
                sentence,
                formula,
                "pays",
            )
        ]
    return [*([NO_SPEED] if plain else []), *_should_pay(record, costs)]


NO_SPEED = Finding(
    "untold",
    "Whether it pays there, measured",
    "Plain decoding's speed is given, but this record does not tell its own: tokens of the answers and seconds of "
    "decoding.",
)


def _should_pay(record: Record, costs: Costs) -> list[Finding]:
    """Modelled, or the cost at which it would pay."""
    tokens, gamma = record.tokens_per_step, record.gamma
    if tokens is None or gamma is None:
        return []
    clock = costs.clock(record)
    if clock is None:
        most = (tokens - 1) / gamma if gamma else 0.0
        return [
            Finding(
                "fact",
                "What drafting may cost",
                f"A step gives {tokens:.2f} tokens for {round(gamma, 1):g} drafted, so it pays only where drafting one "
                f"token costs "
                f"less than {most:.2f} of a target pass, and a wide pass no more than a narrow one. Give the "
                f"cost ratio or "
                "plain decoding's speed for an answer.",
                f"(tokens per step - 1) ÷ γ = ({tokens:.2f} - 1) ÷ {round(gamma, 1):g}",
                "pays",
            )
        ]
    cost = (clock.times.at(gamma + 1) + gamma * clock.draft_step_s) / clock.plain_s
    ratio = tokens / cost
    source = "given" if costs.cost_ratio is not None else "from the record's own seconds"
    return [
        Finding(
            "fact" if ratio > 1 else "alarm",
            "It should pay" if ratio > 1 else "It should not pay",
            f"Modelled: {ratio:.2f} times plain decoding, with a cost ratio of {clock.cost_ratio:.3g} ({source}).",
            f"tokens per step ÷ (t(γ + 1) + γ c) = {tokens:.2f} ÷ {cost:.2f}",
            "pays",
        )
    ]


def position_rates(record: Record) -> Sequence[float] | None:
    """Acceptance by position for what-if: as told, else one rate for all positions that gives the tokens per step."""
    if record.conditional:
        return record.conditional
    tokens, gamma = record.tokens_per_step, record.gamma
    if tokens is None or gamma is None or round(gamma) < 1:
        return None
    alpha = alpha_for(tokens, Shape.chain(round(gamma)))
    return None if alpha is None else (alpha,)


def _length(record: Record, costs: Costs) -> list[Finding]:
    """The best speculation length on the clock, beside the one in use."""
    clock, rates, gamma = costs.clock(record), position_rates(record), record.gamma
    if clock is None or rates is None or gamma is None or round(gamma) < 1:
        return []
    points = chains(rates, clock, max(LONGEST, round(gamma)))
    now = round(gamma)
    best = max(range(len(points)), key=lambda length: (points[length].speedup, -length))
    gain = points[best].speedup / points[now].speedup - 1
    beyond = " (positions that it never drafted taken to be like the last one)" if best > len(rates) > 1 else ""
    compared = ", ".join(f"γ {length}: {points[length].speedup:.2f}" for length in dict.fromkeys((best, now)))
    formula = f"{compared} times plain decoding"
    if best == now or gain < WORTH:
        return [
            Finding(
                "fact",
                "The length is right",
                f"Modelled: no other γ up to {len(points) - 1} is faster by {WORTH:.0%}.",
                formula,
                "pays",
            )
        ]
    if best == 0:
        return [
            Finding("advice", "Switch it off", "Modelled: no length is faster than plain decoding.", formula, "pays")
        ]
    word = "long" if best < now else "short"
    return [
        Finding(
            "advice",
            f"Drafts are too {word}",
            f"Modelled: γ {best} is the best length{beyond}, {gain:.0%} faster than {now}.",
            formula,
            "pays",
        )
    ]


def _positions(record: Record) -> list[Finding]:
    rates = record.conditional
    if not rates or len(rates) < 2:
        return []
    listed = ", ".join(f"{rate:.2f}" for rate in rates)
    reached = list(itertools.accumulate(rates, operator.mul, initial=1.0))
    # [d-1]: share of the steps whose draft came to position d and no further
    ended = [before - after for before, after in itertools.pairwise(reached)]
    most = max(range(len(ended)), key=lambda index: ended[index])
    findings = [
        Finding(
            "fact",
            "Acceptance by position",
            f"Once its turn comes, a candidate is accepted with {listed}, from the first position on. Position "
            f"{most + 1} ends most drafts: those of {ended[most]:.0%} of the steps.",
            "steps that accepted d ÷ steps that accepted d - 1",
            "verdicts",
        )
    ]
    falls = [before - after for before, after in itertools.pairwise(rates)]
    steepest = max(range(len(falls)), key=lambda index: falls[index])
    if falls[steepest] >= STEEP and ended[steepest + 1] >= MANY:
        findings.insert(
            0,
            Finding(
                "advice",
                f"Drafts fail at position {steepest + 2}",
                f"There acceptance falls from {rates[steepest]:.2f} to {rates[steepest + 1]:.2f}: a second branch "
                f"there, or a "
                "stop before it, is worth trying.",
                f"{rates[steepest]:.2f} - {rates[steepest + 1]:.2f} = {falls[steepest]:.2f}",
                "stopping",
            ),
        )
    return findings


def _counts(record: Record) -> list[Finding]:
    """The two numbers that every engine prints, with what they are."""
    findings = list[Finding]()
    if record.rate is not None:
        findings.append(
            Finding(
                "fact",
                "Acceptance rate",
                f"{record.rate:.1%} of the candidates were accepted.",
                _ratio("accepted ÷ drafted", record.accepted, record.drafted, record.rate),
                "acceptance",
            )
        )
    if record.tokens_per_step is not None:
        counts = (
            f" = 1 + {record.accepted:,} ÷ {record.steps:,}" if record.steps and record.accepted is not None else ""
        )
        findings.append(
            Finding(
                "fact",
                "Tokens per step",
                f"A pass over a draft gives {record.tokens_per_step:.2f} tokens in the mean, its own among them.",
                f"1 + accepted ÷ steps{counts}",
                "acceptance",
            )
        )
    if record.branches and record.candidates is not None:
        findings.append(
            Finding(
                "fact",
                "Drafts are trees",
                f"A step has {round(record.candidates, 1):g} candidates in several branches, and of siblings at most "
                "one is accepted: the share is small by itself, and no speculation length follows from it. "
                "`specviz simulate --tree` models one.",
                _ratio("candidates ÷ steps", record.drafted, record.steps, record.candidates),
                "acceptance",
            )
        )
    return findings


def _untold(record: Record) -> list[Finding]:
    if not record.untold:
        return []
    listed = ", ".join(record.untold)
    return [
        Finding(
            "untold",
            "What this record cannot tell",
            f"{record.engine}, {record.form}. Not told: {listed}. A trace tells all of it: record a run with SpecViz.",
        )
    ]


def _ratio(words: str, above: int | None, below: int | None, value: float) -> str:
    return f"{words} = {above:,} ÷ {below:,}" if above is not None and below else f"{words}, as told: {value:.3f}"
