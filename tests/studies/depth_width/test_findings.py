"""Throughput of a round, what a slower drafter must match, and which quantity throughput goes with: by hand."""

from dataclasses import replace

import pytest

from specviz.errors import OptionError
from specviz.studies.depth_width.findings import (
    best,
    by_set,
    correlations,
    drafting_share,
    finding,
    matched_to_break_even,
    modelled,
    rank_correlation,
    throughput,
    together,
)
from specviz.studies.depth_width.networks import DepthWidths
from tests.studies.depth_width.sample import STUDY, TWO_SETS, network


def test_a_round_of_four_drafts_and_a_pass() -> None:
    assert throughput(2.0, 4, 0.25, 0.5) == 2.0
    assert throughput(0.0, 0, 0.25, 0.5) == 2.0
    assert drafting_share(4, 0.25, 1.0) == 0.5
    with pytest.raises(OptionError, match="a round of -1 drafted tokens"):
        throughput(1.0, -1, 0.25, 0.5)


def test_a_drafter_that_matches_what_it_needs_is_as_fast() -> None:
    needed = matched_to_break_even(2.0, 4, 0.25, 0.5, 1.0)
    assert needed == 3.5
    assert throughput(needed, 4, 0.5, 1.0) == throughput(2.0, 4, 0.25, 1.0)


def test_the_share_of_drafting_is_the_elasticity_of_throughput() -> None:
    share, little = drafting_share(4, 0.25, 0.75), 1e-6
    change = throughput(2.0, 4, 0.25 * (1 + little), 0.75) / throughput(2.0, 4, 0.25, 0.75) - 1
    assert change / little == pytest.approx(-share, rel=1e-4)


def test_ranks_share_their_mean_and_what_does_not_vary_has_no_correlation() -> None:
    assert rank_correlation([1, 2, 3], [10, 20, 3000]) == pytest.approx(1.0)
    assert rank_correlation([1, 2, 2, 4], [3, 2, 2, 1]) == pytest.approx(-1.0)
    assert rank_correlation([1, 1, 1], [1, 2, 3]) is None
    assert rank_correlation([1, 2], [1, 2]) is None


def test_a_network_at_a_gamma_is_what_the_formula_says() -> None:
    deep = STUDY.networks[1]
    found = modelled(STUDY, deep, 2)
    assert found.tokens_per_s == (100.0, 75.0, 125.0)  # (1 + 1) / (2 · 5 ms + 10 ms), its interval 0.5 to 1.5
    assert found.speedup == pytest.approx(0.8)  # a pass over one token takes 8 ms
    assert found.share == 0.5
    assert found.needed == pytest.approx(2.333, abs=1e-3)  # (1 + 1) · 20 ms / 12 ms - 1
    assert best(STUDY, deep).gamma == 1
    with pytest.raises(OptionError, match="γ = 3 was not measured; choose one of 1 to 2"):
        modelled(STUDY, deep, 3)


def _study(*numbers: tuple[float, float]) -> DepthWidths:
    """Networks of 1, 2, 3, … layers, each with (step in ms, perplexity), all matching alike."""
    family = tuple(network("blocks", place, 10, step, ppl) for place, (step, ppl) in enumerate(numbers, 1))
    return replace(STUDY, networks=family)


def test_the_verdict_follows_from_the_numbers() -> None:
    slower_when_deep = [1.0, 2.0, 3.0, 4.0]
    shows = _study(*zip(slower_when_deep, [20.0, 30.0, 40.0, 10.0], strict=True))
    assert finding(shows)[-1].startswith("The paper's finding shows here: latency decides, language modelling hardly.")
    poorer = finding(_study(*zip(slower_when_deep, [10.0, 20.0, 30.0, 40.0], strict=True)))[-1]
    assert "in part" in poorer
    assert "the deeper networks are also the poorer language models (+1.00 between" in poorer
    assert poorer.endswith(
        "faster than plain decoding at their best γ: 2 of 4; drafting takes 17% to 31% of the round."
    )
    better = finding(_study(*zip(slower_when_deep, [40.0, 30.0, 20.0, 10.0], strict=True)))[-1]
    assert "in part" in better
    assert "no weak one" in better
    faster = finding(_study(*zip([4.0, 3.0, 2.0, 1.0], [10.0, 20.0, 30.0, 40.0], strict=True)))[-1]
    assert faster.startswith(
        "The paper's finding shows here in part: latency decides, but depth does not decide latency."
    )
    assert "the fastest network is not in its shallower half" in faster
    assert finding(_study((1.0, 10.0), (2.0, 20.0)))[-1].startswith("Too few networks")


def test_each_family_says_what_depth_costs_and_brings() -> None:
    said = finding(_study((1.0, 10.0), (2.0, 20.0), (5.0, 30.0)))[0]
    assert "a step of 3 layers takes 5.0 times as long as one of 1 and matches 1.00 times as many tokens" in said
    assert "highest with 1 layer," in said


def test_a_network_of_both_families_counts_once() -> None:
    found = [modelled(STUDY, one, 1) for one in STUDY.networks]
    assert correlations([*found, *found]) == correlations(found)


def test_both_sets_are_one_study_of_twice_as_many_networks() -> None:
    sets = by_set(TWO_SETS)
    speeds = {name: [round(one.tokens_per_s.value) for one in found] for name, found in sets.items()}
    assert speeds == {"distilled": [167, 107, 143], "plain cross entropy": [100, 89, 182]}
    said = together(TWO_SETS)
    assert said.startswith("Both sets together, 6 networks: The paper's finding does not show here")
    assert "rank correlation is -0.36 with the drafter's step time and -0.43 with its perplexity" in said
    assert "With perplexity, each set alone: distilled -1.00, plain cross entropy -0.50. Of 3 shapes" in said
    assert said.endswith(
        "Of 3 shapes, each trained twice and with the same step time, the better language model is the faster drafter "
        "in 2; in 0 each is within the other's 95 % interval over prompts. What it learnt changes the throughput of a "
        "shape by at most 67%, depth that of a family's shallowest and deepest by up to 56%."
    )
    assert together(STUDY) == ""
