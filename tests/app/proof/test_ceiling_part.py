"""The parts of the Proof tab on who accepts most, with every rule under its ceiling, and on grammars."""

import pytest

from specviz.app.proof.ceiling import ceiling_view, rungs
from specviz.app.proof.grammar import _drawn, grammar_view
from specviz.errors import OptionError
from specviz.proof.lines import lines
from specviz.protocol.proofs import Toy
from specviz.theory.formulas import list_agreement_bound
from specviz.verifiers.base import VERIFIERS

ANY = [name for name, rule in VERIFIERS.items() if rule.temperatures == "any"]


def found(**toy):
    return {rung.name: rung for rung in rungs(lines, Toy(**toy), ANY)}


def test_for_one_candidate_the_ceiling_is_the_maximal_coupling():
    """p = (.5, .3, .2), q = (.2, .45, .35): 1 - TV = .7, Σ p q = .305, one race 107/155."""
    rules = found(candidates=1)
    assert [rung.ceiling for rung in rules.values()] == pytest.approx([0.7] * len(rules))
    for name, accepted in {"sequential": 0.7, "block": 0.7, "naive": 0.305, "coupled": 107 / 155}.items():
        assert rules[name].acceptance == pytest.approx(accepted), name
    assert rules["ensemble"].acceptance == pytest.approx(1 - 0.7 * 0.3)
    assert rules["ensemble"].above


@pytest.mark.parametrize("draw", ["iid", "without_replacement", "top_k"])
def test_no_lossless_rule_is_above_the_ceiling_of_two_candidates(draw):
    rules = found(candidates=2, draw=draw)
    assert len([rung for rung in rules.values() if rung.lossless]) >= 4
    assert [name for name, rung in rules.items() if rung.lossless and rung.above] == []


def test_two_siblings_of_one_race_are_found_more_often_than_two_fresh_draws():
    rules = found(candidates=2, draw="without_replacement")
    assert rules["naive"].acceptance < rules["coupled"].acceptance <= rules["coupled"].ceiling


def test_one_race_in_two_lanes_reaches_its_bound_and_stays_below_the_ceiling():
    toy = Toy(candidates=2, draw="iid")
    gls, kseq = rungs(lines, toy, ["gls", "kseq"])
    least = list_agreement_bound((0.5, 0.3, 0.2), (0.2, 0.45, 0.35), 2)
    assert 107 / 155 < least < kseq.acceptance < gls.acceptance < gls.ceiling
    page = ceiling_view(list(rungs(lines, toy, ["gls", "kseq"])), lines(toy))
    assert f"A race in 2 lanes, one for each candidate, has its winner among them with probability {least:.4f}" in page


def test_the_page_names_those_above_it_and_what_one_race_reaches():
    toy = Toy()
    page = ceiling_view(list(rungs(lines, toy, ["sequential", "coupled", "ensemble"])), lines(toy))
    assert "Of the lossless rules sequential accepts most, 0.7000." in page
    assert "Above the ceiling, and so lossy: ensemble." in page
    assert "one race for both with 0.6903" in page
    assert "ensemble ✕ lossy" in page


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
