"""A recorded sweep on another machine's clock, each number worked out by hand from `tests.app.lab.sweeps`."""

from dataclasses import replace

import pytest

from specviz.errors import OptionError
from specviz.protocol.clocks import WIDTHS, MachineClock
from specviz.protocol.sweeps.points import RunCost
from specviz.theory.reclock import MOST_WIDTHS, predict, question
from specviz.trace.header import StepTime
from tests.app.lab.sweeps import MACHINE, drafted, plain, sweep_result

CLOCK = MachineClock(
    machine=replace(MACHINE, processor="Here"),
    target_sha256="aa",
    step_times=(StepTime(1, 22, 0.004, 0.004, 0.004), StepTime(3, 22, 0.0045, 0.0045, 0.0045)),
    round_times=(StepTime(1, 22, 0.0045, 0.0045, 0.0045), StepTime(3, 22, 0.005, 0.005, 0.005)),
    draft_steps={"dd": 0.0005},
    rest_s=0.001,
    repeats=9,
    seconds=3.0,
)
"""a pass over one row takes half as long as in the sweep, one over three 5 ms behind drafting and 4.5 ms alone; a
drafter's step and the rest half"""


def test_a_run_takes_its_rows_its_drafters_steps_and_the_rest_at_the_other_machines_prices() -> None:
    """Plain: 12 passes of 4 ms and 12 ms for the rest: 12 tokens in 60 ms. With drafts: 6 passes over three rows of
    5 ms, 18 ms of drafter passes at half, 18 ms besides at half: 48 ms."""
    was, now = predict(sweep_result(plain(), drafted()), CLOCK).points
    assert (was.decode_s, was.tokens_per_s, was.ratio) == pytest.approx((0.06, 200.0, 1.0))
    assert (now.decode_s, now.tokens_per_s, now.baseline_tokens_per_s) == pytest.approx((0.048, 250.0, 200.0))
    assert now.ratio == pytest.approx(1.25)
    assert now.cost == RunCost(
        draft_s=pytest.approx(0.012), target_s=pytest.approx(0.033), judge_s=pytest.approx(0.0006),
        commit_s=pytest.approx(0.0024), draft_passes=12, draft_pass_s=pytest.approx(0.009), target_rows=18,
        target_pass_s=pytest.approx(0.03),
    )  # fmt: skip
    assert (now.step_times, now.draft_step_s) == (CLOCK.step_times, pytest.approx(0.0005))


def test_on_its_own_clock_a_sweep_is_what_it_was() -> None:
    """t(1) of 8 ms and t(3) of 9 ms, as its passes took; 1 ms a step; 2 ms besides."""
    times = (StepTime(1, 22, 0.008, 0.008, 0.008), StepTime(3, 22, 0.009, 0.009, 0.009))
    same = replace(CLOCK, step_times=times, round_times=times, draft_steps={"dd": 0.001}, rest_s=0.002)
    assert [point.ratio for point in predict(sweep_result(plain(), drafted()), same).points] == pytest.approx(
        [1, 4 / 3]
    )


def test_a_slower_drafter_costs_the_speedup() -> None:
    """Steps of 2 ms: 36 ms of drafting in 75 ms."""
    _, now = predict(sweep_result(plain(), drafted()), replace(CLOCK, draft_steps={"dd": 0.002})).points
    assert now.ratio == pytest.approx(0.8)


def test_a_drafter_without_passes_meets_the_targets_weights_where_plain_decoding_left_them() -> None:
    """6 passes over three rows of 4.5 ms: 27 ms, and 36 ms besides at half."""
    copied = drafted(drafter="ngram", label="ngram", cost=replace(drafted().cost, draft_passes=0, draft_pass_s=0.0))
    _, now = predict(sweep_result(plain(), copied), CLOCK).points
    assert now.decode_s == pytest.approx(0.027 + 0.018)


def test_drafters_whose_drafting_was_not_timed_are_named_and_left_out() -> None:
    """One works beside the target, one makes passes of heads that have no step of their own."""
    pearl = drafted(drafter="pearl", label="pearl", cost=replace(drafted().cost, draft_passes=0, draft_pass_s=0.0))
    heads = drafted(drafter="eagle", label="eagle", draft_step_s=None)
    predicted = predict(sweep_result(plain(), drafted(), pearl, heads), CLOCK)
    assert [point.label for point in predicted.points] == ["none", "model"]
    assert predicted.left_out == ("pearl", "eagle")


def test_what_is_timed_is_what_the_sweep_ran() -> None:
    """Rounds of one and of three rows; half of 12 tokens and 16 of the prompt are cached."""
    asked = question(sweep_result(plain(), drafted()))
    assert (asked.rows, asked.cached_rows) == ((1, 3), 22)
    assert (asked.target, asked.drafter_models) == ("target", ("drafter",))


def test_of_very_many_widths_the_usual_ones_and_the_widest_are_timed() -> None:
    cost = drafted().cost
    many = [drafted(label=str(n), cost=replace(cost, target_rows=6 * n)) for n in range(2, MOST_WIDTHS + 2)]
    assert question(sweep_result(plain(), *many)).rows == tuple(sorted({*WIDTHS, MOST_WIDTHS + 1}))


def test_a_clock_of_another_target_and_a_sweep_without_plain_decoding_are_refused() -> None:
    with pytest.raises(OptionError, match="other weights than were timed here"):
        predict(sweep_result(plain(), drafted()), replace(CLOCK, target_sha256="bb"))
    with pytest.raises(OptionError, match="no run of plain decoding"):
        predict(sweep_result(drafted()), CLOCK)
