"""How often the rules accept, exactly: who beats whom, and that nobody beats optimal transport."""

import random

import pytest
import torch

from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.proof.exhaustive import WARM, ProofCase, session_of
from specviz.proof.small_models import small_pair
from tests.proof.one_level import acceptance, distribution
from tests.proof.walked import accepted, expectation
from tests.theory.transport import acceptance_bound, chosen, independent, without_replacement

ROUNDING = 1e-12
TOYS = 8
KIND = "without_replacement"
PROMPTS = [(0,), (1,), (2,), (0, 1), (2, 1)]
"""each gives other distributions at every node"""


def toys(size=3):
    rng = random.Random(7)
    return [(distribution(rng, size), distribution(rng, size)) for _ in range(TOYS)]


@pytest.mark.parametrize(
    ("rule", "kind", "law_of"),
    [
        ("naive", "iid", independent),
        ("sequential", "iid", independent),
        ("specinfer", "iid", independent),
        ("kseq", "iid", independent),
        ("traversal", "iid", independent),
        ("naive", "without_replacement", without_replacement),
        ("sequential", "without_replacement", without_replacement),
        ("traversal", "without_replacement", without_replacement),
    ],
)
def test_no_lossless_rule_beats_optimal_transport(rule, kind, law_of):
    for p, q in toys():
        law = law_of(q, 2)
        assert acceptance(rule, p, q, kind, law) <= acceptance_bound(p, law) + ROUNDING


@pytest.mark.parametrize("rule", ["naive", "sequential", "traversal"])
def test_for_chosen_candidates_every_rule_reaches_the_bound(rule):
    for p, q in toys():
        law = chosen([0, 2])
        assert acceptance(rule, p, q, "point_mass", law) == pytest.approx(acceptance_bound(p, law), abs=ROUNDING)


def test_a_lossy_rule_may_beat_it():
    p, q = [0.2, 0.3, 0.5], [0.6, 0.3, 0.1]
    law = independent(q, 2)
    assert acceptance("longest_path", p, q, "iid", law) > acceptance_bound(p, law) + 0.01


@pytest.mark.parametrize("draws", [2, 3])
def test_kseq_accepts_at_least_as_often_as_multi_step_sampling(draws):
    for p, q in toys():
        law = independent(q, draws)
        assert acceptance("kseq", p, q, "iid", law) >= acceptance("specinfer", p, q, "iid", law) - ROUNDING


def test_kseq_accepts_within_one_minus_one_over_e_of_the_optimum():
    for p, q in toys():
        law = independent(q, 3)
        assert acceptance("kseq", p, q, "iid", law) >= (1 - 1 / 2.718281828) * acceptance_bound(p, law)


def test_all_rules_agree_on_a_single_candidate():
    """Leviathan's sum of minima; block and traversal are that too where there is nothing below."""
    for p, q in toys():
        minima = sum(map(min, p, q))
        for rule in ("sequential", "specinfer", "kseq", "block", "traversal"):
            assert acceptance(rule, p, q, "iid", independent(q, 1)) == pytest.approx(minima, abs=ROUNDING)


def test_more_candidates_are_accepted_more_often():
    p, q = [0.2, 0.3, 0.5], [0.6, 0.3, 0.1]
    for rule in ("naive", "specinfer", "kseq"):
        probabilities = [acceptance(rule, p, q, "iid", independent(q, draws)) for draws in (1, 2, 3)]
        assert probabilities[0] < probabilities[1] < probabilities[2]


@pytest.mark.parametrize("rule", ["naive", "sequential", "traversal"])
def test_more_candidates_without_replacement_are_accepted_more_often(rule):
    for p, q in toys(4):
        probabilities = [acceptance(rule, p, q, KIND, without_replacement(q, draws)) for draws in (1, 2, 3, 4)]
        assert probabilities == sorted(probabilities)
        assert probabilities[3] == pytest.approx(1.0, abs=ROUNDING)
        assert probabilities[0] < probabilities[2] - 0.01


def mean(rule: str, prompt=(0,), **options) -> float:
    return expectation(ProofCase("model", rule, tuple(options.items()), WARM, prompt, length=4))


@pytest.mark.parametrize("gamma", [2, 3])
def test_block_accepts_more_of_a_chain_than_token_by_token(gamma):
    assert mean("block", gamma=gamma) > mean("sequential", gamma=gamma) + 1e-3


def test_traversal_is_block_verification_on_a_chain():
    assert mean("traversal", gamma=3) == pytest.approx(mean("block", gamma=3), abs=ROUNDING)


@pytest.mark.parametrize("draw", ["without_replacement", "iid"])
def test_traversal_accepts_more_of_a_tree_than_from_the_root_down(draw):
    options = {"branching": (2, 1), "draw": draw}
    assert mean("traversal", **options) > mean("sequential", **options) + 1e-3


@pytest.mark.parametrize("rule", ["sequential", "traversal"])
def test_for_point_masses_looking_up_the_sample_is_as_good(rule):
    options = {"branching": (2, 2), "draw": "top_k"}
    assert mean(rule, **options) == pytest.approx(mean("naive", **options), abs=ROUNDING)


@pytest.mark.parametrize("prompt", PROMPTS, ids=str)
def test_block_never_accepts_less_of_a_chain(prompt):
    assert mean("block", prompt, gamma=2) >= mean("sequential", prompt, gamma=2) - ROUNDING


@pytest.mark.parametrize("prompt", PROMPTS[:3], ids=str)
def test_traversal_never_accepts_less_of_a_tree(prompt):
    assert mean("traversal", prompt, branching=(2, 1)) >= mean("sequential", prompt, branching=(2, 1)) - ROUNDING


def deviations(rule: str) -> float:
    """(accepted - sum of sum min(p, q)) in standard deviations, over the rounds of sampled runs on a small Llama."""
    models = small_pair()
    surplus = variance = 0.0
    for seed in range(12):
        case = ProofCase("model", rule, (("gamma", 1),), Sampling(1.0), (seed % 8,), length=40)
        session = session_of(case, SeededRandom(seed), models)
        session.begin()
        while session.finished is None:
            record = session.round()
            if record.proposal.tree.drafted:
                probability = float(torch.minimum(record.scored.probs(0), record.proposal.tree.proposals[1]).sum())
                surplus += accepted(record) - probability
                variance += probability * (1.0 - probability)
    return surplus / variance**0.5


def test_acceptance_measured_in_runs_lies_in_its_interval_around_the_sum_of_minima():
    """Four standard deviations: over other seeds one in 16,000 fails."""
    assert abs(deviations("sequential")) < 4.0


def test_a_rule_that_accepts_too_much_leaves_the_interval():
    assert deviations("lenience") > 4.0
