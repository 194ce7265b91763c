"""One decision on three tokens, line by line: every way it can go, with the intervals in which its random numbers lie.

    toy p, q ─► the engine's own session ─► one round per outcome ─► lines ─► sum per token

The method that is walked is the engine's: drafter, verifier, session, cache. Only the first token of the round is
looked at; what follows an accepted candidate adds up to one whatever it is, and is not branched over.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from specviz.core.randomness import AcceptDraw, TokenDraw
from specviz.core.sampling import Sampling
from specviz.drafters.base import DRAFTERS
from specviz.engine.pairing import check_pairing
from specviz.engine.session import RoundRecord
from specviz.errors import OptionError
from specviz.lm.table import TableModel
from specviz.proof.exhaustive import SLIVER, EnumeratedRandom, ProofCase, check_probability, session_of
from specviz.proof.planted import fault_of
from specviz.protocol.proofs import DRAWS as KNOWN_DRAWS
from specviz.protocol.proofs import MOST_CANDIDATES, Drafted, Lines, ProofLine, Toy, Trial
from specviz.trace.uniform_draws import RACE, RACES, Key
from specviz.tree_policies.drawing import DRAWS, choose_draw
from specviz.verifiers.base import VERIFIERS

TOKENS = 3
PROMPT = (0,)
PLAIN = Sampling(temperature=1.0)
DRAFTER = "model"


class Given(TableModel):
    """A model that says the same of every text."""

    def __init__(self, probs: Sequence[float], seed: int) -> None:
        super().__init__(len(probs), seed)
        self._given = torch.tensor(probs, dtype=torch.float64).log()

    def _random_logits(self, key: tuple[int, ...]) -> Tensor:
        return self._given


@dataclass(frozen=True, slots=True)
class Decision:
    """One look at a random number."""

    verb: str
    """`accept`, `draw` or `peek`"""
    key: Key
    outcome: int
    """the token drawn; 1 accepted, 0 rejected"""
    low: float
    high: float
    """between which the number lies by now; a race has none, and goes from 0 to 1"""
    threshold: float
    """of an acceptance; 1 for a draw"""
    prob: float
    """of this outcome, given all before it"""


class NotedRandom(EnumeratedRandom):
    """Keeps for every key the interval in which its number lies, so that two decisions may share one.

    Writes every decision down.
    """

    def __init__(self, script: tuple[int, ...]) -> None:
        super().__init__(script)
        self.decisions: list[Decision] = []

    def accept(self, probability: float, key: Key) -> AcceptDraw:
        check_probability(probability)
        low, high = self._noise.get(key, (0.0, 1.0))
        pieces = {1: (low, min(high, probability)), 0: (max(low, probability), high)}
        possible = [(kept, (b - a) / (high - low)) for kept, (a, b) in pieces.items() if b - a > SLIVER]
        outcome = self._play(possible)
        self._noise[key] = pieces[outcome]
        self._note("accept", key, outcome, min(1.0, probability))
        return AcceptDraw(bool(outcome), None)

    def draw(self, probs: Tensor, key: Key) -> TokenDraw:
        purpose, position, _ = key
        if purpose in ("target", RACE, RACES) and position > len(PROMPT):
            return TokenDraw(int(probs.argmax()), None)
        token = self._look(probs, key)
        self._note("draw", key, token, 1.0)
        return TokenDraw(token, None)

    def peek(self, probs: Tensor, key: Key) -> int:
        token = super().peek(probs, key)
        self._note("peek", key, token, 1.0)
        return token

    def _note(self, verb: str, key: Key, outcome: int, threshold: float) -> None:
        low, high = self._noise.get(key, (0.0, 1.0))
        prob = self.options[-1][self.played[-1]][1]
        self.decisions.append(Decision(verb, key, outcome, low, high, threshold, prob))


def lines(toy: Toy) -> Lines:
    """Every way the toy's decision can go.

    Raises OptionError for weights, names or numbers that make no toy, PairingError where the verifier does not judge
    candidates drawn so.
    """
    case, models = case_of(toy), models_of(toy)
    proof_lines = tuple(_walk(case, models))
    output = [math.fsum(line.prob for line in proof_lines if line.token == token) for token in range(TOKENS)]
    target, draft = (tuple(model.exact_probs(()).tolist()) for model in models)
    return Lines(
        toy,
        str(dict(case.options)["draw"]),
        proof_lines,
        target,
        draft,
        tuple(output),
        VERIFIERS.get(toy.verifier).lossless,
    )


def case_of(toy: Toy) -> ProofCase:
    """The toy's method, its bug planted; two tokens long, so that one level is drafted. Raises as `lines` does."""
    if not 1 <= toy.candidates <= MOST_CANDIDATES:
        raise OptionError(f"{toy.candidates} candidates were asked for; choose 1 to {MOST_CANDIDATES}.")
    if toy.draw not in KNOWN_DRAWS:
        raise OptionError(f"there is no way of drawing called '{toy.draw[:40]}'; choose of {', '.join(KNOWN_DRAWS)}.")
    widths = (toy.candidates,)
    draw = _settled(toy)
    kind = DRAFTERS.get(DRAFTER)
    given: dict[str, object] = {"branching": widths, "draw": draw}
    rule = VERIFIERS.get(toy.verifier)
    check_pairing(kind.of(given), rule, PLAIN)
    fault = fault_of(toy.broken, widths, DRAWS[draw])
    lanes = ((rule.rule.lanes, toy.candidates),) if rule.rule and rule.rule.lanes else ()
    return ProofCase(
        DRAFTER, toy.verifier, tuple(given.items()), PLAIN, PROMPT, length=2, fault=fault, verifier_options=lanes
    )


def models_of(toy: Toy) -> tuple[Given, Given]:
    """Target and drafter. Raises OptionError where the weights are none."""
    return Given(_shares(toy.target, "p"), 1), Given(_shares(toy.draft, "q"), 2)


def _settled(toy: Toy) -> str:
    """What `auto` comes to: the drafter's own choice, or i.i.d. where the verifier judges nothing else."""
    if toy.draw in DRAWS:
        return toy.draw
    usual = choose_draw(toy.draw, toy.candidates > 1, greedy=False)
    judges = VERIFIERS.get(toy.verifier).judges
    return next(name for name, draw in DRAWS.items() if draw is usual or (usual.kind not in judges and name == "iid"))


def _shares(weights: Sequence[float], what: str) -> list[float]:
    total = math.fsum(weights)
    if len(weights) != TOKENS or not all(math.isfinite(weight) and weight >= 0 for weight in weights) or total <= 0:
        shown = ", ".join(f"{weight:g}" for weight in weights)
        raise OptionError(f"{what} is {shown}; give {TOKENS} numbers of 0 or more, not all of them 0.")
    return [weight / total for weight in weights]


def _walk(case: ProofCase, models: tuple[Given, Given]) -> Iterator[ProofLine]:
    script: tuple[int, ...] | None = ()
    while script is not None:
        randomness = NotedRandom(script)
        session = session_of(case, randomness, models)
        session.begin()
        yield _line(session.round(), randomness)
        script = randomness.next_script(0)


def _line(record: RoundRecord, randomness: NotedRandom) -> ProofLine:
    tree, verdict = record.proposal.tree, record.verdict
    trials = [decision for decision in randomness.decisions if decision.verb == "accept"]
    draws = [decision for decision in randomness.decisions if decision.verb != "accept"]
    drafts = [draw for draw in draws if draw.verb == "peek" or draw.key[0] == "draft"]
    drawn = [Drafted(draw.outcome, draw.prob) for draw in drafts]
    ends = [draw for draw in draws if draw not in drafts]
    if verdict.path:
        source = "accepted"
    else:
        source = "target" if verdict.residual is None else "residual"
    return ProofLine(
        tuple(drawn) or tuple(Drafted(token, 1.0) for token in tree.tokens[1:]),
        tuple(
            Trial(tree.tokens[tried.node], trial.threshold, trial.low, trial.high, trial.prob, bool(trial.outcome))
            for trial, tried in zip(
                trials, verdict.trials, strict=False
            )  # a rule without randomness tries without a draw
        ),
        source,
        tree.tokens[verdict.path[0]] if verdict.path else verdict.token,
        ends[-1].prob if ends else 1.0,
        randomness.weight(),
    )
