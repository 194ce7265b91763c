"""Rows of runs, and the share of a text's n-grams that came before in it."""

from dataclasses import replace

import pytest

from specviz.theory.rows import MOST, repeats, repetition, summarise
from tests.app.lab.sweeps import drafted


def test_a_sweep_s_row_weighs_its_runs_by_their_rounds() -> None:
    """One round of length 4 and three of length 2 are a mean of 2.5; 20 tokens at 2 × and 30 at 1 × are 1.25 ×."""
    point = drafted()
    runs = [
        replace(
            point, mean_acceptance_length=4.0, accepted_lengths=(0, 0, 0, 1), rounds=10, output_tokens=20, mbsu=2.0
        ),
        replace(point, mean_acceptance_length=2.0, accepted_lengths=(0, 3), rounds=30, output_tokens=30, mbsu=1.0),
    ]
    (row,) = summarise(runs)
    assert row.statistics.mean_acceptance_length.value == 2.5
    assert row.statistics.mbsu.value == 1.25


def test_the_share_counts_every_ngram_but_its_first_occurrence() -> None:
    """`abcdabcd`: five 4-grams, abcd twice."""
    assert repetition("abcdabcd") == pytest.approx(1 / 5)
    assert repetition([7] * 10) == pytest.approx(6 / 7)
    assert repetition(range(100)) == 0.0
    assert repetition("abab", n=2) == pytest.approx(1 / 3)


def test_a_text_shorter_than_an_ngram_repeats_nothing() -> None:
    assert repetition([1, 1, 1]) == repetition([]) == 0.0


def test_the_bound_itself_is_still_within_it() -> None:
    assert not repeats(MOST)
    assert repeats(MOST + 1e-9)
