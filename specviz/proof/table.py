"""The table of the proof: every registered method on a toy, and how far its text is from the target's law.

    registries ─► cases ─► exhaustive walk ─► rows ─► command, docs/losslessness.md, page
                               └► candidates drafted, tried, accepted, rejected ─► kinds that are missing

A row's law is that of so many tokens that no run ends before its second round, so that what one round leaves behind for
the next is judged too. An error of zero says nothing about candidates that nobody judged: a method is walked on one
prompt after the other until every kind of candidate it declares was tried, accepted and rejected.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Literal

from specviz.core.sampling import Sampling
from specviz.drafters.base import DRAFTERS
from specviz.drafters.capabilities import Grows
from specviz.engine.pairing import check_pairing
from specviz.engine.session import RoundRecord
from specviz.errors import OptionError, PairingError
from specviz.proof.exhaustive import WARM, ProofCase, Text, branches, distance, drafter_of
from specviz.proof.small_models import option_sets, stop_policy_sets, tree_policy_sets
from specviz.stop_policies.base import STOP_POLICIES
from specviz.trace.events import CandidateKind
from specviz.tree_policies.base import TREE_POLICIES
from specviz.verifiers.base import VERIFIERS

EXACT = 1e-12
"""an error below this is rounding"""
MOST_WAYS = 1000
"""a method whose first round can go in more ways than this on three tokens is walked on two"""
MOST_TOKENS = 6
GROWING = "model"
"""the drafter that every tree and stop policy is walked with"""
ELSEWHERE = frozenset(["decision"])
"""walked by the tests alone, on smaller toys: two rounds on three tokens take too long"""
Given = dict[str, object]
TABLE_SETS: dict[str, tuple[Given, ...]] = {
    "levels": ({"branching": (2, 1)}, {"branching": (2,), "draw": "iid"}),
    "rsd_c": ({"branching": (2,)},),
    "dyspec": ({"budget": 2},),
    "target_init": ({"width": 2, "depth": 2},),
    "sequoia": ({"budget": 2, "depth": 2, "acceptance": "0.4,0.3"},),
}
"""smaller than the sets of the tests, because two rounds are walked on three tokens; the tests' first set for others"""


@dataclass(frozen=True, slots=True)
class Row:
    """One method and what the walk found."""

    drafter: str
    tree_policy: str
    stop_policy: str
    verifier: str
    options: str
    """of drafter, tree policy and stop policy, as far as they were chosen"""
    temperature: float
    vocab_size: int
    tokens: int
    """whose joint law is compared"""
    lossless: bool
    """what the method's parts say of themselves"""
    error: float
    total_variation: float
    per_round: float
    """candidates drafted per round, over all branches"""
    missing: tuple[str, ...] = ()
    """what was not seen of the kinds of candidates that the method declares: without it the walk shows nothing"""

    @property
    def kept(self) -> bool:
        """Exact or marked as lossy, and every kind of candidate tried, accepted and rejected."""
        return not self.missing and (not self.lossless or self.error < EXACT)


def cases(only: Collection[str] = (), full: bool = False) -> list[ProofCase]:
    """Every registered method × verifier that may be paired.

    A tree policy asks every drafter the same question, what follows a node, so all of them grow with one drafter and
    the others draft as their own options say. A lossy verifier has no law to keep, so it too is measured with one
    drafter alone. `full` is the whole product. Stop policies come last.
    `only`: those in which one of these methods takes part. Raises OptionError for a name that nothing is called.
    """
    drafted = []
    for drafter, kind in DRAFTERS.items():
        options = _pairs(option_sets(drafter)[0])
        rules = [name for name, rule in VERIFIERS.items() if rule.lossless or full or drafter == GROWING]
        drafted += [ProofCase(drafter, verifier, options) for verifier in rules]
        for tree_policy in TREE_POLICIES.names() if issubclass(kind, Grows) and (full or drafter == GROWING) else ():
            for table_set in TABLE_SETS.get(tree_policy, tree_policy_sets(tree_policy)[:1]):
                shape = () if drafter == GROWING else options
                case = ProofCase(
                    drafter, "naive", shape, tree_policy=tree_policy, tree_policy_options=_pairs(table_set)
                )
                drafted += [replace(case, verifier=verifier) for verifier in VERIFIERS.names()]
    shapes: list[tuple[str, Given]] = [("chain", {"length": 2}), ("levels", {"branching": (2, 1)})]
    for stop in STOP_POLICIES.names():
        for tree_policy, given in shapes if stop != ProofCase.stop_policy else ():
            case = ProofCase(GROWING, "sequential", tree_policy=tree_policy, tree_policy_options=_pairs(given))
            drafted.append(replace(case, stop_policy=stop, stop_policy_options=_pairs(stop_policy_sets(stop)[0])))
    unknown = sorted(set(only) - {name for case in drafted for name in names_of(case)})
    if unknown:
        raise OptionError(f"there is no method called '{unknown[0]}'; `specviz list` shows them.")
    wanted = [
        case
        for case in drafted
        if (set(names_of(case)) & set(only) if only else full or not ELSEWHERE & set(names_of(case)))
    ]
    return [case for case in map(_at_its_temperature, wanted) if legal(case)]


def names_of(case: ProofCase) -> tuple[str, str, str, str]:
    """Drafter, tree policy, stop policy and verifier."""
    return case.drafter, case.tree_policy, case.stop_policy, case.verifier


def legal(case: ProofCase) -> bool:
    """Whether the pairing check lets these methods run together."""
    try:
        check_pairing(drafter_of(case), VERIFIERS.get(case.verifier), case.sampling)
    except PairingError:
        return False
    return True


def measure(case: ProofCase) -> Row:
    """Walk one method on the toy that fits it."""
    case = fitted(case)
    proof = prove(case)
    return Row(
        *names_of(case),
        options_of(case),
        case.sampling.temperature,
        case.vocab_size,
        case.length,
        says_lossless(case),
        proof.error,
        proof.total_variation,
        proof.per_round,
        proof.missing,
    )


def options_of(case: ProofCase) -> str:
    """What was chosen for drafter, tree policy and stop policy."""
    return ", ".join(
        f"{name}={','.join(map(str, value)) if isinstance(value, tuple) else value}"
        for name, value in (*case.options, *case.tree_policy_options, *case.stop_policy_options)
    )


def says_lossless(case: ProofCase) -> bool:
    """What all parts of the method declare."""
    draft_policies = case.draft_policies()
    grows = draft_policies.tree_policy is None or draft_policies.tree_policy.lossless
    return (
        DRAFTERS.get(case.drafter).lossless
        and grows
        and draft_policies.stop_policy.lossless
        and VERIFIERS.get(case.verifier).lossless
    )


def fitted(case: ProofCase) -> ProofCase:
    """The case on three tokens, or two where its tree is too large or it races in several lanes, and as long as two
    rounds need, or three where the first drafts nothing.

    At temperature 0 as long as any: a walk has few branches there, and one round shows little."""
    rule = VERIFIERS.get(case.verifier).rule
    for vocab_size in (2,) if rule is not None and rule.lanes else (3, 2):
        prompt = _drafting(case, vocab_size)
        late = prompt is None and bool(declared(case))
        shortest = MOST_TOKENS if case.sampling.greedy else 2 + late
        sized = replace(case, vocab_size=vocab_size, prompt=prompt or next(prompts(vocab_size)), length=shortest)
        while (ways := _ways(sized)) is None and sized.length < MOST_TOKENS:
            sized = replace(sized, length=sized.length + 1)
        if ways is not None and ways <= MOST_WAYS:
            return sized
    return sized


def _drafting(case: ProofCase, vocab_size: int) -> Text | None:
    """The first prompt on which the first round drafts something; None for what never does in its first round."""
    long = replace(case, vocab_size=vocab_size, length=MOST_TOKENS)
    for prompt in prompts(vocab_size):
        if any(branch.records[0].proposal.candidates for branch in branches(replace(long, prompt=prompt), (), 0)):
            return prompt
    return None


def _ways(case: ProofCase) -> int | None:
    """In how many ways the first round can go, counted a little beyond the limit; None where the text can end in it."""
    count = 0
    for branch in branches(case, (), 0):
        if branch.over:
            return None
        count += 1
        if count > MOST_WAYS:
            break
    return count


def _at_its_temperature(case: ProofCase) -> ProofCase:
    greedy = "zero" in (VERIFIERS.get(case.verifier).temperatures, STOP_POLICIES.get(case.stop_policy).temperatures)
    return replace(case, sampling=Sampling(0.0) if greedy else WARM)


def _pairs(options: Given) -> tuple[tuple[str, object], ...]:
    return tuple(options.items())


REPEATING = (0, 1, 2, 0, 1, 0, 0, 1)
"""a drafter that looks the text's end up in the text finds it here, more than once and differently continued"""
Event = Literal["tried", "accepted", "rejected"]
EVENTS: tuple[Event, ...] = ("tried", "accepted", "rejected")


@dataclass(slots=True)
class Seen:
    """What happened in a walk, over all branches of all rounds."""

    rounds: float = 0.0
    """expected number of rounds, over all walks"""
    candidates: float = 0.0
    """expected number of candidates drafted in them"""
    drafted: set[CandidateKind] = field(default_factory=set)
    happened: set[tuple[CandidateKind, Event]] = field(default_factory=set)

    def note(self, record: RoundRecord, weight: float) -> None:
        """Take down a round that happens with probability `weight`. Nodes that ride along are no candidates."""
        kinds = {node: record.proposal.tree.kinds[node] for node in record.proposal.candidates}
        self.rounds += weight
        self.candidates += weight * len(kinds)
        self.drafted.update(kinds.values())
        for trial in (tried for tried in record.verdict.trials if tried.node in kinds):
            self.happened.add((kinds[trial.node], "tried"))
            if not trial.accepted:
                self.happened.add((kinds[trial.node], "rejected"))
        self.happened.update((kinds[node], "accepted") for node in record.verdict.path if node in kinds)

    @property
    def per_round(self) -> float:
        """Candidates drafted per round, in the mean over all branches."""
        return self.candidates / self.rounds


@dataclass(frozen=True, slots=True)
class Proof:
    """What the walks of one method over several prompts found."""

    error: float
    """largest difference in the probability of one text, over all prompts"""
    total_variation: float
    """largest over all prompts"""
    per_round: float
    """candidates drafted per round"""
    prompts: int
    missing: tuple[str, ...]
    """what the walks did not show; empty, or the method is not proved, however small its error"""


def prompts(vocab_size: int) -> Iterator[Text]:
    """Texts that repeat themselves, so that one can copy from them: one, and the same with every pair of tokens."""
    begin = tuple(token % vocab_size for token in REPEATING)
    yield begin
    for pair in product(range(vocab_size), repeat=2):
        yield (*begin, *pair)


def declared(case: ProofCase) -> frozenset[CandidateKind]:
    """The kinds of candidates that the case's drafter and tree policy say they draw; empty for plain decoding."""
    return drafter_of(case).kinds(case.sampling)


def prove(case: ProofCase) -> Proof:
    """Walk the case on as many prompts as it takes to see each declared kind tried, accepted and rejected."""
    seen, walked, error, total_variation = Seen(), 0, 0.0, 0.0
    for prompt in prompts(case.vocab_size):
        walk = distance(replace(case, prompt=prompt), watch=seen.note)
        walked += 1
        error, total_variation = max(error, walk.error), max(total_variation, walk.total_variation)
        if not missing(case, seen):
            break
    return Proof(error, total_variation, seen.per_round, walked, missing(case, seen))


def missing(case: ProofCase, seen: Seen) -> tuple[str, ...]:
    """What was not seen of the candidates that the case declares, in words; undeclared ones the session refuses."""
    lacking = []
    for kind in sorted(declared(case)):
        if kind not in seen.drafted:
            lacking.append(f"{kind} never drafted")
        else:
            lacking += [f"{kind} never {event}" for event in EVENTS if (kind, event) not in seen.happened]
    return tuple(lacking)
