"""Two greedy answers to one prompt part: is that a near tie, the number format, or a bug?

    two answers ─► the target says what each token costs (`live.clinic`) ─► judge ─► Verdict

At temperature 0 a sound engine writes, all along its own answer, the target's most probable token, up to the
rounding of its number format. A token's *loss* is how far it lies below that token, in nats, in a float32 forward over
the text before it. So the parting does not decide alone: a bug goes on writing tokens that no
rounding explains. Source of the losslessness that is tested: Leviathan et al. (2211.17192, §2.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Literal

Word = Literal["same", "near tie", "numerics", "bug", "not this target's"]
Confidence = Literal["high", "middle", "low"]
TIE = 2.0
"""noises of the format within which the two tokens of a parting are a near tie"""
BEYOND = 8.0
"""noises of the format which no rounding reaches: a token that loses more was not the target's choice"""
FAR_BEYOND = 20.0
"""the same, without a doubt"""
LEAST_NOISE = 2.0**-15
"""nats: what a float32 logit may be off by (docs/audit.md); no noise is taken for smaller"""
ENOUGH = 12
"""tokens behind a parting from which their silence says something"""


@dataclass(frozen=True, slots=True)
class Step:
    """What the target says of one token of an answer, given the prompt and the answer before it."""

    token: int
    best: int
    """the most probable token, in float32"""
    loss: float
    """log p(best) - log p(token) in float32; 0 where the token is the best"""
    loss_there: float
    """the same difference in the engine's format; below 0 where the format prefers the token"""
    lead: float
    """log p(best) - log p(the second), in float32"""
    lead_there: float
    """the same difference in the engine's format"""

    def beyond(self, noise: float) -> float:
        """The loss in noises: the format's usual one, or the one that it shows on these two tokens, if that is more."""
        return self.loss / max(noise, abs(self.loss - self.loss_there))


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: what was written, and what the target says of it."""

    name: str
    steps: tuple[Step, ...]
    ends_early: int | None = None
    """index of an end-of-text token behind which the answer goes on; None: there is none"""

    @property
    def tokens(self) -> tuple[int, ...]:
        return tuple(step.token for step in self.steps)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What two answers come to."""

    word: Word
    confidence: Confidence
    noise: float
    """nats: the format's rounding, the root mean square over all leads of both answers"""
    parts_at: int | None
    """index of the first token that differs; None: one is the beginning of the other"""
    guilty: str
    """name of the answer with the token that no rounding explains; empty without one"""
    worst_at: int | None
    """the index, of the largest loss in noises in either answer; None: no token at all"""
    worst: float
    """that loss, in noises"""
    why: str
    settle: str
    """what evidence would settle it; empty where nothing is open"""


def parting(a: Sequence[object], b: Sequence[object]) -> int | None:
    """Index of the first token that differs; None where one list is the beginning of the other."""
    return next((index for index, (left, right) in enumerate(zip(a, b, strict=False)) if left != right), None)


def noise_of(answers: Sequence[Answer]) -> float:
    """How far the engine's format moves the lead of the best token over the second: √(mean of (lead there - lead)²),
    and at least what float32 itself is off by."""
    moved = [(step.lead_there - step.lead) ** 2 for answer in answers for step in answer.steps]
    return max(LEAST_NOISE, sqrt(sum(moved) / len(moved)) if moved else 0.0)


def judge(a: Answer, b: Answer) -> Verdict:
    """The verdict on two answers; which of them is plain decoding is not asked."""
    noise = noise_of((a, b))
    (loss_a, at_a), (loss_b, at_b) = (_worst(answer, noise) for answer in (a, b))
    guilty, most, worst_at = (a, loss_a, at_a) if loss_a >= loss_b else (b, loss_b, at_b)
    open_case = Verdict("same", "high", noise, parting(a.tokens, b.tokens), "", worst_at, most, "", "")
    early = next((answer for answer in (a, b) if answer.ends_early is not None), None)
    if early is not None:
        return replace(open_case, word="bug", guilty=early.name, worst_at=early.ends_early, why=_went_on(early))
    sure: Confidence = "high" if most > FAR_BEYOND else "middle"
    if min(loss_a, loss_b) > BEYOND:
        return replace(open_case, word="not this target's", confidence=sure, why=FOREIGN, settle=FOREIGN_SETTLES)
    if most > BEYOND:
        why = _bug(guilty, worst_at, most, noise)
        return replace(open_case, word="bug", confidence=sure, guilty=guilty.name, why=why, settle=BUG_SETTLES)
    if open_case.parts_at is None:
        return replace(open_case, why=_unparted(a, b))
    return _harmless(a, b, open_case.parts_at, open_case)


def _worst(answer: Answer, noise: float) -> tuple[float, int | None]:
    """The largest loss in noises, and the token's index."""
    losses = [(step.beyond(noise), index) for index, step in enumerate(answer.steps)]
    return max(losses, default=(0.0, None), key=lambda pair: pair[0])


def _harmless(a: Answer, b: Answer, parts_at: int, open_case: Verdict) -> Verdict:
    """Nothing is beyond rounding: a near tie, or a wider margin that the format explains."""
    noise = open_case.noise
    margin = abs(a.steps[parts_at].loss - b.steps[parts_at].loss)
    behind = min(len(a.steps), len(b.steps)) - parts_at - 1
    tie = margin <= TIE * noise
    confidence: Confidence = "low" if behind < ENOUGH else "high" if tie else "middle"
    why = (
        f"Where they part the target's margin is {margin:.3g} nats in float32, {margin / noise:.1f} times the format's "
        f"rounding of {noise:.2g}: "
    ) + (
        "either token may come first with another order of additions, and every token behind the parting is the "
        "target's choice on its own text, up to rounding."
        if tie
        else "more than usual, yet within what the format can do; no token of either answer lies beyond it."
    )
    few = (
        f"Only {behind} tokens follow the parting in both: longer answers would show a bug that begins at a near tie. "
        if behind < ENOUGH
        else ""
    )
    settle = f"{few}Run both in float32: near ties and numerics go away there, a bug stays."
    return replace(open_case, word="near tie" if tie else "numerics", confidence=confidence, why=why, settle=settle)


def _unparted(a: Answer, b: Answer) -> str:
    """Equal, or one is the beginning of the other."""
    short, long = sorted((a, b), key=lambda answer: len(answer.steps))
    more = len(long.steps) - len(short.steps)
    if not more:
        return "The answers are the same, token by token, and every token is the target's choice."
    return (
        f"{short.name} is the beginning of {long.name}, which goes on for {more} more tokens that are all the target's "
        "choice: a limit of length or a stop string ended it."
    )


def _went_on(answer: Answer) -> str:
    return (
        f"Token {answer.ends_early} of {answer.name} ends the text, and {answer.name} goes on behind it: the end of "
        "text was not looked for among accepted tokens."
    )


def _bug(answer: Answer, index: int | None, most: float, noise: float) -> str:
    assert index is not None, "a loss belongs to a token."
    step = answer.steps[index]
    return (
        f"Token {index} of {answer.name} lies {step.loss:.3g} nats below the target's choice in float32 and "
        f"{step.loss_there:.3g} in the engine's format, {most:,.0f} times the format's rounding of {noise:.2g}: no "
        "rounding explains it."
    )


FOREIGN = (
    "Both answers have tokens that no rounding of this target explains: they were made by other weights, from another "
    "prompt or template, or at a temperature above 0."
)
FOREIGN_SETTLES = (
    "Give prompt and answers as lists of their exact token ids, and make sure that both were decoded greedily, without "
    "penalties."
)
BUG_SETTLES = (
    "Where an answer came as text, repeat it with the token ids that the engine itself gives: a text is split anew "
    "here, and another split looks like a bug. Then record the run and give its trace: it tells which rule was broken."
)
