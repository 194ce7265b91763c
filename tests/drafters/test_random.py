"""The drafter that knows nothing: what it draws, how seldom that is right, and that a trace cannot claim otherwise."""

from dataclasses import replace
from fractions import Fraction

import pytest
import torch

from specviz.core.randomness import SeededRandom
from specviz.core.sampling import Sampling
from specviz.drafters.random import RandomDrafter, RandomOptions
from specviz.engine.scoring import ScoredTree
from specviz.lm.table import TableModel
from specviz.trace.check import check
from specviz.trace.uniform_draws import uniform
from specviz.verifiers.sequential import SequentialVerifier
from tests.drafters.asking import proposed
from tests.proof.letters import toy_run


def drafter_of(size, **options):
    drafter, model = RandomDrafter(RandomOptions(**options)), TableModel(size, 1)
    drafter.attach(model, model.new_cache())
    return drafter


def propose(drafter, number=0, temperature=0.0):
    return proposed(drafter, [1, 2], round=number, temperature=temperature, seed=3).tree


@pytest.mark.parametrize("temperature", [0.0, 0.8, 2.0])
def test_every_candidate_is_declared_as_drawn_evenly_at_any_temperature(temperature):
    tree = propose(drafter_of(5, gamma=3), temperature=temperature)
    assert tree.is_chain()
    assert tree.kinds == ["root", "iid", "iid", "iid"]
    assert [row.tolist() for row in tree.proposals[1:]] == [[0.2] * 5] * 3


def test_each_candidate_is_drawn_with_a_number_of_its_own():
    numbers = [uniform(3, ("draft", 7, index)) for index in range(4)]
    assert propose(drafter_of(4, gamma=4), number=7).tokens[1:] == [int(4 * u) for u in numbers]
    assert len({int(4 * u) for u in numbers}) > 1


def test_every_token_is_drawn_about_as_often_as_any_other():
    drafter = drafter_of(4, gamma=4)
    drawn = [token for number in range(500) for token in propose(drafter, number).tokens[1:]]
    assert all(440 <= drawn.count(token) <= 560 for token in range(4))  # 500 each, and three standard deviations


@pytest.mark.parametrize(
    ("target", "accepted"),
    [
        ([1.0, 0.0, 0.0, 0.0], Fraction(1, 4)),  # temperature 0: one of V
        ([0.5, 0.5, 0.0, 0.0], Fraction(2, 4)),
        ([0.25, 0.25, 0.25, 0.25], Fraction(1)),
        ([0.875, 0.125, 0.0, 0.0], Fraction(3, 8)),  # 1/4 + 1/8
    ],
)
def test_a_draw_is_accepted_with_the_sum_of_the_lesser_of_p_and_one_over_v(target, accepted):
    drafter, chances = drafter_of(4, gamma=1), dict[int, Fraction]()
    for number in range(200):
        tree = propose(drafter, number, temperature=1.0)
        says = ScoredTree(tree, torch.tensor([target, target], dtype=torch.float64).log(), Sampling(1.0))
        trial = SequentialVerifier.of({}).judge(tree, says, SeededRandom(number), 2).trials[0]
        chances[tree.tokens[1]] = Fraction(trial.threshold).limit_denominator(1000)
    assert sorted(chances) == [0, 1, 2, 3]
    assert sum(chances.values()) / 4 == accepted


@pytest.fixture(scope="module")
def trace():
    return toy_run(drafter="random", drafter_options={"gamma": 3}, temperature=0.8, max_new_tokens=12)


def sentences(trace, **changes):
    """What the check says once the first candidate is otherwise."""
    first = trace.rounds[0]
    nodes = [replace(node, **changes) if node.id == 1 else node for node in first.nodes]
    changed = replace(trace, rounds=[replace(first, nodes=nodes), *trace.rounds[1:]])
    return " ".join(problem.sentence for problem in check(changed))


def test_a_trace_in_which_it_is_certain_of_its_candidate_is_found(trace):
    assert "is 'point_mass', but 'random' draws its candidates as 'iid'" in sentences(trace, kind="point_mass")


def test_a_trace_in_which_it_prefers_a_token_is_found(trace):
    size = trace.started.target.vocab_size
    told = f"is 0.5, but 'random' draws each of {size} tokens with probability {1 / size:.6g}"
    assert told in sentences(trace, draft_prob=0.5)
