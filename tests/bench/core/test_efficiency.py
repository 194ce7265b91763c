"""Engine efficiency against sums done by hand."""

from __future__ import annotations

import pytest

from specviz.bench.core.efficiency import curve, efficiency, ideal_seconds
from specviz.errors import SpecVizError
from specviz.trace import events
from tests.fake_source import make_round

TARGET = curve({1: [10.0], 4: [15.0, 16.0, 90.0], 8: [20.0]})
DRAFTER = curve({1: [1.0]})


def with_passes(drafted: int, accepted: int, rows: list[int]) -> events.Round:
    from dataclasses import replace

    passes = [events.Pass(one, 0, 9.0) for one in rows]
    return replace(make_round(0, drafted, accepted, 99.0), drafted=events.Drafted(passes, 9.0))


def test_the_curve_joins_the_medians_by_straight_lines() -> None:
    assert [TARGET.at(rows) for rows in (1, 2, 4, 6, 8, 12)] == [10.0, 12.0, 16.0, 18.0, 20.0, 24.0]


def test_a_round_of_three_drafts_costs_a_pass_over_four_rows_and_three_drafter_passes() -> None:
    assert ideal_seconds([with_passes(3, 1, [1, 1, 1])], TARGET, DRAFTER) == 16.0 + 3.0


def test_a_drafter_without_a_model_costs_nothing_bare() -> None:
    assert ideal_seconds([make_round(0, 3, 1, 5.0)], TARGET, None) == 16.0


def test_efficiency_is_bare_passes_over_measured_seconds_of_all_runs_together() -> None:
    """Two rounds of 16 + 3 s bare, measured as 20 and 30 s: 38 / 50."""
    one = with_passes(3, 1, [1, 1, 1])
    assert efficiency([([one], 20.0), ([one], 30.0)], TARGET, DRAFTER) == pytest.approx(0.76)


def test_efficiency_agrees_with_the_tokens_per_second_definition() -> None:
    """3 tokens a round, t = 16 + 3 s bare, 25 s measured: (3/25) / (3/19)."""
    one = with_passes(3, 2, [1, 1, 1])
    measured, bare = 3 / 25.0, 3 / 19.0
    assert efficiency([([one], 25.0)], TARGET, DRAFTER) == pytest.approx(measured / bare)


def test_nothing_measured_is_an_error_not_a_number() -> None:
    with pytest.raises(SpecVizError, match="no step time"):
        curve({})
    with pytest.raises(SpecVizError, match="no run was timed"):
        efficiency([], TARGET, None)
