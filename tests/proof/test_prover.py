"""Sampling for the screen: counts of a toy or of the pair, their statistics by hand, and that a bug is seen."""

import math
from contextlib import nullcontext

import pytest

from specviz.errors import OptionError
from specviz.proof.prover import ToyAndPair, _on_toy, summed
from specviz.protocol.proofs import SampleQuestion, Toy
from tests.proof.letters import toy_source

RUNS = 400


def last(question, prover=None, cancelled=lambda: False):
    prover = prover or ToyAndPair(lambda: pytest.fail("no pair was asked for"), nullcontext())
    return list(prover.sample(question, cancelled))[-1]


def test_the_statistics_by_hand():
    """60, 25, 15 for 50, 30, 20: G = 2 (60 ln 1.2 + 25 ln (25/30) + 15 ln .75) over Williams's factor."""
    found = summed(_on_toy(SampleQuestion()), [60, 25, 15], 100)
    g = 2 * (60 * math.log(1.2) + 25 * math.log(25 / 30) + 15 * math.log(0.75))
    factor = 1 + (1 / 0.5 + 1 / 0.3 + 1 / 0.2 - 1) / (6 * 100 * 2)
    assert found.statistic == pytest.approx(g / factor)
    assert found.freedom == 2
    assert found.p_value == pytest.approx(math.exp(-found.statistic / 2))  # the chi-squared tail at two degrees
    assert found.total_variation == pytest.approx(0.1)
    assert found.noise_bound == pytest.approx(math.sqrt(3 / (200 * math.pi)))
    half = sum(math.sqrt(2 * p * (1 - p) / (math.pi * 100)) for p in (0.5, 0.3, 0.2)) / 2
    assert found.noise == pytest.approx(half)
    assert found.noise < found.noise_bound
    assert found.smallest == pytest.approx(20.0)


def test_a_token_that_the_target_never_writes_ends_all_doubt():
    found = summed(_on_toy(SampleQuestion(Toy(target=(0.5, 0.5, 0.0)))), [50, 49, 1], 100)
    assert (found.statistic, found.p_value) == (math.inf, 0.0)


def test_an_intact_method_is_not_told_from_the_target_and_a_broken_one_is():
    intact, broken = last(SampleQuestion(runs=RUNS)), last(SampleQuestion(Toy(broken="reuse_noise"), runs=RUNS))
    assert [cell.label for cell in intact.cells] == ["a", "b", "c"]
    assert sum(cell.count for cell in intact.cells) == intact.runs == RUNS
    assert intact.p_value > 1e-3
    assert broken.p_value < 1e-6
    assert broken.total_variation > 5 * broken.noise
    assert broken.cells[2].count == 0


def test_answers_come_on_the_way_and_a_stop_keeps_what_is_counted():
    prover = ToyAndPair(lambda: pytest.fail("no pair was asked for"), nullcontext())
    seen = []
    for one in prover.sample(SampleQuestion(runs=RUNS), lambda: len(seen) >= 3):
        seen.append(one.runs)
    assert seen == [20, 40, 60, 60]


def test_the_same_seed_counts_the_same():
    assert last(SampleQuestion(runs=50)) == last(SampleQuestion(runs=50))
    assert last(SampleQuestion(runs=50)) != last(SampleQuestion(runs=50, seed=2))


def test_the_first_two_tokens_of_the_pair_are_counted_in_cells_that_add_up():
    prover = toy_source().prover()
    found = last(SampleQuestion(prompt="ab", runs=200), prover)
    assert sum(cell.prob for cell in found.cells) == pytest.approx(1.0, abs=1e-9)
    assert sum(cell.count for cell in found.cells) == 200
    assert len(found.cells) > 5
    assert found.smallest >= 5.0
    assert found.p_value > 1e-3
    broken = last(SampleQuestion(Toy(broken="accept_all"), prompt="ab", runs=200), prover)
    assert broken.p_value < 1e-4


def test_what_cannot_be_counted_is_refused_with_a_sentence():
    with pytest.raises(OptionError, match="0 runs were asked for"):
        last(SampleQuestion(runs=0))
    with pytest.raises(OptionError, match="at temperature 0 there is one text"):
        last(SampleQuestion(prompt="ab", temperature=0.0))
