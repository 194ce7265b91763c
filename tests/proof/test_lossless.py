"""Every legal pairing gives exactly the target's law, proved by walking all branches of the real engine."""

from collections import Counter
from collections.abc import Iterator

import pytest
import torch

from specviz.core.sampling import Sampling, residual, transform
from specviz.drafters.base import DRAFTERS
from specviz.drafters.capabilities import Observes
from specviz.engine.pairing import check_pairing
from specviz.errors import PairingError
from specviz.proof.exhaustive import WARM, ProofCase, branches, exact, law
from specviz.proof.small_models import option_sets
from specviz.proof.table import prove
from specviz.verifiers.base import VERIFIERS
from tests.proof.walked import error, expectation

NARROW = Sampling(temperature=1.0, top_k=2)
"""two tokens of three: target and draft then often support different ones"""
LOSSLESS = [name for name, rule in VERIFIERS.items() if rule.lossless]
SAMPLINGS = (Sampling(0.0), WARM, NARROW)
Options = dict[str, object]


def may_judge(drafter: str, options: Options, verifier: str, sampling: Sampling) -> bool:
    try:
        check_pairing(DRAFTERS.get(drafter).of(options), VERIFIERS.get(verifier), sampling)
    except PairingError:
        return False
    return True


def legal() -> Iterator[tuple[str, Options, Sampling, list[str]]]:
    """Every lossless drafter with all its options at every sampling, and the lossless verifiers that may judge it."""
    for drafter, kind in DRAFTERS.items():
        for options in option_sets(drafter) if kind.lossless else ():
            for sampling in SAMPLINGS:
                rules = [rule for rule in LOSSLESS if may_judge(drafter, options, rule, sampling)]
                yield drafter, options, sampling, rules


def meetings(drafter: str, options: Options, sampling: Sampling, verifier: str) -> set[tuple[object, ...]]:
    """Of a case: who meets whom, and what the verifier has to judge, a mixture of kinds in chains or trees."""
    kinds = DRAFTERS.get(drafter).of(options).kinds(sampling)
    judged = {(verifier, sampling, kinds, bool(options.get("branching")))}
    alone = VERIFIERS.get(verifier).temperatures == "zero"
    return judged | ({(verifier, drafter)} if sampling == WARM or alone else set())


def cases() -> list[ProofCase]:
    """At a temperature every drafter's first options, and `model` with all its options, meet every verifier that may
    judge them. Of a verdict a drafter sees path and token alone, so all else meets `sequential`, unless two tokens
    alone are drawn from without a network, those for which anything is new, and at a temperature, where there are none,
    the one that has met the fewest so far. `naive` looks at tokens alone: it meets what is new."""
    chosen, met, seen = [], set[tuple[object, ...]](), Counter[str]()
    for drafter, options, sampling, rules in legal():
        first = options == option_sets(drafter)[0]
        if sampling != WARM or not (first or drafter == "model"):
            new = [rule for rule in rules if not meetings(drafter, options, sampling, rule) <= met]
            others = sorted((rule for rule in rules if rule != "sequential"), key=lambda rule: seen[rule])
            always = "sequential" if sampling != NARROW or first or "weights" in options else ""
            further = new or (others[:1] if sampling == WARM or not always else [])
            rules = [rule for rule in rules if rule == always or rule in further]
        elif not first:
            repeated = "naive" in rules and meetings(drafter, options, sampling, "naive") <= met
            rules = [rule for rule in rules if rule != "naive" or not repeated]
        for rule in rules:
            met |= meetings(drafter, options, sampling, rule)
            seen[rule] += 1
            chosen.append(_case(drafter, options, sampling, rule))
    return chosen


def _case(drafter: str, options: Options, sampling: Sampling, verifier: str) -> ProofCase:
    """At a temperature texts are three tokens long, or two where candidates are six, where a network runs anew on every
    branch (unless `sequential` judges: the network sees of a verdict path and token alone), and with the further
    options of a drafter that learns nothing from round to round; the token after three accepted ones is walked to with
    one drafter, because it is the verifier's alone. There are three tokens where `sequential` judges, `model` drafts or
    kinds are mixed, and two elsewhere, and where the races of that drafter's further options are remembered."""
    first = options == option_sets(drafter)[0]
    costly = "weights" in options and (verifier != "sequential" or (not first and sampling == WARM))
    forgets = not first and not issubclass(DRAFTERS.get(drafter), Observes)
    deep = drafter == "model" and options.get("gamma") == 3 and sampling != NARROW
    wide = options.get("branching") == (2, 2)
    short = drafter != "model" and (costly or (sampling == WARM and (wide or forgets)))
    length = 6 if sampling.greedy else 4 if deep else 2 if short else 3  # at temperature 0 there is one branch
    rule, mixed = VERIFIERS.get(verifier).rule, len(DRAFTERS.get(drafter).of(options).kinds(sampling)) > 1
    remembered = drafter == "model" and not first and rule is not None and rule.races
    seen_elsewhere = verifier != "sequential" and drafter != "model" and not mixed
    tokens = 2 if sampling == WARM and (remembered or seen_elsewhere) else 3
    return ProofCase(drafter, verifier, tuple(options.items()), sampling, length=length, vocab_size=tokens)


def parameters():
    """The first options of each drafter, drawn at a temperature, are quick; the rest of the grid is slow."""
    for case in cases():
        quick = dict(case.options) == option_sets(case.drafter)[0] and case.sampling == WARM
        yield pytest.param(case, id=str(case), marks=() if quick else pytest.mark.slow)


def test_every_verifier_meets_every_drafter_and_at_every_sampling_all_that_it_may_judge():
    walked = set[tuple[object, ...]]()
    for case in cases():
        walked |= meetings(case.drafter, dict(case.options), case.sampling, case.verifier)
    assert [
        (drafter, options, str(sampling), rule)
        for drafter, options, sampling, rules in legal()
        for rule in rules
        if not meetings(drafter, options, sampling, rule) <= walked
    ] == []


@pytest.mark.parametrize("case", list(parameters()))
def test_the_committed_text_has_the_targets_law(case):
    """And the walk saw every kind of candidate that the drafter declares tried, accepted and rejected."""
    found = prove(case)
    assert found.missing == ()
    assert found.error < 1e-12


@pytest.mark.parametrize("verifier", ["naive", "sequential", "traversal"])
def test_what_a_drafter_remembers_from_earlier_runs_leaves_the_targets_law_alone(verifier):
    memory = b"[[0, 1, 2, 1], [0, 1, 0]]"
    case = ProofCase("suffix", verifier, (("max_nodes", 3), ("factor", 3.0)), WARM, prompt=(0, 1), memory=memory)
    assert expectation(case, lambda record: record.proposal.tree.drafted) == pytest.approx(3)
    assert error(case) < 1e-12


@pytest.mark.parametrize("verifier", ["naive", "sequential", "traversal"])
def test_a_retrieved_candidate_may_stand_or_not_by_what_was_drawn_elsewhere(verifier):
    """With room for one, the candidate goes below the first sibling or beside both, by the second's token."""
    case = ProofCase("rasd", verifier, (("branching", (2,)), ("max_nodes", 3), ("likely", 3)), WARM, prompt=(0, 1))
    shapes: dict[int, set[tuple[int, ...]]] = {}
    for branch in branches(case, (), 0):
        tree = branch.records[0].proposal.tree
        assert tree.kinds[1:] == ["without_replacement", "without_replacement", "point_mass"]
        shapes.setdefault(tree.tokens[1], set()).add(tuple(tree.parents))
    assert {(-1, 0, 0, 0), (-1, 0, 0, 1)} in shapes.values()
    assert error(case) < 1e-12


@pytest.mark.parametrize("verifier", ["naive", "sequential"])
def test_following_every_branch_instead_of_one_per_class_gives_the_same(verifier):
    case = ProofCase("model", verifier, (("gamma", 2),), WARM)
    assert error(case, merged=False) < 1e-12


LEARNING = ProofCase("token_recycling", "sequential", (("nodes", 4), ("fill", False)), WARM, (0,), 4)


def test_a_drafter_that_learns_is_walked_over_its_rounds_with_nothing_learnt_on_another_path():
    """The first round drafts nothing and learns what follows token 0; the second drafts exactly where 0 was drawn."""
    firsts = list(branches(LEARNING, (), 0))
    assert sorted(branch.text for branch in firsts) == [(0,), (1,), (2,)]
    for first in firsts:
        second = next(branches(LEARNING, first.script, 1)).records[1]
        assert (second.proposal.tree.drafted > 0) == (first.text == (0,))
    assert error(LEARNING, merged=False) < 1e-12


def test_all_branches_of_a_round_weigh_one():
    case = ProofCase("model", "sequential", (("branching", (2, 1)),), WARM)
    assert sum(branch.weight for branch in branches(case, (), 0)) == pytest.approx(1.0, abs=1e-12)


def test_the_law_is_over_texts_of_the_asked_length():
    case = ProofCase("model", "sequential", (("gamma", 2),), WARM)
    assert set(law(case)) == set(exact(case))
    assert len(exact(case)) == 27


def chain_expectation(case: ProofCase, depth: int, accept_of) -> float:
    """E[accepted] of a chain, over its prefixes: sum over x of P(x drafted and accepted) (1 + what follows)."""
    target, draft = case.models()

    def below(text, left):
        if left == 0:
            return 0.0
        p = transform(target.exact_logits(text), case.sampling)
        q = transform(draft.exact_logits(text), case.sampling)
        joint = accept_of(p, q).tolist()
        return sum(mass * (1.0 + below((*text, token), left - 1)) for token, mass in enumerate(joint))

    return below(case.prompt, depth)


def test_a_chain_accepts_as_often_as_leviathan_computed():
    """Sum of min(p, q) per step (2211.17192, theorem 3.5)."""
    case = ProofCase("model", "sequential", (("gamma", 3),), WARM, length=4)
    analytic = chain_expectation(case, 3, torch.minimum)
    assert expectation(case) == pytest.approx(analytic, abs=1e-12)


def test_the_naive_rule_accepts_as_often_as_two_draws_agree():
    case = ProofCase("model", "naive", (("gamma", 2),), WARM, length=4)
    analytic = chain_expectation(case, 2, torch.mul)
    assert expectation(case) == pytest.approx(analytic, abs=1e-12)


def test_two_siblings_without_replacement_accept_by_the_residual_of_the_first():
    case = ProofCase("model", "sequential", (("branching", (2,)),), WARM)
    target, draft = case.models()
    p = transform(target.exact_logits(case.prompt), case.sampling)
    q = transform(draft.exact_logits(case.prompt), case.sampling)
    first = float(torch.minimum(p, q).sum())
    left, _ = residual(p, q)
    second = 0.0
    for x in range(3):
        rejected = max(0.0, float(q[x] - p[x]))
        others = q.clone()
        others[x] = 0.0
        second += rejected * float(torch.minimum(left, others / others.sum()).sum())
    assert expectation(case) == pytest.approx(first + second, abs=1e-12)


@pytest.mark.parametrize("branching", [(2,), (3,)])
def test_a_second_sibling_never_hurts(branching):
    chain = ProofCase("model", "sequential", (("gamma", 1),), WARM)
    tree = ProofCase("model", "sequential", (("branching", branching),), WARM)
    assert expectation(tree) > expectation(chain) + 0.01
