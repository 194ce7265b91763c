"""The bound that no verifier can beat is the optimum of its transport problem, certified by duality."""

import random

import numpy as np
import pytest

from specviz.theory.formulas import independent_bound, pair_bound
from tests.theory.transport import acceptance_bound, best_transport, chosen, independent, without_replacement


def distribution(rng: random.Random, size: int) -> list[float]:
    weights = [rng.gammavariate(1.5, 1.0) for _ in range(size)]
    return [weight / sum(weights) for weight in weights]


@pytest.mark.parametrize("law_of", [independent, without_replacement])
@pytest.mark.parametrize("draws", [1, 2, 3])
def test_the_bound_and_a_best_transport_certify_each_other(law_of, draws):
    """The linear programme: maximise what lists send to tokens they hold, no more than a list's mass and a token's p.

    Any transport within these limits stays below the dual value p(H) + 1 - Pr(list within H) of any set H, so where the
    two are equal both are optimal, whoever computed them.
    """
    rng = random.Random(draws)
    for _ in range(10):
        p, law = distribution(rng, 4), law_of(distribution(rng, 4), draws)
        plan = best_transport(p, law)
        assert all(token in drawn and mass >= 0.0 for (drawn, token), mass in plan.items())
        for drawn, mass in law.items():
            assert sum(sent for (one, _), sent in plan.items() if one == drawn) <= mass + 1e-11
        for token, mass in enumerate(p):
            assert sum(sent for (_, one), sent in plan.items() if one == token) <= mass + 1e-11
        assert sum(plan.values()) == pytest.approx(acceptance_bound(p, law), abs=1e-10)


def test_a_best_transport_by_hand():
    """p = (0.5, 0.5), q = (0.8, 0.2), two draws: (0, 0) has 0.64, of which p takes 0.5; the rest holds token 1."""
    plan = best_transport([0.5, 0.5], independent([0.8, 0.2], 2))
    assert plan[(0, 0), 0] == pytest.approx(0.5)
    assert plan[(0, 1), 1] + plan[(1, 0), 1] + plan[(1, 1), 1] == pytest.approx(0.36)


def test_one_candidate_is_bound_by_the_sum_of_minima():
    assert acceptance_bound([0.5, 0.3, 0.2], independent([0.1, 0.6, 0.3], 1)) == pytest.approx(0.1 + 0.3 + 0.2)


def test_two_independent_candidates_by_hand():
    """p = (0.5, 0.5), q = (0.8, 0.2): both are token 0 with 0.64, of which p takes 0.5; 0.36 hold token 1."""
    assert acceptance_bound([0.5, 0.5], independent([0.8, 0.2], 2)) == pytest.approx(0.5 + 0.36)


def test_chosen_candidates_are_accepted_with_their_own_probability():
    assert acceptance_bound([0.5, 0.3, 0.2], chosen([0, 2])) == pytest.approx(0.7)


def test_draws_without_replacement_from_a_small_support_are_fewer():
    assert without_replacement([0.25, 0.75, 0.0], 3) == pytest.approx({(0, 1): 0.25, (1, 0): 0.75})


def test_laws_weigh_one():
    q = [0.1, 0.2, 0.3, 0.4]
    for law in (independent(q, 3), without_replacement(q, 3)):
        assert sum(law.values()) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("concentration", [0.3, 1.5, 5.0])
def test_bounds_for_whole_vocabularies_equal_the_enumeration(concentration):
    rng = np.random.default_rng(3)
    for size in (2, 4, 6) * 8:
        p, q = rng.dirichlet([concentration] * size), rng.dirichlet([concentration] * size)
        for draws in (1, 2, 3):
            assert independent_bound(p, q, draws) == pytest.approx(acceptance_bound(p, independent(q, draws)))
        assert pair_bound(p, q) == pytest.approx(acceptance_bound(p, without_replacement(q.tolist(), 2)))


def test_a_certain_first_draw_has_no_second():
    assert pair_bound(np.array([0.25, 0.75]), np.array([1.0, 0.0])) == 0.25
