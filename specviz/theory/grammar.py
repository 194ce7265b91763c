"""What a grammar does to the law of a text, on brackets: the law that users think they get, and the one they get.

A model writes "(", ")" and the end "$", each with a fixed probability, and a word counts if every bracket is closed and
there are at most so many of them. Three laws over the words:

    conditional   p(word) / p(language): the model's own law, given that the word is legal
    masked        at each step p over the legal tokens alone, made whole: what constrained decoding samples
    corrected     at each step p(y) Φ(text y), made whole, with Φ the probability that the text will be finished legally

The corrected one is the conditional law (a Doob transform). Masking is Φ = 1 wherever a token is legal. In between, Φ
looks a few tokens ahead. Speculative sampling is lossless for whichever of these rows it is given, and so repeats the
masked law exactly. The distance between masked and conditional laws: 2605.07698.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from specviz.errors import OptionError

TOKENS = "()$"
OPEN, CLOSE, END = range(3)
MOST_BRACKETS = 10
State = tuple[int, int]
"""(brackets that are open, brackets written)"""
Row = tuple[float, float, float]
"""of "(", ")" and the end"""
Law = Mapping[str, float]
"""word, without its end → probability"""


@dataclass(frozen=True, slots=True)
class Brackets:
    """The model and its grammar."""

    opening: float = 0.45
    ending: float = 0.1
    most: int = 8
    """brackets in a word, an even number"""

    def __post_init__(self) -> None:
        if self.opening <= 0 or self.ending <= 0 or self.opening + self.ending >= 1:
            raise OptionError(
                f'"(" has probability {self.opening:g} and the end {self.ending:g}; both must be above 0, and '
                'something must be left for ")".'
            )
        if self.most not in range(2, MOST_BRACKETS + 1, 2):
            raise OptionError(f"a word may have {self.most} brackets; give an even number from 2 to {MOST_BRACKETS}.")

    @property
    def base(self) -> Row:
        """p, whatever was written."""
        return self.opening, 1.0 - self.opening - self.ending, self.ending

    def after(self, state: State, token: int) -> State | None:
        """The state after a token; None where the token is illegal. The end leaves the state as it is."""
        depth, used = state
        if token == OPEN:
            return (depth + 1, used + 1) if used + depth + 2 <= self.most else None
        if token == CLOSE:
            return (depth - 1, used + 1) if depth else None
        return None if depth else state

    def row(self, state: State, ahead: int) -> Row:
        """p(y) Φ(text y), made whole; Φ looks `ahead` tokens beyond y: 0 masks, `most` and more corrects."""
        weights = []
        for token, p in enumerate(self.base):
            there = self.after(state, token)
            weights.append(0.0 if there is None else p * (1.0 if token == END else legal_for(self, there, ahead)))
        whole = sum(weights)
        opening, closing, ending = (weight / whole for weight in weights)
        return opening, closing, ending

    def law(self, ahead: int) -> dict[str, float]:
        """What such rows sample, over all words; the shortest first."""
        law: dict[str, float] = {}
        texts: list[tuple[str, State, float]] = [("", (0, 0), 1.0)]
        while texts:
            text, state, weight = texts.pop(0)
            for token, share in enumerate(self.row(state, ahead)):
                there = self.after(state, token)
                if there is None or share == 0.0:
                    continue
                if token == END:
                    law[text] = weight * share
                else:
                    texts.append((text + TOKENS[token], there, weight * share))
        return law

    def conditional(self) -> dict[str, float]:
        """p(word) / p(language), added up word by word."""
        opening, closing, ending = self.base
        weights = {word: ending * opening ** word.count("(") * closing ** word.count(")") for word in self.law(0)}
        whole = sum(weights.values())
        return {word: weight / whole for word, weight in weights.items()}

    @property
    def mass(self) -> float:
        """p(language): how often the model alone writes a legal word."""
        return self.ending * legal_ends(self)


@cache
def legal_for(brackets: Brackets, state: State, steps: int) -> float:
    """Probability that the next `steps` tokens are legal; a finished word stays legal."""
    if steps == 0:
        return 1.0
    total = 0.0
    for token, p in enumerate(brackets.base):
        there = brackets.after(state, token)
        if there is not None:
            total += p * (1.0 if token == END else legal_for(brackets, there, steps - 1))
    return total


def legal_ends(brackets: Brackets) -> float:
    """Σ p(word) / p(end) over the words."""
    opening, closing, _ = brackets.base
    return sum(opening ** word.count("(") * closing ** word.count(")") for word in brackets.law(0))


def total_variation(first: Law, second: Law) -> float:
    """Half the sum of all differences."""
    return sum(abs(first.get(word, 0.0) - second.get(word, 0.0)) for word in first.keys() | second.keys()) / 2


def mean_brackets(law: Law) -> float:
    """Of a word."""
    return sum(len(word) * share for word, share in law.items())
