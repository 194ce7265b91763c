"""The bound that no verifier can beat is the optimum of its transport problem, found by another way."""

from __future__ import annotations

import random

import networkx as nx
import numpy as np
import pytest

from specviz.errors import OptionError
from specviz.optimal import (
    acceptance_bound,
    chosen,
    independent,
    independent_bound,
    pair_bound,
    without_replacement,
)

SCALE = 10**12


def distribution(rng: random.Random, size: int) -> list[float]:
    weights = [rng.gammavariate(1.5, 1.0) for _ in range(size)]
    return [weight / sum(weights) for weight in weights]


def largest_flow(p, law) -> float:
    """The transport problem itself: lists send their mass to tokens they hold, a token takes no more than p."""
    graph = nx.DiGraph()
    for token, mass in enumerate(p):
        graph.add_edge(("token", token), "sink", capacity=round(mass * SCALE))
    for drawn, mass in law.items():
        graph.add_edge("source", drawn, capacity=round(mass * SCALE))
        for token in set(drawn):
            graph.add_edge(drawn, ("token", token))
    return nx.maximum_flow_value(graph, "source", "sink") / SCALE


@pytest.mark.parametrize("law_of", [independent, without_replacement])
@pytest.mark.parametrize("draws", [1, 2, 3])
def test_the_bound_is_the_largest_flow(law_of, draws):
    rng = random.Random(draws)
    for _ in range(10):
        p, law = distribution(rng, 4), law_of(distribution(rng, 4), draws)
        assert acceptance_bound(p, law) == pytest.approx(largest_flow(p, law), abs=1e-10)


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


def test_a_large_vocabulary_is_refused_by_name():
    with pytest.raises(OptionError, match="for 15 tokens is too many; use at most 14"):
        acceptance_bound([1 / 15] * 15, chosen([0]))


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
