"""Repetition: the share of a text's n-grams that came before in it."""

from __future__ import annotations

import pytest

from specviz.theory.repetition import MOST, repeats, repetition


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
