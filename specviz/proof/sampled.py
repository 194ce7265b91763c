"""Losslessness by sampling, through the real torch path: large trees on a small Llama, too many branches to walk.

    target alone ─► law of the first tokens ─► cells        engine, many seeds ─► counts ─► G-test ─► Holm

A text is long enough that hardly a run ends before its second round, and a cell is a text, or texts that differ in what
is too rare to be counted: the test is of the joint law over consecutive rounds. Weaker than a walk: it sees what shows
in so many samples.

At temperature 0 in float32 nothing is drawn: every method writes the very text of plain decoding, which all legal
pairings are asked on many prompts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from scipy.special import chdtrc, rel_entr

from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling, transform
from specviz.lm.base import LanguageModel
from specviz.proof.exhaustive import ProofCase, Text, session_of
from specviz.proof.table import cases, legal, says_lossless

LEAST = 5.0
"""expected count of the smallest cell"""
FALSE_ALARM = 1e-4
"""probability that a run over other seeds rejects any of several sound methods, all taken together"""
PLAIN = Sampling(temperature=1.0)
LENGTH = 6
Models = tuple[LanguageModel, LanguageModel]


def large(tree_policy: str, verifier: str, **options: object) -> ProofCase:
    """A large tree on the small Llama."""
    given = tuple(options.items())
    return ProofCase(
        "model", verifier, sampling=PLAIN, length=LENGTH, tree_policy=tree_policy, tree_policy_options=given
    )


LARGE: tuple[ProofCase, ...] = (
    large("rsd_s", "sequential", width=6, depth=4),
    large("rsd_s", "traversal", width=6, depth=4),
    large("dyspec", "sequential", budget=32),
    large("levels", "sequential", branching=(4, 3, 2)),
    large("sequoia", "traversal", budget=64, depth=4, acceptance="0.5,0.2,0.1,0.05", fit=False),
)


@dataclass(slots=True)
class Cells:
    """A partition of all texts: every text has exactly one prefix in `of`."""

    of: dict[Text, int] = field(default_factory=dict)
    """prefix → number of its cell"""
    probs: list[float] = field(default_factory=list)

    def add(self, prefixes: Sequence[Text], prob: float) -> None:
        self.of |= dict.fromkeys(prefixes, len(self.probs))
        self.probs.append(prob)

    def cell(self, text: Text) -> int:
        return next(self.of[text[:n]] for n in range(len(text) + 1) if text[:n] in self.of)


def cells_of(target: LanguageModel, case: ProofCase, runs: int) -> Cells:
    """The finest prefix cells that expect at least `LEAST` of so many texts, by plain passes of the target."""
    cells = Cells()
    _split(target, case, ((), 1.0), LEAST / runs, cells)
    return cells


def _split(target: LanguageModel, case: ProofCase, prefix: tuple[Text, float], least: float, cells: Cells) -> None:
    text, mass = prefix
    if len(text) == case.length or mass < 2 * least:
        cells.add([text], mass)
        return
    logits = target.forward([*case.prompt, *text], target.new_cache())[-1]
    shares = transform(logits.double(), case.sampling).tolist()
    children = sorted((((*text, token), mass * share) for token, share in enumerate(shares)), key=lambda pair: pair[1])
    rare: list[tuple[Text, float]] = []
    while children and (children[0][1] < least or 0.0 < sum(prob for _, prob in rare) < least):
        rare.append(children.pop(0))
    if rare:
        cells.add([text for text, _ in rare], sum(prob for _, prob in rare))
    for child in children:
        _split(target, case, child, least, cells)


@dataclass(frozen=True, slots=True)
class Sample:
    """What a number of runs gave."""

    case: ProofCase
    runs: int
    nodes: float
    """candidates in a round's tree, mean"""
    rounds: float
    """per run, mean"""
    counts: tuple[int, ...]
    probs: tuple[float, ...]

    @property
    def statistic(self) -> float:
        """G = 2 sum O ln(O / E), over Williams's correction for small expectations (1976)."""
        expected = [self.runs * prob for prob in self.probs]
        g = 2.0 * float(rel_entr(self.counts, expected).sum())
        return g / (1.0 + (sum(1.0 / prob for prob in self.probs) - 1.0) / (6.0 * self.runs * self.freedom))

    @property
    def freedom(self) -> int:
        return len(self.probs) - 1

    @property
    def p_value(self) -> float:
        """Probability of so large a statistic under the target's law: the chi-squared tail."""
        return float(chdtrc(self.freedom, self.statistic))

    @property
    def total_variation(self) -> float:
        """Between the counts and the law; what noise alone would give is `noise`."""
        pairs = zip(self.counts, self.probs, strict=True)
        return sum(abs(count / self.runs - prob) for count, prob in pairs) / 2

    @property
    def noise(self) -> float:
        """Expected total variation of so many exact samples: half the sum of the cells' mean deviations."""
        return sum(math.sqrt(2 * prob * (1 - prob) / (math.pi * self.runs)) for prob in self.probs) / 2


def sample(case: ProofCase, models: Models, runs: int, seed: int) -> Sample:
    """Run the method `runs` times, with seeds of its own each."""
    cells = cells_of(models[0], case, runs)
    counts, nodes, rounds = [0] * len(cells.probs), 0, 0
    for number in range(runs):
        session = session_of(case, SeededRandom(seed * 1_000_003 + number), models)
        session.begin()
        while session.finished is None:
            nodes += len(session.round().proposal.candidates)
        rounds += session.rounds
        counts[cells.cell(tuple(session.tokens[len(case.prompt) :]))] += 1
    return Sample(case, runs, nodes / rounds, rounds / runs, tuple(counts), tuple(cells.probs))


def samples(models: Models, runs: int, seed: int, cases: Sequence[ProofCase] = LARGE) -> Iterator[Sample]:
    """Every case in turn, with noise of its own."""
    for number, case in enumerate(cases):
        yield sample(case, models, runs, seed + number)


def rejected(drawn: Sequence[Sample], false_alarm: float = FALSE_ALARM) -> list[Sample]:
    """Those whose law is not the target's: Holm's step-down over all of them (1979)."""
    ordered = sorted(drawn, key=lambda judged: judged.p_value)
    wrong: list[Sample] = []
    for number, judged in enumerate(ordered):
        if judged.p_value > false_alarm / (len(ordered) - number):
            break
        wrong.append(judged)
    return wrong


COLD = Sampling(0.0)
UNDRAFTED = ProofCase("none", "greedy", sampling=COLD)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One method against plain decoding."""

    case: ProofCase
    prompts: int
    tokens: int
    """committed over all prompts"""
    passes: int
    """target passes that took"""
    different: int
    """prompts whose text is another"""


def greedy_cases() -> list[ProofCase]:
    """Every lossless method of the table that is legal at temperature 0, each once."""
    cold = [
        replace(case, sampling=COLD) for case in cases(full=True) if case.stop_policy == "fixed" and says_lossless(case)
    ]
    return list(dict.fromkeys(case for case in cold if legal(case)))


def plain_texts(models: Models, prompts: Sequence[Text], length: int) -> list[list[int]]:
    """`length` tokens of plain decoding after each prompt."""
    return [_output(replace(UNDRAFTED, prompt=prompt, length=length), models)[0] for prompt in prompts]


def comparisons(
    models: Models,
    prompts: Sequence[Text],
    length: int,
    chosen: Sequence[ProofCase] | None = None,
    plain: Sequence[list[int]] | None = None,
) -> Iterator[Comparison]:
    """Decode `length` tokens of every prompt with every method; `plain`: their `plain_texts`, where they are known."""
    plain = plain_texts(models, prompts, length) if plain is None else plain
    for case in greedy_cases() if chosen is None else chosen:
        written = [_output(replace(case, prompt=prompt, length=length), models) for prompt in prompts]
        different = sum(text != right for (text, _), right in zip(written, plain, strict=True))
        yield Comparison(
            case, len(prompts), sum(len(text) for text, _ in written), sum(rounds for _, rounds in written), different
        )


def _output(case: ProofCase, models: Models) -> tuple[list[int], int]:
    """The tokens after the prompt, and the rounds they took."""
    session = session_of(case, SeededRandom(0), models)
    session.begin()
    while session.finished is None:
        session.round()
    return session.tokens[len(case.prompt) :], session.rounds
