"""The part of the Proof tab on grammars: two bars per word, a verdict, one sentence for bad numbers."""

from __future__ import annotations

import pytest

from specviz.app.proof.grammar import _drawn, grammar_view
from specviz.errors import OptionError


def test_masked_it_is_marked_as_another_law_and_says_by_how_much():
    page = grammar_view(0.45, 0.1, 8, 0)
    assert "sv-proof-bad" in page
    assert "total variation 0.6496" in page
    assert "23 words" in page
    assert page.count('class="sv-pair"') == 15  # fourteen words and all others in one
    assert ">9 others<" in page


def test_with_the_whole_way_in_view_it_is_equal_and_nothing_is_marked():
    page = grammar_view(0.45, 0.1, 8, 8)
    assert "sv-proof-good" in page
    assert "sv-bias" not in page


def test_a_word_is_drawn_with_both_probabilities():
    page = grammar_view(0.5, 0.25, 2, 0)
    assert "()" in page
    assert "0.1111" in page
    assert "0.6667" in page


def test_numbers_that_make_no_model_become_a_sentence():
    with pytest.raises(OptionError):
        grammar_view(0.9, 0.5, 8, 0)
    assert "must be above 0" in _drawn(0.9, 0.5, 8, 0)
