"""Brackets: what masking samples, what was asked for, the correction, and that the engine repeats the rows it gets."""

import pytest

from specviz.errors import OptionError
from specviz.proof.grammar import words
from specviz.theory.grammar import Brackets, mean_brackets, total_variation

PAIR = Brackets(0.5, 0.25, 2)
"""words: none, and one pair"""


def test_the_law_asked_for_on_two_words_by_hand():
    """p(none) = 1/4, p(pair) = 1/2 · 1/4 · 1/4 = 1/32: 8 to 1."""
    assert PAIR.conditional() == pytest.approx({"": 8 / 9, "()": 1 / 9})
    assert PAIR.mass == pytest.approx(9 / 32)


def test_masking_asks_only_which_tokens_are_legal_next():
    """At the start "(" and the end, 2 to 1; what follows is forced and costs nothing."""
    assert PAIR.law(0) == pytest.approx({"": 1 / 3, "()": 2 / 3})


def test_a_look_ahead_weighs_the_way_out():
    """Φ("(") is 1/4 with one token ahead, and 1/4 · 1/4 with two, which is all of it."""
    assert PAIR.law(1) == pytest.approx({"": 2 / 3, "()": 1 / 3})
    assert PAIR.law(2) == pytest.approx(PAIR.conditional())


@pytest.mark.parametrize(("numbers", "masked", "mass"), [((0.45, 0.1, 8), 0.650, 0.135), ((0.6, 0.1, 8), 0.772, 0.129)])
def test_of_twenty_three_words_masking_samples_mostly_others(numbers, masked, mass):
    brackets = Brackets(*numbers)
    wanted = brackets.conditional()
    assert len(wanted) == 23
    assert brackets.mass == pytest.approx(mass, abs=5e-4)
    assert total_variation(brackets.law(0), wanted) == pytest.approx(masked, abs=5e-4)
    assert total_variation(brackets.law(8), wanted) < 1e-12
    assert mean_brackets(wanted) < 1 < 5 < mean_brackets(brackets.law(0))


def test_every_law_adds_up_to_one_over_words_that_close():
    brackets = Brackets(most=6)
    for law in (brackets.conditional(), brackets.law(0), brackets.law(2)):
        assert sum(law.values()) == pytest.approx(1.0)
        assert all(word.count("(") == word.count(")") <= 3 for word in law)


def test_speculative_decoding_repeats_the_masked_law_and_not_the_one_asked_for():
    walked = words("model", "sequential", PAIR, 0)
    assert walked == pytest.approx(PAIR.law(0), abs=1e-12)
    assert total_variation(walked, PAIR.conditional()) == pytest.approx(5 / 9)


def test_with_the_corrected_rows_it_samples_the_law_asked_for_with_the_same_drafter():
    brackets = Brackets(most=4)
    assert words("model", "sequential", brackets, 4) == pytest.approx(brackets.conditional(), abs=1e-12)


@pytest.mark.parametrize("numbers", [(0.0, 0.1, 4), (0.9, 0.1, 4), (0.4, 0.1, 3), (0.4, 0.1, 12)])
def test_numbers_that_make_no_model_are_refused(numbers):
    with pytest.raises(OptionError):
        Brackets(*numbers)
