"""Proofs as plain data: the questions a screen may ask about losslessness, and the answers.

An exact proof lists every way one decision can go on a toy of three tokens; a sampling test counts texts and compares
the counts with the target's law. Place in the flow: `specviz.proof` answers, commands and the page show.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

ROUNDING = 1e-12
"""a difference below this is rounding"""
NAMES = "abc"
"""what the tokens of a toy are called"""
MOST_CANDIDATES = 3
DRAWS = ("auto", "iid", "without_replacement", "top_k")
"""how candidates are drawn; `auto`: without replacement, or i.i.d. where the verifier judges nothing else"""


@dataclass(frozen=True, slots=True)
class Toy:
    """One decision: a target and a drafter that know three tokens, a draft of one level, a verifier."""

    target: tuple[float, ...] = (0.5, 0.3, 0.2)
    """p, as weights: divided by their sum"""
    draft: tuple[float, ...] = (0.2, 0.45, 0.35)
    """q, likewise"""
    verifier: str = "sequential"
    candidates: int = 1
    """siblings drafted, 1 to `MOST_CANDIDATES`"""
    draw: str = "auto"
    """one of `DRAWS`"""
    broken: str = ""
    """name of the bug planted, of `BREAKS`; empty: none"""


@dataclass(frozen=True, slots=True)
class Break:
    """A bug that can be planted into the method before it runs."""

    name: str
    label: str
    does: str
    why: str
    """what it does to the text's law"""
    harmless: str
    """what to say where it changes nothing"""


BREAKS = (
    Break(
        "skip_residual",
        "skip the residual",
        "after a rejection the token is drawn from p itself instead of norm(max(0, p − q))",
        "What accepted candidates have brought already is brought again: tokens that the drafter likes too much stay "
        "too frequent, and those it neglects are not made up for.",
        "No token is ever drawn after a rejection here, or this rule has no residual: it draws from the target and "
        "looks "
        "whether the draw was drafted.",
    ),
    Break(
        "accept_all",
        "accept everything",
        "every candidate is kept, whatever the target says of it",
        "The text follows the drafter: the output is q, and the target is no longer asked.",
        "The target and the drafter agree here, or this rule draws no u that could be ignored.",
    ),
    Break(
        "sort_siblings",
        "sort the siblings",
        "the candidates are tried by falling q instead of in the order in which they were drawn",
        "The first one tried is no longer distributed as q but as the larger of several draws, so that dividing by q "
        "corrects for the wrong thing.",
        "There is nothing to sort: it takes two drawn candidates that q prefers differently, and a rule that cares "
        "about their order.",
    ),
    Break(
        "drop_unsure",
        "drop unsure tokens",
        "a token that was drawn with q of 0.3 or less is not submitted",
        "Whether a candidate is judged depends on its own value. A dropped token has lost its acceptance probability, "
        "and all tokens share the draw that takes its place.",
        "No token that could be drawn has q of 0.3 or less, or this rule does not care which candidates there are.",
    ),
    Break(
        "reuse_noise",
        "reuse the noise",
        "the random number that drew a candidate also decides whether it is accepted",
        "Drawing and judging are no longer independent: the number is known to lie where it picked this very token, "
        "and so some tokens are accepted more often than they should be, others less.",
        "No uniform draw decides about a drawn candidate here, so there is no number to use twice.",
    ),
)


@dataclass(frozen=True, slots=True)
class Drafted:
    """One candidate."""

    token: int
    prob: float
    """with which it came up, given those before it; 1 where it was chosen without randomness"""


@dataclass(frozen=True, slots=True)
class Trial:
    """One decision: accepted if u falls below the threshold."""

    token: int
    threshold: float
    low: float
    high: float
    """where u lies on this line, from `low` up to but not including `high`"""
    prob: float
    """of this outcome, given all before it"""
    accepted: bool


@dataclass(frozen=True, slots=True)
class ProofLine:
    """One way the decision can go."""

    drafted: tuple[Drafted, ...]
    trials: tuple[Trial, ...]
    source: str
    """where the token comes from: `accepted` (a candidate), `residual`, `target` (p itself)"""
    token: int
    token_prob: float
    """of the draw that gave it; 1 for an accepted candidate that needed none"""
    prob: float
    """product of all the probabilities of the line"""


@dataclass(frozen=True, slots=True)
class Lines:
    """Every way, and what they add up to."""

    toy: Toy
    draw: str
    """what `auto` turned out to be"""
    lines: tuple[ProofLine, ...]
    target: tuple[float, ...]
    draft: tuple[float, ...]
    output: tuple[float, ...]
    """per token, the sum of the lines that commit it"""
    lossless: bool
    """what the verifier says of itself"""

    @property
    def error(self) -> float:
        """Largest difference between output and target."""
        return max(abs(a - b) for a, b in zip(self.output, self.target, strict=True))

    @property
    def total_variation(self) -> float:
        """Half the sum of all differences."""
        return sum(abs(a - b) for a, b in zip(self.output, self.target, strict=True)) / 2

    @property
    def exact(self) -> bool:
        return self.error < ROUNDING


@dataclass(frozen=True, slots=True)
class SampleQuestion:
    """Run a method many times and count: on a toy, or the first two tokens that the bundled pair writes."""

    toy: Toy = field(default_factory=Toy)
    """its verifier, candidates, draw and bug hold for the pair too"""
    prompt: str = ""
    """text the bundled pair continues; empty: the toy is sampled"""
    temperature: float = 1.0
    """of the pair; a toy has none"""
    runs: int = 1000
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Cell:
    """Texts that are counted together."""

    label: str
    prob: float
    """under the target's law"""
    count: int


@dataclass(frozen=True, slots=True)
class Sampled:
    """Counts so far."""

    wanted: int
    runs: int
    cells: tuple[Cell, ...]
    statistic: float
    """G = 2 Σ O ln(O/E), divided by Williams's correction"""
    freedom: int
    p_value: float
    """probability of so large a statistic under the target's law"""
    total_variation: float
    noise: float
    """total variation that as many exact samples would show on average"""

    @property
    def noise_bound(self) -> float:
        """sqrt(K / (2 π N)), which `noise` is for many cells of equal size, and else stays below."""
        return math.sqrt(len(self.cells) / (2 * math.pi * self.runs)) if self.runs else math.inf

    @property
    def smallest(self) -> float:
        """Expected count of the rarest cell; below 5 the p-value means little."""
        return min(cell.prob for cell in self.cells) * self.runs


class Prover(Protocol):
    """Answers questions about losslessness."""

    def lines(self, toy: Toy) -> Lines:
        """Every way the decision can go. Raises SpecVizError where the toy cannot be decided so."""
        ...

    def sample(self, question: SampleQuestion, cancelled: Callable[[], bool] = lambda: False) -> Iterator[Sampled]:
        """Counts, several times on the way and at the end. Raises SpecVizError where it cannot be run."""
        ...
