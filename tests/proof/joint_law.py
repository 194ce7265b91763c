"""The joint law of several texts in one batch, by walking every branch of all of them at once.

Lossless in a batch means more than the right law for each text: what is drawn for one may not depend on another. The
joint law must be the product of the target's own laws.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from torch import Tensor

from specviz.batch.budget import Budget, BudgetStopPolicy, Prices
from specviz.batch.together import Model, Seat, SessionOf, decode_together
from specviz.core.randomness import AcceptDraw, RandomSource, TokenDraw
from specviz.drafters.base import DraftPolicies
from specviz.engine.pairing import follow
from specviz.engine.session import Session
from specviz.lm.base import Batch, LanguageModel
from specviz.proof.exhaustive import EnumeratedRandom, ProofCase, Text, exact, session_of
from specviz.stop_policies.base import StopOptions
from specviz.trace.uniform_draws import Key
from tests.batch.one_by_one import OneByOne

JointLaw = dict[tuple[Text, ...], float]


@dataclass(frozen=True, slots=True)
class OwnKeys:
    """One text's share of a random source: the same keys mean other draws in every text."""

    source: RandomSource
    text: int

    def _own(self, key: Key) -> Key:
        purpose, position, index = key
        return f"{self.text} {purpose}", position, index

    def accept(self, probability: float, key: Key) -> AcceptDraw:
        return self.source.accept(probability, self._own(key))

    def draw(self, probs: Tensor, key: Key) -> TokenDraw:
        return self.source.draw(probs, self._own(key))

    def peek(self, probs: Tensor, key: Key) -> int:
        return self.source.peek(probs, self._own(key))


def joint_law(
    cases: Sequence[ProofCase],
    batch_of: Callable[[LanguageModel], Batch] = OneByOne,
    own: Callable[[RandomSource, int], RandomSource] = OwnKeys,
    prices: Prices | None = None,
) -> JointLaw:
    """The exact law of the texts of all cases, decoded in one batch on the same toy models; with prices, as the batch's
    budget grants their chains. The number of branches is the product of theirs: a few tokens of a few texts."""
    target, drafter = cases[0].models()
    law: JointLaw = defaultdict(float)
    script: tuple[int, ...] | None = ()
    while script is not None:
        randomness = EnumeratedRandom(script)
        budget = prices and Budget(prices)
        sessions = [_session(text, case, own(randomness, text), budget) for text, case in enumerate(cases)]
        models = Model(target, batch_of(target)), Model(drafter, batch_of(drafter))
        decoded = decode_together(*models, sessions, budget=budget)
        law[tuple(tuple(text.tokens) for text in decoded.texts)] += randomness.weight()
        script = randomness.next_script(0)
    return dict(law)


def _session(text: int, case: ProofCase, randomness: RandomSource, budget: Budget | None) -> SessionOf:
    def make(target: LanguageModel, drafter: LanguageModel) -> Session:
        session = session_of(case, randomness, (target, drafter))
        if budget is not None:
            assert isinstance(target, Seat)
            policy = BudgetStopPolicy(StopOptions(longest=case.length), budget, target.grants, text, case.length)
            follow(session.method.drafter, DraftPolicies(stop_policy=policy))
        return session

    return make


def joint_error(cases: Sequence[ProofCase], law: JointLaw) -> float:
    """Largest difference between a joint law and the product of the target's own laws, over all tuples of texts."""
    alone = [exact(case) for case in cases]
    wanted = {
        texts: prod(text_law[text] for text_law, text in zip(alone, texts, strict=True)) for texts in product(*alone)
    }
    return max(abs(law.get(texts, 0.0) - wanted.get(texts, 0.0)) for texts in law.keys() | wanted.keys())
