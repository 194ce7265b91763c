"""Closed forms against the numbers that the papers print, and against each other."""

import pytest

from specviz.errors import OptionError
from specviz.theory import formulas as theory
from specviz.theory.formulas import LEVIATHAN_SPEEDUPS, PublishedSpeedup, StepTimes
from specviz.trace.header import StepTime


@pytest.mark.parametrize("row", LEVIATHAN_SPEEDUPS, ids=lambda row: row.label)
def test_table_4_of_leviathan(row: PublishedSpeedup) -> None:
    """The printed alphas are rounded to two digits, so the last printed digit may differ by one."""
    assert theory.wall_time_factor(row.alpha, row.gamma, row.cost_ratio) == pytest.approx(row.predicted, abs=0.1)


def test_expected_tokens_by_hand() -> None:
    assert theory.expected_tokens(0.5, 3) == 1 + 0.5 + 0.25 + 0.125
    assert theory.expected_tokens(0.0, 5) == 1
    assert theory.expected_tokens(1.0, 5) == 6
    assert theory.expected_tokens(0.7, 0) == 1


def test_memory_bound_speedup_by_hand() -> None:
    """Three tokens per pass of a target of 8 bytes with four passes of a drafter of 2: 3 x 8 / (8 + 4 x 2)."""
    assert theory.memory_bound_speedup(3.0, 4, 8 / 2) == 3 * 8 / (8 + 4 * 2) == 1.5
    assert theory.memory_bound_speedup(2.5, 0, 4.0) == 2.5, "no drafter passes: tokens per target pass"
    assert theory.memory_bound_speedup(5.0, 4, 1e9) == pytest.approx(5.0), "a drafter that weighs nothing"
    assert theory.memory_bound_speedup(5.0, 4, 1.0) == 1.0, "the target as its own drafter gains nothing"
    with pytest.raises(OptionError, match="make no speedup"):
        theory.memory_bound_speedup(2.0, 4, 0.0)


def test_growth_ends_at_one_over_what_is_rejected() -> None:
    assert theory.expected_tokens(0.75, 200) == pytest.approx(1 / (1 - 0.75))


def test_rates_by_depth_generalise_alpha() -> None:
    assert theory.expected_tokens_by_depth([]) == 1
    assert theory.expected_tokens_by_depth([0.5, 0.5, 0.5]) == theory.expected_tokens(0.5, 3)
    assert theory.expected_tokens_by_depth([0.9, 0.0, 0.9]) == 1.9


def test_some_gamma_helps_exactly_when_alpha_exceeds_c() -> None:
    """Corollary 3.9."""
    assert theory.best_gamma(0.2, 0.3) == 0
    assert theory.best_gamma(0.31, 0.3) == 1


def test_best_gamma_is_where_the_factor_peaks() -> None:
    factors = [theory.wall_time_factor(0.8, gamma, 0.05) for gamma in range(30)]
    assert theory.best_gamma(0.8, 0.05) == factors.index(max(factors)) == 8


def test_a_free_drafter_wants_the_longest_draft() -> None:
    assert theory.best_gamma(0.8, 0.0, longest=12) == 12


TIMES = StepTimes((1, 2, 4, 8), (10.0, 11.0, 12.0, 20.0))


def test_step_times_are_joined_by_straight_lines() -> None:
    assert [TIMES.at(n) for n in (1, 2, 3, 4, 5, 6, 8)] == [10, 11, 11.5, 12, 14, 16, 20]


def test_step_times_go_on_beyond_the_last_one() -> None:
    assert TIMES.at(12) == 28
    assert TIMES.at(0.5) == 10
    assert StepTimes((4,), (3.0,)).at(64) == 3.0


def test_step_times_never_fall_beyond_the_last_one() -> None:
    assert StepTimes((1, 2), (10.0, 8.0)).at(32) == 8.0


def test_step_times_of_a_header() -> None:
    header = [StepTime(4, 64, 12.0, 11, 13), StepTime(1, 64, 9.0, 8, 10), StepTime(1, 512, 11.0, 10, 12)]
    assert StepTimes.of(header) == StepTimes((1, 4), (10.0, 12.0))


def test_speedup_with_measured_times_by_hand() -> None:
    """gamma 3 at alpha 0.5: 1.875 tokens for t(4) + 3 drafter steps = 12 + 3, against 10 for one: 1.25."""
    assert theory.speedup(0.5, 3, TIMES, 1.0) == 1.875 * 10 / 15 == 1.25
    assert theory.speedup(0.5, 3, TIMES, 1.0, overhead_s=3.75) == 1.0


def test_flat_times_give_the_closed_form() -> None:
    flat = StepTimes((1, 64), (10.0, 10.0))
    assert theory.speedup(0.7, 5, flat, 0.5) == pytest.approx(theory.wall_time_factor(0.7, 5, 0.05))


def test_gamma_zero_is_plain_decoding() -> None:
    assert theory.speedup(0.9, 0, TIMES, 1.0) == 1.0


def test_break_even() -> None:
    assert theory.break_even_tokens(TIMES, nodes=3, draft_s=3.0) == 1.5
    assert theory.round_speedup(1.5, TIMES, nodes=3, draft_s=3.0) == 1.0


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: theory.expected_tokens(1.2, 3), "alpha is 1.2, but a probability lies between 0 and 1"),
        (lambda: theory.expected_tokens(0.5, -1), "gamma is -1"),
        (lambda: theory.wall_time_factor(0.5, 1, -0.1), "the cost ratio is -0.1"),
        (lambda: StepTimes((), ()), "give both alike"),
        (lambda: StepTimes((1, 2), (1.0,)), "2 row counts and 1 times"),
        (lambda: StepTimes((2, 1), (1.0, 1.0)), "must be increasing"),
        (lambda: StepTimes((1,), (0.0,)), "must all be positive"),
    ],
)
def test_impossible_numbers_are_refused_in_words(call: object, sentence: str) -> None:
    with pytest.raises(OptionError, match=sentence):
        call()  # type: ignore[operator]
