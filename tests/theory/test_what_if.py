"""What-if numbers by hand, against the closed forms, and against the rows that papers print."""

import re
from inspect import isfunction
from pathlib import Path

import pytest

from specviz.errors import OptionError
from specviz.theory import formulas as theory
from specviz.theory import what_if
from specviz.theory.formulas import LEVIATHAN_SPEEDUPS, PublishedSpeedup, StepTimes
from specviz.theory.what_if import Clock, Shape

CLOCK = Clock(StepTimes((1, 2, 4, 8), (10.0, 11.0, 12.0, 20.0)), 1.0)
"""t(1) = 10, t(4) = 12, t(5) = 14, t(10) = 24; a drafter pass takes 1"""
LEVIATHAN_TABLE_1 = (
    (0.6, 2, 1.53, 1.96),
    (0.7, 3, 1.58, 2.53),
    (0.8, 2, 1.23, 2.44),
    (0.8, 5, 1.63, 3.69),
    (0.9, 2, 1.11, 2.71),
    (0.9, 10, 1.60, 6.86),
)
"""Leviathan et al.'s table 1: alpha, gamma, operations, speed, both for a drafter that costs nothing"""


@pytest.mark.parametrize(("alpha", "gamma", "operations", "speed"), LEVIATHAN_TABLE_1)
def test_table_1_of_leviathan_comes_out_to_the_printed_digit(
    alpha: float, gamma: int, operations: float, speed: float
) -> None:
    found = what_if.outcome([alpha], Shape.chain(gamma), Clock.of_ratio(0.0))
    assert (round(found.operations, 2), round(found.speedup, 2)) == (operations, speed)


@pytest.mark.parametrize("row", LEVIATHAN_SPEEDUPS, ids=lambda row: row.label)
def test_predictions_of_leviathan_come_out_within_the_rounding_of_their_alpha_and_c(row: PublishedSpeedup) -> None:
    """The paper predicts from unrounded numbers and prints two digits: the ends of the rounding enclose its value."""

    def predicted(alpha: float, cost_ratio: float) -> float:
        return what_if.outcome([alpha], Shape.chain(row.gamma), Clock.of_ratio(cost_ratio)).speedup

    least = predicted(row.alpha - 0.005, row.cost_ratio + 0.005)
    most = predicted(row.alpha + 0.005, row.cost_ratio - 0.005)
    assert least - 0.05 <= row.predicted <= most + 0.05


def test_a_shape_counts_its_candidates_and_levels() -> None:
    tree = Shape((3, 2, 1))
    assert (tree.widths, tree.nodes, tree.depth, tree.is_chain) == ((3, 6, 6), 15, 3, False)
    assert Shape.chain(4) == Shape((1, 1, 1, 1))
    assert (Shape.chain(0).nodes, Shape.chain(0).depth) == (0, 0)


def test_a_chain_on_a_ratio_clock_is_the_closed_form() -> None:
    for gamma in (0, 1, 5):
        found = what_if.outcome([0.7], Shape.chain(gamma), Clock.of_ratio(0.05))
        assert found.tokens_per_round == pytest.approx(theory.expected_tokens(0.7, gamma))
        assert found.speedup == pytest.approx(theory.wall_time_factor(0.7, gamma, 0.05))
        assert found.operations == pytest.approx((gamma + 1) / theory.expected_tokens(0.7, gamma)), "theorem 3.11"


def test_a_chain_on_measured_times_by_hand() -> None:
    """gamma 3 at alpha 0.5: 1.875 tokens for 12 + 3, against 10 for one."""
    found = what_if.outcome([0.5], Shape.chain(3), CLOCK)
    assert (found.tokens_per_round, found.round_s, found.speedup) == (1.875, 15.0, 1.25)
    assert found.tokens_per_s == 0.125
    assert found.elasticity == -3 / 15
    assert found.tie_tokens == 1.5


def test_a_tree_by_hand() -> None:
    """Two children, then two each, at alpha 0.5: levels pass at 0.75, 7 rows: t(7) = 18, two drafter passes."""
    found = what_if.outcome([0.5], Shape((2, 2)), CLOCK)
    assert found.tokens_per_round == 1 + 0.75 + 0.75 * 0.75
    assert found.round_s == 18 + 2
    assert found.operations == 7 / 2.3125


def test_rates_by_depth_go_on_with_the_last_one() -> None:
    assert what_if.level_rates([0.9, 0.5], Shape.chain(4)) == [0.9, 0.5, 0.5, 0.5]
    assert what_if.tokens_per_round([0.9, 0.5], Shape.chain(2)) == 1 + 0.9 + 0.9 * 0.5


def test_elasticity_is_the_slope_of_throughput_over_drafter_latency() -> None:
    """One per cent of one per cent slower: the ratio of the changes is the elasticity."""
    shape, step = Shape.chain(4), 1e-4
    before, after = (what_if.outcome([0.6], shape, clock) for clock in (CLOCK, CLOCK.slowed(1 + step)))
    slope = (after.tokens_per_s / before.tokens_per_s - 1) / step
    assert slope == pytest.approx(what_if.elasticity(shape, CLOCK), abs=1e-4)
    assert what_if.elasticity(shape, CLOCK) == pytest.approx(-4 / (4 + 14))


def test_of_a_tree_only_the_levels_wait_for_the_drafter() -> None:
    """Two levels of two and four candidates: 2 passes of 1 in a round of 2 + t(7) = 2 + 18."""
    assert what_if.elasticity(Shape((2, 2)), CLOCK) == -2 / 20


def test_a_round_of_depth_three_can_yield_any_number_up_to_four() -> None:
    """0.5 + 0.25 + 0.125 accepted ones at 0.5, and the round's own token."""
    assert what_if.alpha_for(1.875, Shape.chain(3)) == pytest.approx(0.5)
    assert what_if.alpha_for(3.439, Shape.chain(3)) == pytest.approx(0.9), "0.9 + 0.81 + 0.729"
    assert what_if.alpha_for(4.0, Shape.chain(3)) == pytest.approx(1.0)
    assert what_if.alpha_for(4.1, Shape.chain(3)) is None


def test_a_slower_drafter_ties_where_both_throughputs_are_equal() -> None:
    """Twice as slow at gamma 4: the round takes 22 instead of 18, so 3 tokens must become 3 x 22 / 18."""
    shape = Shape.chain(4)
    tie = what_if.tie_with(2.0, shape, CLOCK, factor=2.0)
    assert tie.matched == pytest.approx(3 * 22 / 18 - 1)
    assert tie.alpha is not None
    slower = what_if.outcome([tie.alpha], shape, CLOCK.slowed(2.0))
    assert slower.tokens_per_s == pytest.approx(3 / CLOCK.round_s(shape))
    assert what_if.tie_with(2.0, shape, CLOCK, factor=1.0).matched == 2.0
    assert what_if.tie_with(4.0, shape, CLOCK, factor=2.0).alpha is None, "five tokens are all that a round can yield"


def test_the_tie_with_plain_decoding_is_where_the_speedup_is_one() -> None:
    alpha = what_if.outcome([0.5], Shape((3, 1)), CLOCK).tie_alpha
    assert alpha is not None
    assert what_if.outcome([alpha], Shape((3, 1)), CLOCK).speedup == pytest.approx(1.0)
    assert what_if.outcome([0.5], Shape.chain(1), Clock.of_ratio(1.5)).tie_alpha is None
    assert what_if.alpha_for(1.0, Shape.chain(3)) == 0.0


def test_best_gamma_is_the_theory_s() -> None:
    assert what_if.best_gamma([0.8], Clock.of_ratio(0.05), 30) == theory.best_gamma(0.8, 0.05, 30) == 8
    assert what_if.best_gamma([0.2], Clock.of_ratio(0.3)) == 0
    assert what_if.chains([0.5], CLOCK, 3)[3] == what_if.ChainPoint(1.875, 1.5)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: Shape((2, 0)), "2,0 has a level without children"),
        (lambda: Shape((16, 16)), "272 candidates; at most 256"),
        (lambda: Shape.chain(-1), "gamma is -1"),
        (lambda: Clock.of_ratio(-0.1), "a drafter pass of -0.1"),
        (lambda: what_if.level_rates([], Shape.chain(1)), "no acceptance rate is given"),
        (lambda: what_if.level_rates([1.5], Shape.chain(1)), "alpha is 1.5"),
    ],
)
def test_impossible_settings_are_refused_in_words(call: object, sentence: str) -> None:
    with pytest.raises(OptionError, match=sentence):
        call()  # type: ignore[operator]


def test_the_page_of_formulas_names_every_function_and_no_other() -> None:
    page = (Path(__file__).parents[2] / "docs" / "theory.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(formulas|what_if)\.(\w+)`", page))
    assert all(callable(getattr({"formulas": theory, "what_if": what_if}[module], name)) for module, name in named)
    formulas = {
        (module.__name__.rpartition(".")[2], name)
        for module in (theory, what_if)
        for name, one in vars(module).items()
        if isfunction(one) and one.__module__ == module.__name__ and not name.startswith("_")
    }
    assert formulas - named == {("what_if", "tokens_per_round"), ("what_if", "chains")}, "parts of outcome"


def test_the_spread_of_runs_narrows_with_their_rounds() -> None:
    """A chain of one at 0.5 brings 1 or 2 tokens, so mean 1.5 and variance 0.25: ± 1.96 × 0.5 / 10 over 100 rounds."""
    low, high = what_if.spread_of_runs([0.5], Shape.chain(1), 100)
    assert (low, high) == pytest.approx((1.402, 1.598))
    assert what_if.spread_of_runs([0.5], Shape.chain(1), 1) == pytest.approx((1.0, 2.0)), "cut to what can be"
    assert what_if.spread_of_runs([1.0], Shape.chain(3), 5) == pytest.approx((4.0, 4.0)), "nothing left to chance"
    with pytest.raises(OptionError, match="at least one"):
        what_if.spread_of_runs([0.5], Shape.chain(1), 0)
