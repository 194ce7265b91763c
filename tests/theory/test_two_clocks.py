"""The two clocks: a measured curve between its measurements, a modelled one by hand, and which is which."""

import pytest

from specviz.theory.two_clocks import H100, ROWS, DataSheet, clocks, measured, modelled
from tests.curves import hardware_curve


def test_a_modelled_pass_takes_as_long_as_reading_until_multiplying_takes_longer() -> None:
    """2 bytes × 1e9 at 1 TB/s are 2 ms; a row of 2e9 operations at 20 TFLOP/s is 0.1 ms: the ridge is at 20 rows."""
    clock = modelled(DataSheet("a machine", 1.0, 20.0, "made up"), billion_parameters=1)
    assert [clock.seconds[rows - 1] for rows in (1, 20, 40)] == pytest.approx([0.002, 0.002, 0.004])
    assert clock.ratio(40) == pytest.approx(2.0)
    assert clock.times_are == "modelled"


def test_a_large_gpu_has_room_for_61_rows() -> None:
    assert modelled(H100).ratio(ROWS) == 1.0


def test_a_measured_clock_goes_through_its_measurements() -> None:
    curve = hardware_curve()
    clock = measured(curve)
    shortest = min(row.context for row in curve.rows)
    for row in curve.rows:
        if (row.context, row.batch) == (shortest, 1) and row.n <= ROWS:
            assert clock.seconds[row.n - 1] == pytest.approx(row.median_s)
    assert clock.times_are == "measured"


def test_the_page_gets_the_small_machine_measured_and_the_large_one_modelled() -> None:
    small, large = clocks()
    assert (small["times_are"], large["times_are"]) == ("measured", "modelled")
    assert len(small["seconds"]) == len(large["seconds"]) == 61
    assert small["seconds"][0] == 0.001023
