"""Proof instead of sampling: a random source that walks every branch of a run, and the law of the text that follows
from it.

All randomness of the engine passes through two verbs. Replaying a run with every possible sequence of their outcomes,
and multiplying the outcomes' probabilities, gives the exact law of what is committed; no sample is drawn anywhere. The
source plays given outcomes and keeps the weight of every other. Place in the flow: runs the engine's own session on toy
models.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from math import prod

from torch import Tensor

from specviz.core.randomness import AcceptDraw, RandomSource, TokenDraw
from specviz.core.sampling import Sampling, transform
from specviz.datastore.store import Datastore, from_ids
from specviz.drafters.base import DRAFTERS, Drafter, DraftPolicies
from specviz.drafters.capabilities import Observes, Remembers, Retrieves, Translates, further_models, with_model
from specviz.engine.pairing import follow
from specviz.engine.session import Method, RoundRecord, Session, Start
from specviz.engine.termination import Ending, Limits
from specviz.errors import ProofError
from specviz.lm.base import LanguageModel
from specviz.lm.table import TableModel
from specviz.options import Options
from specviz.proof.races import Race, soonest
from specviz.proof.small_models import move_weights, toy_texts, toy_weights
from specviz.stop_policies.base import STOP_POLICIES
from specviz.trace.uniform_draws import RACE, RACES, Key
from specviz.tree_policies.base import TREE_POLICIES
from specviz.verifiers.base import VERIFIERS

Text = tuple[int, ...]
Law = dict[Text, float]
TARGET_SEED = 1
WARM = Sampling(temperature=0.8)


@cache
def toy(vocab_size: int, seed: int) -> TableModel:
    """One model for all runs: its numbers are worked out once."""
    return TableModel(vocab_size, seed)


@cache
def toy_text(vocab_size: int) -> Datastore:
    """A text to retrieve from in which every pair of tokens is followed by several."""
    longer = [(i * i + i // 3) % vocab_size for i in range(24)]
    return from_ids(
        "toy", [("squares", longer), ("sums", [(i + i // 4) % vocab_size for i in range(12)])], "", vocab_size
    )


@dataclass(frozen=True)
class ProofCase:
    """A pair of methods on a pair of toy models."""

    drafter: str
    verifier: str
    options: tuple[tuple[str, object], ...] = ()
    sampling: Sampling = WARM
    prompt: Text = (0,)
    length: int = 3
    """tokens whose joint law is compared"""
    vocab_size: int = 3
    tree_policy: str = "auto"
    tree_policy_options: tuple[tuple[str, object], ...] = ()
    stop_policy: str = "fixed"
    stop_policy_options: tuple[tuple[str, object], ...] = ()
    memory: bytes = b""
    """what the drafter recalls from earlier runs"""
    fault: Callable[[Method], Method] | None = None
    """a bug planted into the method before it runs"""
    verifier_options: tuple[tuple[str, object], ...] = ()

    def draft_policies(self) -> DraftPolicies:
        """New tree and stop policies: a stop policy remembers the rounds of its run."""
        stop = STOP_POLICIES.get(self.stop_policy)
        stop_policy = stop.of(dict(self.stop_policy_options))
        drafter = self.models()[1].info
        weights = toy_weights(stop, drafter.hidden_size, drafter.weights_sha256)
        if weights is not None:
            stop_policy.use(weights)
        if self.tree_policy == "auto":
            return DraftPolicies(stop_policy=stop_policy)
        tree_policy = TREE_POLICIES.get(self.tree_policy)
        return DraftPolicies(tree_policy.of(dict(self.tree_policy_options)), stop_policy)

    def __str__(self) -> str:
        options = ",".join(f"{name}={value}" for name, value in self.options)
        top = f",top_k={self.sampling.top_k}" if self.sampling.top_k else ""
        draft_policies = "".join(
            f"-{name}({','.join(f'{key}={value}' for key, value in given)})"
            for name, given in (
                (self.tree_policy, self.tree_policy_options),
                (self.stop_policy, self.stop_policy_options),
            )
            if name not in ("auto", "fixed")
        )
        return f"{self.drafter}({options}){draft_policies}-{self.verifier}-T={self.sampling.temperature:g}{top}"

    def models(self) -> tuple[TableModel, TableModel]:
        return toy(self.vocab_size, TARGET_SEED), toy(self.vocab_size, 2)


def drafter_of(case: ProofCase) -> Drafter[Options]:
    """The case's drafter with its policies, before it is given a model or a text.

    Raises PairingError for a drafter that follows none."""
    drafter = DRAFTERS.get(case.drafter).of(dict(case.options))
    follow(drafter, case.draft_policies())
    return drafter


def session_of(
    case: ProofCase, randomness: RandomSource, models: tuple[LanguageModel, LanguageModel] | None = None
) -> Session:
    """The engine's own session, on the case's toy models or on the given (target, drafter)."""
    target, draft = models or case.models()
    verifier = VERIFIERS.get(case.verifier)
    drafter = drafter_of(case)
    # Beside models that were given the target drafts too: it shares their tokens, and what it drafts is accepted.
    further = [
        toy(case.vocab_size, seed) if models is None else target
        for seed, _ in enumerate(further_models(drafter), start=3)
    ]
    size = target.info.vocab_size
    texts = (*toy_texts(size), size) if isinstance(drafter, Translates) else None
    drafting = with_model(drafter, draft, further, texts)
    if isinstance(drafting, Retrieves) and drafting.retrieves():
        drafting.consult(toy_text(case.vocab_size))
    if case.memory:
        assert isinstance(drafting, Remembers), f"'{case.drafter}' remembers nothing."
        drafting.recall(case.memory)
    if models is None:
        move_weights(drafting, case.models()[0])
    method = Method(
        drafting,
        verifier.of(dict(case.verifier_options)),
        case.sampling,
        randomness,
    )
    if case.fault is not None:
        method = case.fault(method)
    return Session(target, method, Start(list(case.prompt)), Ending(Limits(case.length), lambda token: b""))


@dataclass
class Branch:
    """One way a run can go up to the end of some round."""

    script: tuple[int, ...]
    weight: float
    """of this round's outcomes alone"""
    text: Text
    records: list[RoundRecord]
    over: bool
    open_races: tuple[object, ...] = ()
    """what the draft has already learned of races that the target has not run yet"""


def branches(case: ProofCase, script: tuple[int, ...], rounds: int) -> Iterator[Branch]:
    """Every way round number `rounds` can go after the earlier rounds went as `script` says."""
    fixed = len(script)
    following: tuple[int, ...] | None = script
    while following is not None:
        randomness = EnumeratedRandom(following)
        session = session_of(case, randomness)
        session.begin()
        records = [session.round() for _ in range(rounds + 1)]
        text = tuple(session.tokens[len(case.prompt) :])
        yield Branch(
            tuple(randomness.played),
            randomness.weight(fixed),
            text,
            records,
            session.finished is not None,
            randomness.open_races(len(session.tokens)),
        )
        following = randomness.next_script(fixed)


Watch = Callable[[RoundRecord, float], None]
"""is told of every round that was walked and with which probability it happens"""


def law(case: ProofCase, merged: bool = True, watch: Watch = lambda record, weight: None) -> Law:
    """The exact law of the first `length` tokens as the engine produces them, over all rounds it takes.

    With `merged`, of the branches of a round with the same text so far, the same number of accepted nodes, the same
    depth of the draft, the same token left open and the same races looked into one is followed further, with the weight
    of all: what the others differ in has been judged and dropped, and a stop policy has learned the same. A
    drafter that learns from the target remembers what they differ in, so all its branches are followed.
    """
    learns = issubclass(DRAFTERS.get(case.drafter), Observes)
    walk = Walk(case, merged and not learns, watch)
    walk.follow((), 1.0, 0)
    return dict(walk.found)


@dataclass(slots=True)
class Walk:
    """A walk of all branches of a case, round after round."""

    case: ProofCase
    merged: bool
    watch: Watch
    found: Law = field(default_factory=lambda: defaultdict(float))

    def follow(self, script: tuple[int, ...], weight: float, rounds: int) -> None:
        """Every way on from round number `rounds`, reached by `script` with probability `weight`."""
        classes: dict[object, list[Branch]] = defaultdict(list)
        for branch in branches(self.case, script, rounds):
            self.watch(branch.records[-1], weight * branch.weight)
            if branch.over:
                self.found[branch.text] += weight * branch.weight
            else:
                classes[_left_by(branch) if self.merged else branch.script].append(branch)
        for members in classes.values():
            chosen = members[len(members) // 2]
            self.follow(chosen.script, weight * sum(member.weight for member in members), rounds + 1)


def _left_by(branch: Branch) -> object:
    """What of a round can matter to the rounds after it."""
    record = branch.records[-1]
    waiting = record.verdict.token if record.commitment.trimmed == "open" else -1
    return branch.text, (*record.verdict.path, -1, max(record.proposal.tree.depths), waiting), branch.open_races


def exact(case: ProofCase) -> Law:
    """The target's own law of the first `length` tokens."""
    target, _ = case.models()
    law: Law = {(): 1.0}
    for _ in range(case.length):
        longer: Law = {}
        for text, weight in law.items():
            probs = transform(target.exact_logits((*case.prompt, *text)), case.sampling).tolist()
            longer |= {(*text, token): weight * p for token, p in enumerate(probs) if p > 0.0}
        law = longer
    return law


@dataclass(frozen=True, slots=True)
class Distance:
    """Between the engine's law and the target's."""

    error: float
    """largest difference in the probability of one text"""
    total_variation: float
    """half the sum of all differences"""


def distance(case: ProofCase, merged: bool = True, watch: Watch = lambda record, weight: None) -> Distance:
    """How far the engine's law of the first `length` tokens is from the target's."""
    output, right = law(case, merged, watch), exact(case)
    differences = [abs(output.get(text, 0.0) - right.get(text, 0.0)) for text in output.keys() | right.keys()]
    return Distance(max(differences), sum(differences) / 2)


SLIVER = 1e-14
"""bounds of a uniform number that are closer are one number, rounded twice"""


def check_probability(probability: float) -> None:
    """Raises ProofError for what no probability is."""
    if not -1e-12 <= probability <= 1 + 1e-12:
        raise ProofError(f"something is to be accepted with probability {probability:g}; this is its verifier's fault.")


class EnumeratedRandom:
    """Plays a given sequence of outcomes and goes on with the first possible ones; keeps every alternative's weight.

    An outcome of probability zero is never played. Using a key twice is the fault it looks like.
    """

    def __init__(self, script: tuple[int, ...]) -> None:
        self._script = script
        self.options: list[list[tuple[int, float]]] = []
        self.played: list[int] = []
        self._keys: set[Key] = set()
        self._noise: dict[Key, tuple[float, float]] = {}
        """between which bounds the uniform number of a key lies, as far as it was looked at"""
        self._races: dict[Key, Race] = {}

    def open_races(self, length: int) -> tuple[object, ...]:
        """What was looked at of races for places from `length` on: who won under which distribution."""
        return tuple((key, race.looks) for key, race in sorted(self._races.items()) if key[1] >= length)

    def accept(self, probability: float, key: Key) -> AcceptDraw:
        check_probability(probability)
        return AcceptDraw(bool(self._choose([(1, probability), (0, 1.0 - probability)], key)), None)

    def draw(self, probs: Tensor, key: Key) -> TokenDraw:
        if key in self._noise or key[0] in (RACE, RACES):
            self._use(key)
            return TokenDraw(self._look(probs, key), None)
        return TokenDraw(self._choose(list(enumerate(probs.tolist())), key), None)

    def peek(self, probs: Tensor, key: Key) -> int:
        if key in self._keys:
            raise ProofError(f"the noise of {key} is looked at after it was used; a guess comes before the decision.")
        return self._look(probs, key)

    def _look(self, probs: Tensor, key: Key) -> int:
        """Branch over the tokens that the uniform number may pick, and keep the bounds that the choice implies.

        Draws with one number from several distributions are thereby joined as `randomness.pick` joins them, and races
        with the same times as `randomness.winner` does.
        """
        if key[0] == RACE:
            return self._run(probs, key)
        if key[0] == RACES:
            return self._run_all(probs, key)
        low, high = self._noise.get(key, (0.0, 1.0))
        pieces, below = dict[int, tuple[float, float]](), 0.0
        for token, p in enumerate(probs.tolist()):
            piece = max(low, below), min(high, below + p)
            if piece[1] - piece[0] > SLIVER:
                pieces[token] = piece
            below += p
        token = self._play([(token, (b - a) / (high - low)) for token, (a, b) in pieces.items()])
        self._noise[key] = pieces[token]
        return token

    def _run(self, probs: Tensor, key: Key) -> int:
        """Branch over the winners that the times of the race still allow."""
        race = self._races.get(key) or Race(len(probs))
        shares = probs.tolist()
        won = {token: race.won(token, shares) for token, p in enumerate(shares) if p > 0.0}
        token = self._play([(token, after.share / race.share) for token, after in won.items() if after.share > SLIVER])
        self._races[key] = won[token]
        return token

    def _run_all(self, probs: Tensor, key: Key) -> int:
        """The same for the smallest time of several lanes; nobody looks at these afterwards."""
        _, position, lanes = key
        keys: list[Key] = [(RACE, position, lane) for lane in range(lanes)]
        races = [self._races.get(lane) or Race(len(probs)) for lane in keys]
        known = prod(race.share for race in races)
        for lane in keys:
            self._use(lane)
        shares = enumerate(soonest(races, probs.tolist()))
        return self._play([(token, share / known) for token, share in shares if share > SLIVER])

    def _choose(self, outcomes: list[tuple[int, float]], key: Key) -> int:
        self._use(key)
        return self._play(outcomes)

    def _use(self, key: Key) -> None:
        if key in self._keys:
            raise ProofError(f"the noise of {key} is used twice, so that two decisions are one; use each key once.")
        self._keys.add(key)

    def _play(self, outcomes: list[tuple[int, float]]) -> int:
        possible = [(outcome, weight) for outcome, weight in outcomes if weight > 0.0]
        step = len(self.played)
        chosen = self._script[step] if step < len(self._script) else 0
        self.options.append(possible)
        self.played.append(chosen)
        return possible[chosen][0]

    def weight(self, since: int = 0) -> float:
        """Probability of the outcomes played, from the `since`-th on."""
        product = 1.0
        for options, chosen in zip(self.options[since:], self.played[since:], strict=True):
            product *= options[chosen][1]
        return product

    def next_script(self, fixed: int) -> tuple[int, ...] | None:
        """The next sequence in order with the first `fixed` outcomes as they are; None after the last."""
        for step in reversed(range(fixed, len(self.played))):
            if self.played[step] + 1 < len(self.options[step]):
                return (*self.played[:step], self.played[step] + 1)
        return None
